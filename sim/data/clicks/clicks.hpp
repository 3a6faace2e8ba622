#pragma once
// Clicks on advertisements, generated from a few numbers, as data for recommendation models.

#include <memory>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Number of days that the examples of `clicks` are divided into.
inline constexpr Index click_days = 7;

/// Makes `config.examples` clicks and non-clicks: features and ids of ClickDraws, with labels drawn by ClickTeacher
/// (label 1: a click). They are the same for every seed. The examples are in chronological order, in click_days days of
/// equal length, and the last of them (a share of config.holdout) are held out. With config.drift > 0 the popular ids
/// change from day to day, so the ids that are popular in the held-out examples differ from those that are popular, on
/// average, in the training examples. Examples are drawn with replacement from all days, so drift does not change the
/// training distribution over time. With the split "size:0", each worker has the examples of its own period.
///
/// facts.ceiling describes how well the teacher itself predicts the held-out examples (if there are none, the training
/// examples). The hash covers features, ids and labels, so it may differ between C libraries whose exp, log or pow
/// differ. Throws ConfigError if a number is out of range, if examples or tables are too large, or if paths are given.
std::unique_ptr<DataSource> make_clicks(const DataConfig& config);

/// Makes `config.examples` examples as DLRM's reference implementation does in its random mode: features are uniform on
/// [0, 1). With config.fixed_bag, a bag has n = config.bag draws, each round(u (rows - 1)) with uniform u; otherwise it
/// has round(max(1, u min(rows, n))) such draws. The ids of a bag are in ascending order without repetition. Labels are
/// 0 and 1 with probability 1/2, regardless of everything else. Nothing can be learned from these data; they are for
/// measurements of speed. Throws what make_clicks throws.
std::unique_ptr<DataSource> make_random_clicks(const DataConfig& config);

}  // namespace onebit::sim
