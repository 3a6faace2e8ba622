// Cards: what somebody else needs to repeat runs, and the check that repeats them.

#include <regex>

#include "experiments/output/output.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

const Arguments kTiny = {"--model",         "mlp", "--model.layers", "4,5,3", "--data",          "synthetic",
                         "--data.features", "4",   "--data.classes", "3",     "--data.examples", "200",
                         "--workers",       "2",   "--batch",        "2",     "--steps",         "6",
                         "--threads",       "1"};

void succeed(const Outcome& run) {
  CAPTURE(run.out, run.err);
  REQUIRE(run.status == 0);
}

void refused(const Outcome& run, const std::string& what) {
  CAPTURE(run.out, run.err);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains(what));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
}

/// The files of the card of two arms with three seeds.
struct CardFiles {
  std::string json, page;
};

const CardFiles& card_files() {
  static const CardFiles files = [] {
    const Folder folder;
    succeed(run_onebit(folder, joined({"compare", "--optimizers", "adam,onebit-adam", "--freeze", "fixed:3", "--seeds",
                                       "3", "-o", "out"},
                                      kTiny)));
    succeed(run_onebit(folder, {"card", "out", "-o", "card.json"}));
    refused(run_onebit(folder, {"card", "out", "-o", "card.json"}), "exists");
    refused(run_onebit(folder, {"card", "out", "-o", "card.txt"}), "the name of a card must end in .json");
    refused(run_onebit(folder, {"card", "out", "-o", "other.json", "--baseline", "sgd"}), "sgd");
    refused(run_onebit(folder, {"card"}), "no log named");
    return CardFiles{read_file(folder / "card.json"), read_file(folder / "card.md")};
  }();
  return files;
}

/// A folder with that card alone.
class Carded {
 public:
  Carded() { write_file(folder / "card.json", card_files().json); }

  /// Replaces the first match of a pattern in the card.
  void change(const std::string& pattern, const std::string& text) const {
    const std::string before = read_file(folder / "card.json");
    const std::string after =
        std::regex_replace(before, std::regex(pattern), text, std::regex_constants::format_first_only);
    REQUIRE(after != before);
    write_file(folder / "card.json", after);
  }

  Outcome verify(const Arguments& more = {}) const { return run_onebit(folder, joined({"verify", "card.json"}, more)); }

  Folder folder;
};

}  // namespace

TEST_CASE("card: somebody else repeats the runs bit for bit, and comes to the same verdicts", "[once]") {
  CHECK_THAT(card_files().json, Contains("\"format\": \"onebit-card\"") && Contains("\n  \"options\": {\n") &&
                                    Contains("\"model.layers\": \"4,5,3\"") &&
                                    Contains("\"log\": \"onebit-adam-3.h5\""));
  CHECK_THAT(card_files().page, Contains("onebit verify card.json") && Contains("| onebit-adam | 1, 2, 3 | 3 |") &&
                                    Contains("- onebit-adam and adam are equivalent") &&
                                    Contains("--seed 1\nonebit run "));
  const Carded carded;
  const Outcome same = carded.verify({"--threads", "2"});
  succeed(same);
  CHECK_THAT(same.out, Contains("all verdicts (1) have the same judgement as on the card") &&
                           Contains("gives the recorded numbers, bit for bit"));
  CHECK(entries(carded.folder) == std::set<std::string>{carded.folder / "card.json"});

  const Outcome kept = carded.verify({"-o", "kept", "--json"});
  succeed(kept);
  CHECK(json_value(kept.out, "agrees") == "true");
  for (const std::string seed : {"1", "2", "3"})
    CHECK(std::filesystem::exists(carded.folder / ("kept/adam-" + seed + ".h5")));
  refused(carded.verify({"-o", "kept"}), "exists");
}

