// How files are loaded into memory.

#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <string>

#include "device/base/error.hpp"
#include "sim/data/data.hpp"
#include "sim/data/files/gunzip.hpp"
#include "sim/data/files/input_file.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

namespace onebit::sim {
namespace {

using Catch::Matchers::Contains;
using tests::Folder;

std::string gzip(const std::string& plain) {
  z_stream stream = {};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<unsigned>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<unsigned>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string load(const std::string& path, Switch mapping, Index limit = 1 << 30) {
  return std::string(InputFile(path, "").load(mapping, limit).text());
}

TEST_CASE("files: plain, mapped and packed hold the same") {
  const Folder folder;
  for (const std::string& content : {std::string(), std::string("x"), std::string(100000, 'a') + "\0b"}) {
    const std::string plain = folder.write("plain", content), packed = folder.write("packed", gzip(content));
    for (const Switch mapping : {Switch::automatic, Switch::no, Switch::yes}) CHECK(load(plain, mapping) == content);
    for (const Switch mapping : {Switch::automatic, Switch::no}) CHECK(load(packed, mapping) == content);
    CHECK_THROWS_WITH(load(packed, Switch::yes), Contains(packed) && Contains("a packed file cannot be mapped"));
  }
  CHECK(load(folder.write("two", gzip("one ") + gzip("") + gzip("two")), Switch::no) == "one two");
}

TEST_CASE("files: a mapped file outlives its handle and its name") {
  const Folder folder;
  const std::string path = folder.write("a", "content");
  Bytes copy("", std::vector<std::uint8_t>());
  {
    const Bytes bytes = InputFile(path, "").load(Switch::yes, 100);
    copy = bytes;
  }
  std::filesystem::remove(path);
  CHECK(copy.text() == "content");
}

TEST_CASE("files: limits hold before and while unpacking") {
  const Folder folder;
  const std::string plain = folder.write("plain", std::string(1000, 'a'));
  CHECK_NOTHROW(load(plain, Switch::no, 1000));
  CHECK_THROWS_WITH(load(plain, Switch::no, 999), Contains("1000 bytes exceed the limit of 999"));
  const std::string packed = folder.write("packed", gzip(std::string(50'000'000, 'a')));
  CHECK_THROWS_WITH(load(packed, Switch::no, 1'000'000),
                    Contains("the unpacked data exceed the limit of 1000000 bytes"));
  CHECK_NOTHROW(load(packed, Switch::no, 50'000'000));
}

TEST_CASE("files: damaged gzip is refused") {
  const std::string good = gzip("some text that is packed");
  const auto unpack = [](const std::string& packed) {
    const auto bytes = gunzip({"FILE", {packed.begin(), packed.end()}}, 1000, 1000);
    return std::string(bytes.begin(), bytes.end());
  };
  CHECK(unpack(good) == "some text that is packed");
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_THROWS_WITH(unpack(good.substr(0, size)), Contains("corrupted gzip") && Contains("FILE, offset"));
  }
  CHECK_THROWS_WITH(unpack(good + "x"),
                    Contains("corrupted gzip: the data is followed by bytes that are not gzip (FILE, offset 24)"));
  CHECK_THROWS_WITH(unpack(good + "\x1f\x8b"), Contains("corrupted gzip"));
}

TEST_CASE("files: what is no file is refused") {
  const Folder folder;
  for (const std::string& path : {folder.path(), folder.path("missing"), std::string("/dev/zero")}) {
    CHECK_THROWS_AS(InputFile(path, "a hint"), ConfigError);
    CHECK_THROWS_WITH(InputFile(path, "a hint"), Contains(path) && Contains("a hint"));
  }
}

TEST_CASE("text: packed files of a folder are read, what is binary inside is not") {
  const Folder folder;
  const std::string text(30, 'a'), binary("x\0y", 3);
  const std::string a = folder.write("a.txt.gz", gzip(text)), b = folder.write("b.gz", gzip(binary));
  const auto source = make_data({.name = "text", .paths = {folder.path()}, .context = 2});
  const auto size = [](const std::string& path) { return std::to_string(std::filesystem::file_size(path)); };
  CHECK(source->provenance() == std::vector<std::string>{a + ": " + size(a) + " bytes, unpacked 30",
                                                         b + ": " + size(b) + " bytes, skipped: binary"});
  const Folder plain;
  const auto expected = make_data({.name = "text", .paths = {plain.write("a", text)}, .context = 2});
  CHECK(source->hash() == expected->hash());
}

TEST_CASE("text: a folder that cannot be read is named") {
  ONEBIT_SKIP_UNLESS(::geteuid() == 0, "root", "only root becomes another user");
  const Folder folder;
  folder.write("a.txt", std::string(30, 'a'));
  const std::string locked = folder.path("locked");
  std::filesystem::create_directory(locked);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(locked, std::filesystem::perms(0700));
  REQUIRE(::seteuid(65534) == 0);
  std::string above, itself;
  for (const auto& [path, error] : {std::pair(folder.path(), &above), std::pair(locked, &itself)}) {
    try {
      make_data({.name = "text", .paths = {path}});
    } catch (const std::exception& refused) {  // become root again before anything fails
      *error = refused.what();
    }
  }
  REQUIRE(::seteuid(0) == 0);
  const std::string expected = "cannot list: Permission denied (" + locked + "); check its permissions";
  CHECK(above == expected);
  CHECK(itself == expected);
}

}  // namespace
}  // namespace onebit::sim
