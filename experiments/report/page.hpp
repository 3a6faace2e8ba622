#pragma once
// The page of a report: the answer first, an interactive chart, and all else in parts that the reader opens.

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns the document with its figures (figures_of). title: its title; empty: title_of(report). Without gnuplot the
/// page says that it has no pictures for print.
std::string html_of(const Report& report, const std::vector<Figure>& figures, const std::string& title);

}  // namespace onebit::experiments
