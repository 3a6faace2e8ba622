#include "analysis/compare/comparable.hpp"

#include "device/base/error.hpp"
#include "tests/analysis/runs.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// Returns the message with which require_comparable refuses runs with these options; empty if it accepts them.
std::string objection(
    const OptionValues& first, const OptionValues& second, void (*change)(sim::LogHeader&) = [](sim::LogHeader&) {}) {
  std::vector<Run> runs = {make_run(first, 1, {2, 1}), make_run(first, 2, {2, 1}), make_run(second, 3, {2, 1})};
  change(runs[2].header);
  try {
    require_comparable(runs);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("comparable: runs of one problem, whatever is done to it") {
  CHECK(objection({{"optimizer", "adam"}, {"data.split", "iid"}}, {{"optimizer", "lamb"}, {"data.split", "iid"}})
            .empty());
  CHECK(objection({{"data.path", "/a"}, {"data.read", "/a: 5 bytes"}, {"data.mmap", "true"}, {"model.timeout", "5"}},
                  {{"data.path", "/b"}, {"data.read", "/b: 5 bytes"}, {"data.mmap", "auto"}, {"model.timeout", "6"}})
            .empty());
  CHECK(objection({{"eval.every", "5"}, {"workers", "4"}}, {{"eval.every", "6"}, {"workers", "8"}}).empty());
  CHECK(objection({{"model.tied", "true"}}, {{"model.later", "1"}}).empty());  // logs of two versions of the program
  require_comparable(std::span<const Run>());
}

TEST_CASE("comparable: an option that differs is named with both values and both files") {
  CHECK(objection({{"eval.split", "holdout"}}, {{"eval.split", "train"}}) ==
        "the logs cannot be compared because their evaluations differ: eval.split 'holdout' and 'train' "
        "(out/1.h5 and out/3.h5); give all runs the same --eval.split and --eval.examples");
  const char* const options[] = {"data",  "data.split",   "data.holdout", "data.standardise",
                                 "model", "model.layers", "eval.split",   "eval.examples"};
  for (const std::string option : options) {
    CHECK_THAT(objection({{option, "x"}}, {{option, "y"}}), Contains(option + " 'x' and 'y'"));
  }
}

TEST_CASE("comparable: other data under the same options") {
  CHECK_THAT(objection({}, {}, [](sim::LogHeader& header) { header.data_hash = "bb"; }),
             Contains("their data differ: hash '00000000000000aa' and 'bb'"));
}

TEST_CASE("comparable: another model under the same options") {
  CHECK_THAT(objection({}, {}, [](sim::LogHeader& header) { header.tensors.pop_back(); }),
             Contains("their models differ: 2 and 1 tensors"));
  CHECK_THAT(objection({}, {}, [](sim::LogHeader& header) { header.tensors[1].size = 21; }),
             Contains("tensors 'b of 20 numbers' and 'b of 21 numbers'"));
  CHECK_THAT(objection({}, {}, [](sim::LogHeader& header) { header.tensors[0].name += "eight"; }),
             Contains("tensors 'w of 60 numbers' and 'weight of 60 numbers'"));
}
