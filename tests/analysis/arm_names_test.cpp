#include "analysis/compare/arm_names.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"

using namespace onebit::analysis;

namespace {

using Options = std::map<std::string, std::string>;
using Names = std::vector<std::string>;

Names names(const std::vector<Options>& arms) {
  return arm_names(arms);
}

}  // namespace

TEST_CASE("arm names: the optimizer alone where it tells arms apart") {
  CHECK(names({{{"optimizer", "adam"}, {"freeze", "never"}}, {{"optimizer", "onebit-adam"}, {"freeze", "auto"}}}) ==
        Names{"adam", "onebit-adam"});
}

TEST_CASE("arm names: in a sentence, options are in parentheses") {
  CHECK(spoken_name("adam, lr 0.01, batch 8") == "adam (lr 0.01, batch 8)");
  CHECK(spoken_name("adam") == "adam");
}

TEST_CASE("arm names: as few options as are needed, the learning rate before others") {
  CHECK(names({{{"optimizer", "adam"}, {"optimizer.lr", "0.001"}, {"batch", "8"}},
               {{"optimizer", "adam"}, {"optimizer.lr", "0.01"}, {"batch", "16"}},
               {{"optimizer", "lamb"}, {"optimizer.lr", "0.01"}, {"batch", "16"}}}) ==
        Names{"adam, lr 0.001", "adam, lr 0.01", "lamb, lr 0.01"});
  CHECK(names({{{"batch", "8"}, {"steps", "5"}}, {{"batch", "8"}, {"steps", "6"}}}) == Names{"steps 5", "steps 6"});
}

TEST_CASE("arm names: the whole option where its last part is not clear, unset where it is absent") {
  CHECK(names({{{"freeze.lag", "1"}, {"other.lag", "1"}},
               {{"freeze.lag", "2"}, {"other.lag", "1"}},
               {{"freeze.lag", "1"}, {"other.lag", "2"}}}) ==
        Names{"freeze.lag 1, other.lag 1", "freeze.lag 2, other.lag 1", "freeze.lag 1, other.lag 2"});
  CHECK(names({{{"optimizer", "adam"}}, {{"optimizer", "adam"}, {"batch", "4"}}}) == Names{"batch unset", "batch 4"});
}

TEST_CASE("arm names: lr is the learning rate of the optimizer, and no other") {
  CHECK(names({{{"tables.lr", "0.1"}}, {{"tables.lr", "0.2"}}}) == Names{"tables.lr 0.1", "tables.lr 0.2"});
  CHECK(names({{{"optimizer.lr", "1"}, {"tables.lr", "1"}},
               {{"optimizer.lr", "2"}, {"tables.lr", "1"}},
               {{"optimizer.lr", "1"}, {"tables.lr", "2"}}}) ==
        Names{"lr 1, tables.lr 1", "lr 2, tables.lr 1", "lr 1, tables.lr 2"});
  const Options arm = {{"optimizer.lr", "0.1"}, {"tables.lr", "0.1"}};
  CHECK(names_rate("adam, lr 0.1", arm));
  CHECK(names_rate("lr 0.1, batch 8", arm));
  for (const char* name : {"adam, tables.lr 0.1", "adam, lr 0.12", "lr 0.2, tables.lr 0.1", "adam"}) {
    CHECK_FALSE(names_rate(name, arm));
  }
  CHECK_FALSE(names_rate("lr unset", {}));
}

TEST_CASE("arm names: the label first and by its value, in place of what it determines") {
  CHECK(names({{{"label", "small"}, {"optimizer", "adam"}, {"batch", "8"}, {"optimizer.lr", "1"}},
               {{"label", "small"}, {"optimizer", "adam"}, {"batch", "8"}, {"optimizer.lr", "2"}},
               {{"label", "large"}, {"optimizer", "lamb"}, {"batch", "16"}, {"optimizer.lr", "1"}}}) ==
        Names{"small, lr 1", "small, lr 2", "large, lr 1"});
}