TEST_CASE("card: other losses, curves and verdicts are told apart", "[once]") {
  const Carded carded;
  SECTION("the same loss after another curve") {
    carded.change("\"curve_hash\": \"....", "\"curve_hash\": \"0000");
    const Outcome close = carded.verify();
    CHECK(close.status == 0);
    CHECK_THAT(close.out, Contains("rounding may explain: final losses differ by at most 0%"));
  }
  SECTION("other losses") {
    const std::string before = "\"final_loss\": ";
    write_file(carded.folder / "card.json", std::regex_replace(card_files().json, std::regex(before), before + "1"));
    const Outcome other = carded.verify();
    CHECK(other.status == 1);
    CHECK_THAT(other.out, Contains("differs") && Contains("does not give the recorded numbers"));
  }
  SECTION("another judgement") {
    carded.change("\"judgement\": \"[a-z_]+\"", "\"judgement\": \"worse\"");
    const Outcome other = carded.verify({"--json"});
    CHECK(other.status == 1);
    CHECK_THAT(other.out, Contains("\"recorded\": \"worse\""));
    CHECK_THAT(carded.verify().out, Contains("different verdict: onebit-adam and adam are"));
  }
}

TEST_CASE("card: options that the card fixes are refused", "[once]") {
  const Carded carded;
  refused(carded.verify({"--steps", "7"}), "the card determines this option (steps 7)");
  refused(carded.verify({"--seeds", "2"}), "the card determines which runs to train");
  refused(carded.verify({"--preset", "verify"}), "the card determines which runs to train");
  refused(carded.verify({"trace.h5"}), "a card must be the only argument");
  refused(run_onebit(carded.folder, {"verify", "none.json"}), "none.json");
}

TEST_CASE("card: what cannot be checked is refused", "[once]") {
  const Carded carded;
  SECTION("other data") {
    carded.change("\"data_hash\": \"....", "\"data_hash\": \"0000");
    refused(carded.verify(), "the data differ from the card's");
  }
  SECTION("a newer format") {
    carded.change("\"format_version\": 1", "\"format_version\": 2");
    refused(carded.verify(), "newer version");
  }
  SECTION("a part is missing") {
    carded.change("\"data_hash\"", "\"data_hush\"");
    refused(carded.verify(), "card.json: arms 0: runs 0: data_hash");
  }
  SECTION("a number is none") {
    carded.change("\"steps\": 6", "\"steps\": \"six\"");
    refused(carded.verify(), "six");
  }
  SECTION("an option that this program does not know") {
    carded.change("\"options\": \\{", "\"options\": {\"optimizer.trick\": \"5\",");
    refused(carded.verify(), "lacks an option of the run");
  }
  SECTION("no run that can be repeated") {
    const std::string json =
        std::regex_replace(card_files().json, std::regex("\"not_repeated\": \"\""), "\"not_repeated\": \"lost\"");
    write_file(carded.folder / "card.json", json);
    const Outcome none = carded.verify();
    CHECK(none.status == 2);
    CHECK_THAT(none.err, Contains("no run can be repeated (adam-1.h5: lost)"));
  }
  SECTION("a model that this program lacks") {
    carded.change("\"model\": \"mlp\"", "\"model\": \"mlp2\"");
    refused(carded.verify(), "lacks an option of the run");
  }
  SECTION("something else") {
    write_file(carded.folder / "card.json", "{\"format\": \"else\"}");
    refused(carded.verify(), "not a card");
    write_file(carded.folder / "card.json", "[1, 2");
    refused(carded.verify(), "malformed JSON");
  }
  SECTION("a program that the reader of the card has not allowed") {
    carded.change("\"model.command\": \"\"", "\"model.command\": \"touch bad\"");
    carded.change("\"model.layers\": \"4,5,3\"", "\"model.layers\": \"\"");
    carded.change("\"model.context\": \"0\"", "\"model.context\": \"8\"");
    carded.change("\"model\": \"mlp\"", "\"model\": \"external\"");
    refused(carded.verify(), "the run starts a program");
    CHECK_FALSE(std::filesystem::exists(carded.folder / "bad"));
  }
  SECTION("names of logs that lead elsewhere") {
    carded.change("\"log\": \"adam-1.h5\"", "\"log\": \"../../adam-2.h5\"");
    succeed(carded.verify({"-o", "kept"}));
    CHECK(std::filesystem::exists(carded.folder / "kept/again-adam-2.h5"));
  }
}

