#include "analysis/compare/references.hpp"

#include "device/base/error.hpp"
#include "optim/optimizer.hpp"
#include "optim/parent.hpp"
#include "tests/analysis/runs.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

Arm arm(const std::string& optimizer, const std::string& rate, double loss, OptionValues more = {}) {
  more.insert({{"optimizer", optimizer}, {"optimizer.lr", rate}});
  return make_arm(optimizer + "-" + rate, {loss, loss}, more);
}

References of(const std::vector<Arm>& arms, const std::string& baseline = "") {
  return references_of(arms, rate_grids(arms), baseline);
}

using Places = std::vector<std::optional<std::size_t>>;

}  // namespace

TEST_CASE("references: the parent of every optimizer is one that has none, and compresses nothing") {
  for (const optim::OptimizerEntry& entry : optim::optimizers()) {
    CAPTURE(entry.name);
    const std::string_view parent = optim::parent_of(entry.name);
    if (parent.empty()) continue;
    const auto found = std::ranges::find(optim::optimizers(), parent, &optim::OptimizerEntry::name);
    REQUIRE(found != optim::optimizers().end());
    CHECK(optim::parent_of(parent).empty());
    CHECK(found->codecs == optim::Codecs::none);
  }
  CHECK(optim::parent_of("onebit-adam") == "adam");
  CHECK(optim::parent_of("zeroone-adam") == "adam");
  CHECK(optim::parent_of("onebit-lamb") == "lamb");
  CHECK(optim::parent_of("ef-momentum-sgd") == "momentum-sgd");
  CHECK(optim::parent_of("onebit-sgd") == "sgd");
  CHECK(optim::parent_of("adam").empty());
  CHECK(optim::parent_of("none such").empty());
}

TEST_CASE("references: the parent at its best rate, whatever the order") {
  const std::vector<Arm> arms = {arm("onebit-lamb", "0.1", 1), arm("onebit-adam", "0.1", 1), arm("lamb", "0.1", 3),
                                 arm("lamb", "0.2", 2),        arm("adam", "0.1", 2),        arm("adam", "0.2", 3)};
  const References references = of(arms);
  CHECK(references.baseline == 3);  // the parent of the first arm
  CHECK(references.of == Places{3, 4, 3, std::nullopt, 3, 3});
  CHECK(references.notes.empty());
}

TEST_CASE("references: of several parents the one whose options differ least, counted both ways") {
  const std::vector<Arm> arms = {arm("adam", "0.1", 1, {{"batch", "8"}, {"clip", "1"}, {"eps", "1"}}),
                                 arm("adam", "0.1", 1, {{"batch", "16"}}),
                                 arm("onebit-adam", "0.1", 1, {{"batch", "8"}})};
  CHECK(of(arms).of[2] == 1);  // one option differs; arm 0 has two options that this arm lacks
}

TEST_CASE("references: arms without a parent are compared with one that trained") {
  std::vector<Arm> arms = {arm("sgd", "0.1", 1), arm("signsgd", "0.1", 1), arm("lamb", "0.1", 1),
                           arm("onebit-adam", "0.1", 1), arm("onebit-lamb", "0.1", 1)};
  CHECK(of(arms).baseline == 0);  // parent of as many as lamb, and before it
  arms[0].runs[1] = diverged(arms[0].runs[1]);
  CHECK(of(arms).baseline == 2);
  arms[2] = arm("lamb", "0.1", 1e9);  // above its start
  arms[2].name = "dense, lr 0.1";
  CHECK(of(arms).baseline == 3);  // the only one left without a parent here; signsgd's is sgd
  arms[2] = arm("lamb", "0.1", 2);
  arms[2].name = "dense, lr 0.1";
  arms.insert(arms.begin(), arm("adam", "0.1", 1));
  CHECK(of(arms).baseline == 3);  // called dense
}

TEST_CASE("references: a parent that is not there is named with what stands in for it") {
  const std::vector<Arm> arms = {arm("adam", "0.1", 1), arm("onebit-lamb", "0.1", 1), arm("onebit-lamb", "0.2", 1)};
  const References references = of(arms);
  CHECK(references.of == Places{std::nullopt, 0, 0});
  CHECK(references.notes ==
        std::vector<std::string>{
            "onebit-lamb is compared with adam-0.1, because its parent lamb is not among the arms; the result "
            "includes the difference between lamb and adam"});
  const std::vector<Arm> children = {arm("onebit-adam", "0.1", 1, {{"workers", "1"}}),
                                     arm("onebit-adam", "0.2", 1, {{"workers", "4"}})};
  CHECK(of(children).of == Places{std::nullopt, 0});
  CHECK(of(children).notes ==  // the same optimizer, whose parent would not change the comparison
        std::vector<std::string>{"no arm is the parent of another, so the others are compared with onebit-adam-0.1; "
                                 "--baseline chooses another arm"});
}