TEST_CASE("arm names: what labels stand for, without what varies within one of them") {
  const auto arm = [](const std::string& label, const std::string& optimizer, const std::string& batch) {
    return Options{{"label", label}, {"optimizer", optimizer}, {"batch", batch}};
  };
  CHECK(label_meanings(std::vector{arm("small", "adam", "8"), arm("large", "lamb", "16")}) ==
        "small is adam, batch 8; large is lamb, batch 16");
  CHECK(label_meanings(std::vector{arm("a", "adam", "8"), arm("a", "adam", "16"), arm("b", "lamb", "8")}) ==
        "a is adam; b is lamb");
  CHECK(label_meanings(std::vector{arm("adam", "adam", "8"), arm("sgd", "sgd", "8")}).empty());
  CHECK(label_meanings(std::vector{arm("a", "adam", "8"), arm("", "lamb", "8")}).empty());
  CHECK(label_meanings(std::vector<Options>{}).empty());
  // What the optimizer or the codec of a label does not read says nothing about it.
  const Options dense = {
      {"label", "a"}, {"optimizer", "sgd"}, {"codec", "sign-l2"}, {"codec.k", "0.01"}, {"freeze", "fixed:9"}};
  const Options sparse = {
      {"label", "b"}, {"optimizer", "ef-sgd"}, {"codec", "top-k"}, {"codec.k", "0.1"}, {"freeze", "never"}};
  CHECK(label_meanings(std::vector{dense, sparse}) == "a is sgd; b is ef-sgd, codec top-k, k 0.1");
  Options own = sparse;  // a label that is its optimizer
  own["label"] = "ef-sgd";
  CHECK(label_meanings(std::vector{dense, own}) == "a is sgd; ef-sgd has codec top-k, k 0.1");
  const auto cut = [](const char* label, const char* codec, const char* k) {
    return Options{{"label", label}, {"optimizer", "sgd"}, {"boundary.codec", codec}, {"boundary.k", k}};
  };
  CHECK(label_meanings(std::vector{cut("a", "fp32", "0.01"), cut("b", "top-k", "0.1")}) ==
        "a has boundary codec fp32; b has boundary codec top-k, boundary k 0.1");
}

TEST_CASE("arm names: a single arm is named after its optimizer") {
  CHECK(names({{{"optimizer", "adam"}, {"batch", "8"}}}) == Names{"adam"});
  CHECK(names({{{"optimizer", "adam"}, {"label", "mine"}}}) == Names{"mine"});
  CHECK(names({{{"batch", "8"}}}) == Names{"run"});
  CHECK(names({}).empty());
}

TEST_CASE("arm names: sorted by optimizer, rate, and the rest, numbers by size and before texts") {
  const auto lr = [](const char* optimizer, const char* rate) {
    return Options{{"optimizer", optimizer}, {"optimizer.lr", rate}, {"a", rate}};
  };
  std::vector<Options> arms = {lr("b", "1"), lr("a", "10"),   lr("a", "x"),
                               lr("a", "9"), lr("a", "1e-3"), lr("a", "95x")};
  std::ranges::sort(arms, options_before);
  const std::vector<Options> expected = {lr("a", "1e-3"), lr("a", "9"), lr("a", "10"),
                                         lr("a", "95x"),  lr("a", "x"), lr("b", "1")};
  CHECK(arms == expected);
  CHECK_FALSE(options_before(arms[0], arms[0]));
}

TEST_CASE("arm names: values with a number after a colon are sorted by it") {
  CHECK((value_before("fixed:20", "fixed:100") && !value_before("fixed:100", "fixed:20")));
  CHECK((value_before("auto", "fixed:20") && value_before("fixed:20", "never")));
  CHECK((value_before("fixed", "fixed:20") && !value_before("fixed:20", "fixed:20")));
}

TEST_CASE("arm names: numbers in texts") {
  CHECK(number_in("1e-3") == 1e-3);
  CHECK(number_in("-4") == -4);
  for (const char* text : {"", "4x", "x", " 4", "auto"}) CHECK(std::isnan(number_in(text)));
}
