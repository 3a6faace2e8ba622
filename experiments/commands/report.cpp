#include <filesystem>
#include <iostream>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "experiments/cli/session.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/report/report.hpp"
#include "experiments/study/price.hpp"

namespace onebit::experiments {
namespace {

void check_output(const CommandLine& line) {
  if (line.out.empty()) throw ConfigError("no output named", "report", "onebit report LOGS... -o report.html");
  files::check_output(line.out, line.overwrite);
}

/// Returns <name of the report>-<figure>, the stem of files next to the report.
std::string stem_of(const Figure& figure, const std::string& out) {
  std::string name = figure.name;
  for (char& c : name) c = c == '/' || c == ' ' ? '_' : c;
  return std::filesystem::path(out).replace_extension("").string() + "-" + name;
}

void check_pictures(const std::vector<Figure>& figures, const CommandLine& line) {
  for (const Figure& figure : figures) {
    for (const char* extension : {".svg", ".png"}) {
      files::check_output(stem_of(figure, line.out) + extension, line.overwrite);
    }
  }
}

std::vector<std::string> draw_files(const std::vector<Figure>& figures, const std::string& out) {
  std::vector<std::string> files;
  for (const Figure& figure : figures) {
    const std::string stem = stem_of(figure, out);
    const auto drawn = figure.map.values.empty() ? analysis::draw(figure.plot, stem) : analysis::draw(figure.map, stem);
    files.insert(files.end(), drawn.begin(), drawn.end());
  }
  return files;
}

}  // namespace

int report_command(const CommandLine& line) {
  check_output(line);
  if (line.arguments.empty()) throw ConfigError("no log named", "report", "onebit report LOGS... -o report.html");
  const PriceConfig price = make_price_config(line.price);
  ReportRequest request{.comparison = {.baseline = line.baseline,
                                       .margin = line.margin.value_or(analysis::default_margin),
                                       .target = price.target,
                                       .rules = rules_of(price)},
                        .variance = {}};
  for (const std::string& name : price.clusters) {
    request.comparison.clusters.push_back(load_cluster(name, price.cluster_settings));
  }
  const Report report = make_report(line.arguments, request, *netmodel::make_cost_model(price.cost_model));
  const std::vector<Figure> figures = figures_of(report);
  if (line.png) check_pictures(figures, line);
  std::ostringstream text;
  if (line.csv) {
    write_csv(report, text);
  } else {
    text << html_of(report, figures);
  }
  files::write(line.out, text.str());
  std::vector<std::string> files = {line.out};
  if (line.png) {
    const std::vector<std::string> drawn = draw_files(figures, line.out);
    files.insert(files.end(), drawn.begin(), drawn.end());
  }
  for (const std::string& file : files) std::cout << file << "\n";
  for (const std::string& reason : report.left_out) std::cerr << "onebit: warning: left out: " << reason << "\n";
  return kExitDone;
}

}  // namespace onebit::experiments
