#include "experiments/commands/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/options/cluster_files.hpp"
#include "experiments/output/output.hpp"
#include "netmodel/measured/calibrate.hpp"

namespace onebit::experiments {
namespace {

using netmodel::Fit;
using netmodel::Measurement;

/// Shortest time of a collective that counts as long, as in docs/price-measured.md.
constexpr netmodel::Seconds kLong{0.004};

std::string signed_percent(double share) {
  if (std::isnan(share)) return "-";
  std::string text = share < 0 ? "" : "+";
  return text.append(number(100 * share, 3)).append("%");
}

/// Explains why the first fit ranks first.
std::string reason_of(const std::vector<Fit>& fits, netmodel::Selection start) {
  const Fit& first = fits.front();
  if (std::isnan(first.worst_left_out)) {
    return "too few configurations to leave one out, so the starting cluster's algorithm is kept";
  }
  if (first.cluster.all_reduce != start) return "it fits better than the starting cluster's algorithm";
  return "it is the starting cluster's algorithm, and no other fits clearly better";
}

std::string link_text(const netmodel::LinkSpec& link) {
  return number(link.effective.value / 1e9, 4) + " GB/s, latency " + seconds_text(link.latency.value);
}

void print_fits(const std::vector<Measurement>& rows, const std::vector<Fit>& fits, netmodel::Selection start) {
  std::vector<std::string> header = {"nodes x GPUs", "bytes", "measured"};
  for (const Fit& fit : fits) {
    header.emplace_back(netmodel::name(fit.cluster.all_reduce));
    header.emplace_back("left out");
  }
  Table table(header);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> cells = {std::to_string(rows[i].nodes) + " x " + std::to_string(rows[i].gpus_per_node),
                                      bytes_text(rows[i].bytes.value), seconds_text(rows[i].seconds.value)};
    for (const Fit& fit : fits) {
      cells.push_back(signed_percent(fit.residuals[i]));
      cells.push_back(signed_percent(fit.left_out[i]));
    }
    table.add(cells);
  }
  std::vector<std::string> worst = {"worst", "", ""};
  for (const Fit& fit : fits) {
    worst.push_back(percent_text(fit.worst));
    worst.push_back(percent_text(fit.worst_left_out));
  }
  table.add(worst);
  std::cout
      << "predicted / measured - 1: for a fit to all rows and, as 'left out', for a fit without the rows of the same "
         "numbers of nodes and GPUs\n\n";
  table.print(std::cout);
  const Fit& best = fits.front();
  const auto fitted = [](bool is) { return is ? "" : " (not fitted)"; };
  std::cout << "\nalgorithm: " << netmodel::name(best.cluster.all_reduce) << " (" << reason_of(fits, start) << ")"
            << "\nGPU link: " << link_text(best.cluster.gpu_link) << fitted(best.fits_gpu_latency) << "\nnetwork link"
            << (best.cluster.gpus_per_nic == 0 ? " of a node" : "") << ": " << link_text(best.cluster.nic)
            << fitted(best.fits_nic_latency) << ", scale penalty " << number(best.cluster.nic.scale_penalty, 3)
            << fitted(best.fits_penalty) << "\n";
}

/// Returns the largest error of a fit on the long rows, whether they were fitted or left out; on all rows if none is
/// long. Short collectives vary more, and matter less to the steps that are priced.
double largest_error(const Fit& fit, const std::vector<Measurement>& rows) {
  const auto is_long = [](const Measurement& row) { return row.seconds >= kLong; };
  const bool all = std::ranges::none_of(rows, is_long);
  double worst = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (all || is_long(rows[i]))
      worst = std::fmax(worst, std::fmax(std::abs(fit.residuals[i]), std::abs(fit.left_out[i])));
  }
  return worst;
}

/// Returns the fitted cluster, as it is written to a file.
netmodel::Cluster fitted_cluster(const Fit& fit, const std::vector<Measurement>& rows, const PriceConfig& config) {
  constexpr double most = 0.9;
  netmodel::Cluster cluster = fit.cluster;
  cluster.doc = "fitted to " + join(config.calibrate, ", ");
  cluster.nodes = 0;
  cluster.uncertainty = std::clamp(largest_error(fit, rows), netmodel::kNoise, most);
  cluster.gpus_per_node = 0;
  for (const Measurement& row : rows) cluster.gpus_per_node = std::max(cluster.gpus_per_node, row.gpus_per_node);
  return cluster;
}

void warn_of_bad_fit(const Fit& best, const std::vector<Measurement>& rows) {
  constexpr double bad = 0.2;
  const double error = largest_error(best, rows);
  if (error <= bad) return;
  warn("no algorithm fits all measurements: the best is up to " + percent_text(error) +
       " off; measure again, or leave out the rows that are far off in the table");
}

Json to_json(const std::vector<Fit>& fits) {
  std::vector<Json> items;
  for (const Fit& fit : fits) {
    items.push_back(Json::object({{"algorithm", std::string(netmodel::name(fit.cluster.all_reduce))},
                                  {"gpu_link_bytes_per_second", fit.cluster.gpu_link.effective.value},
                                  {"gpu_link_latency_seconds", fit.cluster.gpu_link.latency.value},
                                  {"nic_bytes_per_second", fit.cluster.nic.effective.value},
                                  {"nic_latency_seconds", fit.cluster.nic.latency.value},
                                  {"scale_penalty", fit.cluster.nic.scale_penalty},
                                  {"residuals", Json::array({fit.residuals.begin(), fit.residuals.end()})},
                                  {"left_out", Json::array({fit.left_out.begin(), fit.left_out.end()})},
                                  {"worst", fit.worst},
                                  {"worst_left_out", fit.worst_left_out}}));
  }
  return Json::object({{"fits", Json::array(items)}});
}

}  // namespace

int calibrate(const PriceConfig& config, const std::string& out, bool json) {
  if (config.clusters.size() != 1)
    throw ConfigError("a calibration starts from one cluster", "price", "name it with --cluster NAME");
  const std::vector<Measurement> rows = netmodel::read_measurements(config.calibrate);
  const netmodel::Cluster start = load_cluster(config.clusters.front(), config.cluster_settings);
  const auto fits = netmodel::calibrate(rows, start);
  if (json) {
    std::cout << to_json(fits).text() << "\n";
  } else {
    print_fits(rows, fits, start.all_reduce);
  }
  warn_of_bad_fit(fits.front(), rows);
  if (out.empty()) return kExitDone;
  write_cluster(fitted_cluster(fits.front(), rows, config), out);
  if (!json) std::cout << "  " << out << "\n";
  return kExitDone;
}

}  // namespace onebit::experiments
