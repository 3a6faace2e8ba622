// Criteo's text format: values by hand, missing values, limits, and damage of every kind.

#include "sim/data/clicks/criteo.hpp"

#include <zlib.h>

#include <cmath>
#include <string>
#include <vector>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

namespace onebit::sim {
namespace {

using Catch::Matchers::Contains;
using tests::Folder;

/// A line in which all numbers are `number` and all categories are `category`.
std::string line_of(const std::string& label, const std::string& number, const std::string& category) {
  std::string line = label;
  for (int i = 0; i < 13; ++i) line += "\t" + number;
  for (int i = 0; i < 26; ++i) line += "\t" + category;
  return line;
}

/// The same line with another field `field`, counted from 1.
std::string with_field(const std::string& line, int field, const std::string& text) {
  std::size_t first = 0;
  for (int i = 1; i < field; ++i) first = line.find('\t', first) + 1;
  const std::size_t end = std::min(line.find('\t', first), line.size());
  return line.substr(0, first) + text + line.substr(end);
}

const std::string kGood = line_of("0", "1", "05db9164");

DataConfig criteo(const std::vector<std::string>& paths, Index rows = 1000) {
  return {.name = "criteo", .paths = paths, .holdout = 0, .examples = 0, .max_rows = rows};
}

CriteoExamples parse(const std::string& text, std::size_t piece = 1 << 20, Index most = 0) {
  CriteoExamples examples;
  CriteoParser parser("FILE", 1000, most, examples);
  for (std::size_t first = 0; first < text.size(); first += piece) {
    const std::string part = text.substr(first, piece);
    if (parser.feed(part) < part.size()) break;
  }
  const Index count = parser.finish();
  CHECK(count == static_cast<Index>(examples.labels.size()));
  return examples;
}

float log1(double x) {
  return static_cast<float>(std::log1p(x));
}

TEST_CASE("criteo: two lines by hand") {
  std::string first = line_of("1", "5", "68fd1e64"), second = line_of("0", "", "");
  first = with_field(first, 2, "-3");
  first = with_field(first, 14, "1000000");
  second = with_field(second, 3, "0");
  second = with_field(second, 40, "a");
  const CriteoExamples read = parse(first + "\n" + second + "\n");
  CHECK(read.labels == std::vector<std::int32_t>{1, 0});
  REQUIRE(read.features.size() == 26);
  CHECK(read.features[0] == 0);  // log(1 + max(-3, 0))
  CHECK(read.features[1] == log1(5));
  CHECK(read.features[12] == log1(1e6));
  for (std::size_t i = 13; i < 26; ++i) CHECK(read.features[i] == 0);
  REQUIRE(read.bags.size() == 52);
  // FNV-1a of "a" is af63dc4c8601ec8c (its authors' test vector) = 12638187200555641996, which is 232 modulo 999.
  CHECK(read.bags[51] == 233);
  for (std::size_t i = 26; i < 51; ++i) CHECK(read.bags[i] == 0);
  CHECK((read.bags[0] > 0 && read.bags[0] < 1000));
  for (std::size_t i = 1; i < 26; ++i) CHECK(read.bags[i] == read.bags[0]);
  CHECK(read.missing == 12 + 25);
}

TEST_CASE("criteo: pieces, line ends, empty lines and a missing last newline make no difference") {
  const std::string a = line_of("1", "2", "ABCDEF01"), b = line_of("0", "", "1f"), c = line_of("1", "77", "");
  const CriteoExamples whole = parse(a + "\n" + b + "\n" + c + "\n");
  REQUIRE(whole.labels == std::vector<std::int32_t>{1, 0, 1});
  const std::string windows = a + "\r\n" + b + "\r\n\r\n" + c + "\r\n", open = a + "\n\n" + b + "\n" + c;
  for (const std::string& text : {a + "\n" + b + "\n" + c + "\n", windows, open, open + "\r"}) {
    for (const std::size_t piece : {1U, 7U, 100U, 100000U}) {
      const CriteoExamples read = parse(text, piece);
      CHECK(read.labels == whole.labels);
      CHECK(read.features == whole.features);
      CHECK(read.bags == whole.bags);
    }
  }
}

TEST_CASE("criteo: a source has the examples in order, the last ones held out") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 10; ++i) text += line_of(i % 3 == 0 ? "1" : "0", std::to_string(i), std::to_string(i)) + "\n";
  DataConfig config = criteo({folder.write("train.txt", text)});
  config.holdout = 0.2;
  const auto source = make_data(config);
  CHECK(source->train_size() == 8);
  CHECK(source->holdout_size() == 2);
  CHECK(source->feature_count() == 13);
  CHECK(source->context() == 26);
  CHECK(source->tables() == std::vector<BagTable>(26, {1000, 1}));
  CHECK(source->classes() == 2);
  CHECK(source->vocabulary() == 0);
  REQUIRE(source->provenance().size() == 2);
  const std::string bytes = std::to_string(text.size());
  CHECK(source->provenance()[0] == folder / "train.txt" + ": " + bytes + " bytes unpacked, 10 examples");
  CHECK(source->provenance()[1] == "criteo: 26 tables of 1000 rows, 26000 in all; 0% of the values missing");
  Batch out;
  source->read(DataSource::Split::train, 0, 8, out);
  CHECK(out.labels == std::vector<std::int32_t>{1, 0, 0, 1, 0, 0, 1, 0});
  CHECK(out.features[3 * 13 + 5] == log1(3));
  CHECK(out.tokens[3 * 26] == out.tokens[3 * 26 + 25]);
  source->holdout(0, 2, out);
  CHECK(out.labels == std::vector<std::int32_t>{0, 1});
  CHECK(out.features[13] == log1(9));
}

