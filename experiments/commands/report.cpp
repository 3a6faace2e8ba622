#include <filesystem>
#include <iostream>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "experiments/cli/output_name.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/report/page.hpp"
#include "experiments/study/prices.hpp"

namespace onebit::experiments {
namespace {

struct Options : CommandInput {
  std::string out, baseline, title;
  std::vector<std::string> arms;
  std::optional<double> margin;
  bool overwrite = false, csv = false, png = false, best = false, json = false;
};

/// Names of arms may contain commas: "adam, lr 0.01".
Option<Options> arms_row() {
  return {"arms", "arms to report on, e.g. adam,onebit-adam; separated by ';' if a name has a comma; not given: all",
          [](Options& options, const std::string& text) {
            options.arms = split(text, text.find(';') == std::string::npos ? ',' : ';');
          },
          [](const Options& options) { return join(options.arms, ";"); }};
}

std::vector<Option<Options>> rows() {
  return {
      out_row<Options>("file for the page, or with --csv for the table", made_up_form("report", ".html")),
      field<Options>("baseline", "arm that the others are compared with; not given: each arm's parent",
                     ONEBIT_PLACE(baseline)),
      arms_row(),
      flag<Options>("best", "report only on the best learning rate of each arm", ONEBIT_PLACE(best)),
      field<Options>("title", "title of the page; not given: made from arms, model and data", ONEBIT_PLACE(title)),
      json_row<Options>(),
      margin_row<Options>("relative difference of final losses within which arms are equivalent", ONEBIT_PLACE(margin)),
      flag<Options>("csv", "write the curves as one comma-separated table", ONEBIT_PLACE(csv)),
      flag<Options>("png", "also write the pictures as SVG and PNG files next to the page", ONEBIT_PLACE(png)),
      overwrite_row<Options>(ONEBIT_PLACE(overwrite))};
}

void check_output(const Options& options) {
  if (options.out.empty()) return;
  files::check_output(options.out, options.overwrite);
  check_folder_of(options.out);
}

/// Returns <name of the report>-<figure>, the stem of files next to the report. The names of arms come from logs; bytes
/// that are not printable ASCII become underscores, and a long name is cut.
std::string stem_of(const Figure& figure, const std::string& out) {
  constexpr std::size_t longest = 100;
  std::string name = figure.name.substr(0, longest);
  for (char& c : name) c = c > ' ' && c < '\x7f' && c != '/' ? c : '_';
  return std::filesystem::path(out).replace_extension("").string() + "-" + name;
}

void check_pictures(const std::vector<Figure>& figures, const Options& options) {
  for (const Figure& figure : figures) {
    for (const char* extension : {".svg", ".png"}) {
      files::check_output(stem_of(figure, options.out) + extension, options.overwrite);
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

/// Writes the page or the table, and the pictures. Returns the names of the files.
std::vector<std::string> write_files(const Report& report, const Options& options) {
  const std::vector<Figure> figures = options.csv && !options.png ? std::vector<Figure>() : figures_of(report);
  if (options.png) check_pictures(figures, options);
  std::ostringstream text;
  if (options.csv) {
    write_csv(report, text);
  } else {
    text << html_of(report, figures, options.title);
  }
  files::write(options.out, text.str());
  std::vector<std::string> files = {options.out};
  if (options.png) {
    const std::vector<std::string> drawn = draw_files(figures, options.out);
    files.insert(files.end(), drawn.begin(), drawn.end());
  }
  return files;
}

int write_report(const Options& options) {
  if (options.arguments.empty()) throw ConfigError("no log named", "report", "onebit report LOGS... -o report.html");
  if (options.out.empty() && !options.json)
    return write_report(with_made_up_name(options, "report", options.csv ? ".csv" : ".html"));
  check_output(options);
  const PriceConfig price = price_config_of(options.price);
  ReportRequest request{.arms = options.arms,
                        .best = options.best,
                        .comparison = {.baseline = options.baseline,
                                       .margin = options.margin.value_or(analysis::default_margin),
                                       .target = price.target,
                                       .clusters = clusters_of(price),
                                       .rules = rules_of(price)},
                        .variance = {}};
  const Report report = make_report(options.arguments, request, *netmodel::make_cost_model(price.cost_model));
  if (!options.out.empty()) {
    for (const std::string& file : write_files(report, options)) {
      if (!options.json) std::cout << file << "\n";
    }
  }
  if (options.json) std::cout << to_json(report.comparison).text() << "\n";
  for (const std::string& reason : report.left_out) warn("left out: " + reason);
  return kExitDone;
}

}  // namespace

Command report_command() {
  return make_command(
      {.name = "report",
       .usage = "LOG.h5|DIR...",
       .doc =
           "write one page about many logs: arms, verdicts, curves, variance, network, theory, how to repeat the runs",
       .accepts = {.price = Accepts::Price::of_runs, .target = true},
       .help = {.common = {"out", "baseline", "margin", "target", "cluster", "arms", "best", "title", "csv", "json",
                           "png", "overwrite"},
                .examples = {"onebit report out -o report.html",
                             "onebit report adam.h5 onebit-adam.h5 --baseline adam --cluster eth10"}}},
      rows(), write_report);
}

}  // namespace onebit::experiments
