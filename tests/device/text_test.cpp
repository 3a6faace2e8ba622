#include "device/base/text.hpp"

#include "tests/catch.hpp"

using namespace onebit;

namespace {

const std::vector<std::string_view> kNames = {"adam", "onebit-adam", "lamb"};

}  // namespace

TEST_CASE("the nearest name comes first") {
  CHECK(nearest("lab", kNames) == std::vector<std::string>{"lamb", "adam", "onebit-adam"});
  CHECK(nearest("x", std::vector<std::string_view>{}).empty());
}

TEST_CASE("a slip is corrected, another word gets the list") {
  CHECK(suggestion("adm", kNames) == "did you mean adam?");
  CHECK(suggestion("onebit_adam", kNames) == "did you mean onebit-adam?");
  CHECK(suggestion("nesterov", kNames) == "one of adam, onebit-adam, lamb");
  CHECK(suggestion("adam", std::vector<std::string_view>{}).empty());
}

TEST_CASE("of many names only the nearest are listed") {
  std::vector<std::string_view> many(13, "zzzzzzzzzz");
  many[3] = "abcdefgh";
  CHECK(suggestion("abxyzwuv", many) == "nearest: abcdefgh, zzzzzzzzzz, zzzzzzzzzz");
}

TEST_CASE("items are joined with a separator between them") {
  CHECK(join(std::vector<std::string>{"a", "b", "c"}, ", ") == "a, b, c");
  CHECK(join(std::vector<std::string>{"a"}, ", ") == "a");
  CHECK(join(std::vector<std::string>{}, ", ").empty());
}
