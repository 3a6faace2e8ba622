#include "device/base/text.hpp"

#include <limits>

#include "tests/catch.hpp"

using namespace onebit;

namespace {

const std::vector<std::string_view> kNames = {"adam", "onebit-adam", "lamb"};

}  // namespace

TEST_CASE("numbers have a power of ten only where they are very large or very small") {
  CHECK(number(9941.3, 3) == "9940");
  CHECK(number(-123456, 3) == "-123000");
  CHECK(number(999999.9, 3) == "1e+06");
  CHECK(number(12.345) == "12.35");
  CHECK(number(1.5e-5, 3) == "1.5e-05");
  CHECK(number(std::numeric_limits<double>::infinity()) == "-");
}

TEST_CASE("items are listed with commas and a last 'and'") {
  using Items = std::vector<std::string>;
  CHECK(enumerated(Items{}).empty());
  CHECK(enumerated(Items{"a"}) == "a");
  CHECK(enumerated(Items{"a", "b"}) == "a and b");
  CHECK(enumerated(Items{"a", "b", "c"}) == "a, b and c");
}

TEST_CASE("the nearest name comes first") {
  CHECK(nearest("lab", kNames) == std::vector<std::string>{"lamb", "adam", "onebit-adam"});
  CHECK(nearest("x", std::vector<std::string_view>{}).empty());
}

TEST_CASE("a slip is corrected, another word gets the list") {
  CHECK(suggestion("adm", kNames) == "did you mean adam?");
  CHECK(suggestion("onebit_adam", kNames) == "did you mean onebit-adam?");
  CHECK(suggestion("h100", std::vector<std::string_view>{"ib100", "aws-h100-p5", "dgx-h100"}) ==
        "did you mean dgx-h100?");
  CHECK(suggestion("step", std::vector<std::string_view>{"step.overlap", "steps"}) == "did you mean steps?");
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
  CHECK(join(std::vector<std::string>{"", "a", "", "b"}, ",") == ",a,,b");
}

TEST_CASE("a list of words holds whole words") {
  CHECK(has_word("k levels min-rate", "levels"));
  CHECK(has_word("k", "k"));
  CHECK(has_word("down-k k", "k"));  // also after a word that ends with it
  CHECK_FALSE(has_word("k levels min-rate", "rate"));
  CHECK_FALSE(has_word("k levels", "level"));
  CHECK_FALSE(has_word("k levels", ""));
  CHECK_FALSE(has_word("", "k"));
}

TEST_CASE("bytes have a unit in which four digits are below 1000") {
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(999949) == "999.9 kB");
  CHECK(bytes_text(999951) == "1 MB");
  CHECK(bytes_text(999999) == "1 MB");
  CHECK(bytes_text(999999e9) == "1000 TB");
}

TEST_CASE("capitalised: the first letter becomes a capital") {
  CHECK(capitalised("warning: a") == "Warning: a");
  CHECK(capitalised("1 run") == "1 run");
  CHECK(capitalised("").empty());
}

TEST_CASE("printable: controls and what is no UTF-8 are written as bytes, everything else stays") {
  CHECK(printable("plain h\xc3\xb6st \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "plain h\xc3\xb6st \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(printable("\x1b[31mred\x7f") == "\\x1b[31mred\\x7f");
  CHECK(printable("a\nb\tc") == "a\\x0ab\\x09c");
  CHECK(printable("a\nb\tc", "\n") == "a\nb\\x09c");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\xc2\\x9b31m");  // a C1 control, which some terminals take for ESC [
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");
  CHECK(printable(std::string("\0", 1)) == "\\x00");
  CHECK(printable("").empty());
}

TEST_CASE("printable: bytes that are no character are shown one by one") {
  CHECK(printable("\xff"
                  "a") == "\\xffa");
  CHECK(printable("\xc3") == "\\xc3");                             // cut
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");                    // cut
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");                    // longer than necessary
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  CHECK(printable(printable("\x1b\xff")) == printable("\x1b\xff"));
}
