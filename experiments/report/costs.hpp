#pragma once
// How an arm's bytes and estimated times compare with its baseline's, in words.

#include <limits>
#include <string>
#include <vector>

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Whether a ratio is far enough from 1 to be worth mentioning.
bool is_visible(double ratio);

/// A verdict's arm and baseline.
struct Pair {
  const analysis::Arm &arm, &baseline;
  const analysis::ArmFigures &here, &there;
};

/// Returns the arms of a verdict and their figures, as references into `report`, which must outlive the result.
Pair pair_of(const Report& report, const analysis::Verdict& verdict);

/// The arms whose estimates for exchanges may be inaccurate, in a comparison of the times of two arms.
enum class Uncertain {
  arm,
  baseline,  ///< it compresses, and the arm does not
  both,      ///< by the same share: the kinds of exchanges are the same in both arms
  each,      ///< both compress, in different ways: the estimates may be off independently
};
Uncertain uncertain_of(const Pair& pair);

/// Whether the arms have different numbers of workers.
bool workers_differ(const Pair& pair);

/// Time of a baseline divided by the time of an arm, on one cluster. low, high: the lowest and the highest ratio if the
/// exchange times of the arms that uncertain_of() returns are off by the cluster's uncertainty in either direction.
struct Speed {
  std::size_t cluster = 0;
  double ratio = std::numeric_limits<double>::quiet_NaN(), low = ratio, high = ratio;
  Uncertain uncertain = Uncertain::arm;
};

/// Returns the speeds on all clusters on which both times are known.
std::vector<Speed> speeds_of(const Pair& pair);

/// Returns the verb that precedes speed_text; it says "may" if the range leaves open whether the arm is faster.
std::string verb_of(const Speed& speed);

/// Returns "1.44 times as fast on eth1".
std::string speed_text(const Speed& speed, const std::string& cluster);

/// Returns "0.97 to 2.8 with its exchange times ±50%", the range of the number in speed_text; empty if this number has
/// no range.
std::string range_text(const Speed& speed, const netmodel::Cluster& cluster);

/// Returns an arm's speed on the cluster where it gains most and on the cluster where it gains least; returns only one
/// of them if the other would tell the reader nothing new. Returns none if the arm takes about as long as its baseline
/// on all clusters.
std::vector<Speed> named_speeds(const Pair& pair);

/// Whether the arm is faster on the first of two clusters and slower on the second.
bool turns(const std::vector<Speed>& speeds);

/// Returns "may be 1.44 times as fast on eth1 (0.97 to 2.8 with its exchange times ±50%), but takes an estimated 1.84
/// times as long on ib100 (1.5 to 2.2 with its exchange times ±20%)"; empty without speeds.
std::string speeds_text(const std::vector<netmodel::Cluster>& clusters, const std::vector<Speed>& speeds);

/// Returns a text such as "sends 4.43 times fewer bytes"; the parameter `sends` supplies the verb.
std::string bytes_saved_text(double here, double there, const std::string& sends = "sends");

/// Joins two texts, of which either may be empty.
std::string both(const std::string& bytes, const std::string& speeds, const std::string& between = " and ");

}  // namespace onebit::experiments
