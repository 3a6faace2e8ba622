#include "device/base/csv.hpp"

#include "tests/catch.hpp"

using namespace onebit;

TEST_CASE("csv: a text that a spreadsheet would compute is prefixed with an apostrophe, a number is not") {
  CHECK(csv_text("=1+1") == "'=1+1");
  CHECK(csv_text("@SUM(A1,A2)") == "\"'@SUM(A1,A2)\"");
  CHECK(csv_text("-neg") == "'-neg");
  CHECK(csv_text("+cmd|' /C calc'!A0") == "'+cmd|' /C calc'!A0");
  for (const char* number : {"-1.5", "+1", "-inf", "+inf", "-1e-300", "3", "nan", ""})
    CHECK(csv_text(number) == number);
  CHECK(csv_text("adam") == "adam");
  CHECK(csv_text("a,\"b\"") == "\"a,\"\"b\"\"\"");
}

TEST_CASE("csv: control characters are written as text, also those that begin a formula") {
  CHECK(csv_text("a\nb\x1b[31m") == "a\\x0ab\\x1b[31m");
  CHECK(csv_text("\t=1") == "\\x09=1");
  CHECK(csv_text("\r=1") == "\\x0d=1");
}

TEST_CASE("csv: a field reads back as the text that it was made of") {
  for (const char* text :
       {"adam", "-neg", "'-neg", "''=x", "'quoted'", "'", "=a,\"b\"", "a,b", "\"", "-1.5", "@", ""}) {
    CAPTURE(text);
    CHECK(text_of_csv(csv_text(text)) == text);
  }
}