TEST_CASE("references: an arm without its parent is compared with the nearest arm of the baseline's optimizer") {
  const std::vector<Arm> arms = {arm("adam", "0.1", 1, {{"steps", "50"}}), arm("adam", "0.1", 1, {{"steps", "200"}}),
                                 arm("signsgd", "0.1", 1, {{"steps", "50"}}),
                                 arm("signsgd", "0.1", 1, {{"steps", "200"}})};
  const References references = of(arms);
  CHECK(references.of == Places{std::nullopt, 0, 0, 1});
  REQUIRE(references.notes.size() == 1);
  CHECK_THAT(references.notes[0], Catch::Matchers::StartsWith("signsgd is compared with adam, because"));
}

TEST_CASE("references: an arm that compresses nothing stands in for missing parents, whatever the order") {
  const std::vector<Arm> arms = {arm("onebit-adam", "0.1", 1), arm("ef-sgd", "0.1", 1), arm("momentum-sgd", "0.1", 2),
                                 arm("momentum-sgd", "0.2", 1)};
  const References references = of(arms);
  CHECK(references.baseline == 3);  // at its best rate
  CHECK(references.of == Places{3, 3, 3, std::nullopt});
  REQUIRE(references.notes.size() == 1);
  CHECK(references.notes[0] ==
        "onebit-adam-0.1 and ef-sgd-0.1 are compared with momentum-sgd-0.2, because their parents adam and sgd are not "
        "among the arms; the results include the difference between a parent and momentum-sgd");
}

TEST_CASE("references: of arms without a parent, the one called dense is the baseline") {
  std::vector<Arm> arms = {arm("onebit-adam", "0.1", 1, {{"freeze", "fixed:5"}}),
                           arm("onebit-adam", "0.1", 1, {{"freeze", "never"}})};
  CHECK(of(arms).baseline == 0);
  arms[1].name = "dense";
  CHECK(of(arms).baseline == 1);
  CHECK(of(arms).of == Places{1, std::nullopt});
}

TEST_CASE("references: of several grids of the parent the one that differs least") {
  const std::vector<Arm> arms = {arm("adam", "0.1", 1, {{"workers", "4"}, {"batch", "2"}}),
                                 arm("adam", "0.2", 1, {{"workers", "8"}, {"batch", "2"}}),
                                 arm("onebit-adam", "0.1", 1, {{"workers", "8"}, {"batch", "2"}}),
                                 arm("onebit-adam", "0.3", 1, {{"workers", "16"}, {"batch", "2"}})};
  CHECK(of(arms).of == Places{std::nullopt, 0, 1, 0});
}

TEST_CASE("references: of grids of the parent that differ in another option of the optimizer, the child's") {
  const auto beta = [](const char* value) { return OptionValues{{"optimizer.beta2", value}}; };
  const std::vector<Arm> arms = {arm("adam", "0.1", 1, beta("0.999")), arm("adam", "0.2", 1, beta("0.9")),
                                 arm("onebit-adam", "0.1", 1, beta("0.9")),
                                 arm("onebit-adam", "0.3", 1, beta("0.999"))};
  CHECK(of(arms).of == Places{std::nullopt, 0, 1, 0});
}

TEST_CASE("references: a baseline that was named is that of all, and it is said where it has better rates") {
  const std::vector<Arm> arms = {arm("adam", "0.1", 2), arm("adam", "0.2", 1), arm("lamb", "0.1", 1)};
  CHECK(of(arms, "adam-0.2").of == Places{1, std::nullopt, 1});
  CHECK(of(arms, "adam-0.2").notes.empty());
  const References references = of(arms, "adam-0.1");
  CHECK(references.of == Places{std::nullopt, 0, 0});
  CHECK(references.notes ==
        std::vector<std::string>{"the baseline adam-0.1 is not at the best of its learning rates: adam-0.2 is"});
  CHECK(of(arms, "adam").of == Places{1, std::nullopt, 1});  // a grid's name means its best rate
  CHECK_THROWS_WITH(of(arms, "adm-0.1"), Contains("no arm of this name") && Contains("did you mean adam-0.1?"));
}
