#include <filesystem>
#include <iostream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "experiments/cli/output_name.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output/card_output.hpp"

namespace onebit::experiments {
namespace {

struct Options : CommandInput {
  std::string out, baseline, title;
  std::optional<double> margin;
  bool overwrite = false, json = false;
};

std::vector<Option<Options>> rows() {
  return {
      out_row<Options>("file for the card, NAME.json; the page is NAME.md next to it", made_up_form("card", ".json")),
      field<Options>("baseline", "arm that the others are compared with; not given: each arm's parent",
                     ONEBIT_PLACE(baseline)),
      margin_row<Options>("relative difference of final losses within which arms are equivalent", ONEBIT_PLACE(margin)),
      field<Options>("title", "title of the page; not given: the names of the logs and folders", ONEBIT_PLACE(title)),
      flag<Options>("json", "print the card instead of the names of the files", ONEBIT_PLACE(json)),
      overwrite_row<Options>(ONEBIT_PLACE(overwrite))};
}

int write_card(const Options& options) {
  if (options.arguments.empty()) throw ConfigError("no log named", "card", "onebit card LOGS... -o card.json");
  if (options.out.empty()) return write_card(with_made_up_name(options, "card", ".json"));
  const std::filesystem::path file = options.out;
  if (file.extension() != ".json")
    throw ConfigError("the name of a card must end in .json", "-o " + options.out, "e.g. -o card.json");
  const std::string page = std::filesystem::path(file).replace_extension(".md").string();
  for (const std::string& output : {options.out, page}) files::check_output(output, options.overwrite);
  check_folder_of(options.out);
  const CardSubject subject =
      card_of(options.arguments, options.baseline, options.margin.value_or(analysis::default_margin));
  const std::string title = options.title.empty() ? "Runs of " + join(options.arguments, ", ") : options.title;
  files::write(page, markdown_of(subject, title, file.filename().string()));
  const Json json = to_json(subject.card, program_version());
  files::write(options.out, indented(json));
  std::cout << (options.json ? json.text() : options.out + "\n" + page) << "\n";
  for (const std::string& reason : subject.card.left_out) warn("left out: " + reason);
  for (const CardRun& run : subject.card.runs) {
    if (!run.not_repeated.empty()) warn("cannot be repeated: " + run.log + ": " + run.not_repeated);
  }
  return kExitDone;
}

}  // namespace

Command card_command() {
  return make_command(
      {.name = "card",
       .usage = "LOG.h5|DIR...",
       .doc = "write a card with which others can repeat runs and check their results",
       .accepts = {},
       .help = {.common = {"out", "baseline", "margin", "title", "json", "overwrite"},
                .examples = {"onebit card out -o card.json", "onebit card adam.h5 sgd.h5 --baseline adam"}}},
      rows(), write_card);
}

}  // namespace onebit::experiments