TEST_CASE("card: runs that cannot be repeated are named", "[once]") {
  const Folder folder;
  succeed(run_onebit(folder, joined({"run", "-o", "whole.h5"}, kTiny)));
  succeed(
      run_onebit(folder, joined({"run", "--optimizer", "sgd", "-o", "again.h5", "--checkpoint.every", "3"}, kTiny)));
  Arguments longer = kTiny;
  *(std::find(longer.begin(), longer.end(), "--steps") + 1) = "9";
  succeed(run_onebit(
      folder, joined({"run", "--optimizer", "sgd", "-o", "again.h5", "--resume", "--resume.allow", "steps"}, longer)));
  refused(run_onebit(folder, {"card", "again.h5", "-o", "bad.json"}), "no run can be repeated");

  const Outcome made = run_onebit(folder, {"card", "whole.h5", "again.h5", "--title", "A | B", "-o", "card.json"});
  succeed(made);
  CHECK_THAT(made.err, Contains("cannot be repeated: again.h5: it was continued with other options"));
  CHECK_THAT(read_file(folder / "card.md"), Contains("# A | B\n") && Contains("no: it was continued"));
  const Outcome verified = run_onebit(folder, {"verify", "card.json"});
  succeed(verified);
  CHECK_THAT(verified.err, Contains("not repeated: again.h5"));
  CHECK_THAT(verified.out, Contains("verdicts are not checked") && Contains("bit for bit"));
}

TEST_CASE("card: the branches of a validation are repeated from their first step", "[once]") {
  const Folder folder;
  succeed(run_onebit(folder, joined({"analyze", "--validate", "--seeds", "5", "--optimizer", "onebit-adam",
                                     "--freeze-at", "3", "-o", "out"},
                                    kTiny)));
  succeed(run_onebit(folder, {"card", "out", "-o", "card.json"}));
  const Outcome verified = run_onebit(folder, {"verify", "card.json"});
  CAPTURE(verified.err);
  CHECK_THAT(verified.out, Contains("bit for bit"));
}

TEST_CASE("card: a diverged run is the same if it diverges at the recorded step, and a card needs no suffix",
          "[once]") {
  const Folder folder;
  const Outcome run = run_onebit(folder, joined({"run", "--optimizer", "sgd", "--lr", "1e30", "-o", "bad.h5"}, kTiny));
  CAPTURE(run.err);
  CHECK(run.status == 1);
  succeed(run_onebit(folder, {"card", "bad.h5", "-o", "card.json"}));
  const Outcome same = run_onebit(folder, {"verify", "card.json"});
  succeed(same);
  CHECK_THAT(same.out, Contains("1 of 1 runs were repeated") && Contains("bit for bit"));
  write_file(folder / "card",
             std::regex_replace(read_file(folder / "card.json"), std::regex("\"steps\": [0-9]+"), "\"steps\": 999"));
  const Outcome other = run_onebit(folder, {"verify", "card"});
  succeed(other);
  CHECK_THAT(other.out, !Contains("bit for bit"));
}

TEST_CASE("card: indented JSON has the same values") {
  using experiments::Json;
  const Json json = Json::object({{"a", "{\"[,\\"},
                                  {"b", Json::array({1L, Json::object({}), Json::array({})})},
                                  {"c", Json::object({{"d", 2.5}})}});
  CHECK(experiments::indented(json) ==
        "{\n  \"a\": \"{\\\"[,\\\\\",\n  \"b\": [\n    1,\n    {},\n    []\n  ],\n"
        "  \"c\": {\n    \"d\": 2.5\n  }\n}\n");
}