TEST_CASE("criteo: test files are held out, and --data.examples limits the training files") {
  const Folder folder;
  const std::string one = line_of("1", "1", "a") + "\n", zero = line_of("0", "2", "b") + "\n";
  DataConfig config = criteo({folder.write("0", one + zero), folder.write("1", one + one + "damaged")});
  config.test = {folder.write("2", zero), folder.write("3", one + zero)};
  config.holdout = 0.5;
  config.examples = 4;  // ends before the damage
  const auto source = make_data(config);
  CHECK(source->train_size() == 4);
  CHECK(source->holdout_size() == 3);
  CHECK_THAT(source->provenance()[1], Contains("1: the first " + std::to_string(2 * one.size()) + " bytes"));
  config.examples = 2;  // the second file is not looked at
  CHECK(make_data(config)->provenance().size() == 4);
  config.examples = 5;
  CHECK_THROWS_WITH(make_data(config), Contains("1 fields, expected 40"));
}

TEST_CASE("criteo: a packed file gives the same examples and hash") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += line_of("0", std::to_string(i), std::to_string(i * 7)) + "\n";
  const std::string plain = folder.write("plain", text), packed = folder / "packed.gz";
  gzFile file = gzopen(packed.c_str(), "wb");
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) > 0);
  gzclose(file);
  for (const Index most : {0, 1234}) {
    DataConfig a = criteo({plain}), b = criteo({packed});
    a.examples = b.examples = most;
    const auto x = make_data(a), y = make_data(b);
    CHECK(x->train_size() == (most == 0 ? 3000 : most));
    CHECK(x->hash() == y->hash());
    Batch p, q;
    x->read(DataSource::Split::train, 0, x->train_size(), p);
    y->read(DataSource::Split::train, 0, y->train_size(), q);
    CHECK((p.features == q.features && p.tokens == q.tokens && p.labels == q.labels));
    ++a.max_rows;
    CHECK(make_data(a)->hash() != y->hash());  // the same bytes, but other row numbers
  }
}

TEST_CASE("criteo: damage is refused with file, line and reason") {
  const std::string tail = "; a line is a label, 13 whole numbers and 26 hexadecimal categories, separated by tabs";
  const std::string number = "expected a whole number or nothing, found ";
  const std::string category = "expected 1 to 16 hexadecimal digits or nothing, found ";
  const struct {
    std::string line, reason;
  } damages[] = {
      {kGood.substr(0, kGood.rfind('\t')), "39 fields, expected 40; labels may be missing"},
      {"0\t1", "2 fields, expected 40"},
      {kGood + "\t", "41 fields, expected 40"},
      {with_field(kGood, 1, "2"), "field 1: expected a label of 0 or 1, found \"2\""},
      {with_field(kGood, 1, ""), "field 1: expected a label of 0 or 1, found \"\""},
      {with_field(kGood, 1, "1.0"), "field 1: expected a label of 0 or 1, found \"1.0\""},
      {with_field(kGood, 2, "x"), "field 2: " + number + "\"x\""},
      {with_field(kGood, 14, "1.5"), "field 14: " + number + "\"1.5\""},
      {with_field(kGood, 5, "99999999999999999999"), "field 5: " + number + "\"99999999999999999999\""},
      {with_field(kGood, 5, "+1"), "field 5: " + number + "\"+1\""},
      {with_field(kGood, 5, " 1"), "field 5: " + number + "\" 1\""},
      {with_field(kGood, 15, "05db916g"), "field 15: " + category + "\"05db916g\""},
      {with_field(kGood, 40, "0123456789abcdef0"), "field 40: " + category + "\"0123456789abcdef0\""},
      {with_field(kGood, 40, "a\ra"), "field 40: " + category + "\"a\\x0da\""},
      {kGood + std::string(4096, 'a'), "more than 4096 bytes"},
  };
  for (const auto& damage : damages) {
    const std::string text = kGood + "\r\n\n" + damage.line + "\n" + kGood + "\n";
    CHECK_THROWS_AS(parse(text), ConfigError);
    CHECK_THROWS_WITH(parse(text), damage.reason + " (FILE, line 3)" + tail);
    CHECK_THROWS_WITH(parse(text, 5), damage.reason + " (FILE, line 3)" + tail);
  }
}

TEST_CASE("criteo: files and options that cannot be") {
  const Folder folder;
  const auto refuses = [](const DataConfig& config, const std::string& reason) {
    CHECK_THROWS_AS(make_data(config), ConfigError);
    CHECK_THROWS_WITH(make_data(config), Contains(reason));
  };
  const std::string good = folder.write("good", kGood + "\n");
  refuses(criteo({}), "no files given (--data criteo)");
  refuses(criteo({folder / "missing"}), "no such file");
  refuses(criteo({folder.write("empty", "\n\r\n")}), "no examples (" + folder / "empty");
  refuses(criteo({good}, 1), "option out of range: 1 (--data.max-rows); from 2 to 2147483647");
  DataConfig config = criteo({good});
  config.examples = -1;
  refuses(config, "--data.examples");
  config = criteo({good});
  config.holdout = 0.5;
  refuses(config, "too little data");
}

}  // namespace
}  // namespace onebit::sim
