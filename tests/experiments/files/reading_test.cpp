// Files that commands read: a read that fails, or a file that never ends or has no writer, gives a one-line error
// message, and is never taken for the end of the file.

#include <sys/stat.h>
#include <unistd.h>

#include "tests/experiments/program.hpp"
#include "tests/sanitized.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

/// A command that reads the file "input", and the contents of the file.
struct Reader {
  std::string what;
  Arguments command;
  std::string text;
};

/// Longer than one read of a stream, so that another read follows.
const std::string kLong(20'000, '#');

Arguments run_with(const Arguments& more) {
  return tiny_run("run", joined({"-o", "run.h5"}, more));
}

Arguments price_on(const Arguments& more) {
  return joined({"price", "--batch", "16", "--workers", "4"}, more);
}

std::vector<Reader> readers() {
  const std::string sizes = "parameters = 1000\nbatch = 16\nforward = 1\nbackward = 2\n";
  const std::string rows = "nodes,gpus,bytes,seconds\n1,2,1000,0.1\n2,2,1000,0.1\n2,2,100000,0.2\n";
  std::string words, libsvm;
  for (int i = 0; i < 9000; ++i) words += "word" + std::to_string(i) + "\n";
  for (int i = 0; i < 3000; ++i) libsvm += (i % 2 == 0 ? "+1 1:1 3:2\n" : "-1 2:1\n");
  const Arguments text_run = {"run",     "--model", "ngram", "--data", "text",      "--steps", "1",
                              "--batch", "2",       "-o",    "run.h5", "--workers", "1",       "--data.path"};
  return {
      {"config", run_with({"--config", "input"}), kLong + "\nsteps = 3\n" + kLong + "\nseed = 4\n"},
      {"deepspeed", run_with({"--deepspeed-config", "input"}),
       "{\"optimizer\": {\"type\": \"Adam\"," + std::string(20'000, ' ') + "\"params\": {\"lr\": 0.01}}}"},
      {"cluster", price_on({"--workload", "bert-large", "--cluster", "./input.ini"}),
       kLong + "\nnic.nominal = 1e9\nnic.effective = 1e9\nnodes = 2\n" + kLong + "\ngpus-per-node = 2\n"},
      {"workload", price_on({"--workload", "./input.ini", "--cluster", "eth10"}), sizes + kLong + "\ndoc = more\n"},
      {"measurements", {"price", "--calibrate", "input", "--cluster", "eth10"}, rows + kLong + "\n2,2,900,0.2\n"},
      {"text", joined(text_run, {"input"}), words},
      {"libsvm",
       {"run", "--model", "logistic", "--data", "libsvm", "--data.path", "input", "--steps", "1", "-o", "run.h5"},
       libsvm},
  };
}

std::string file_of(const Reader& reader) {
  for (const std::string& word : reader.command) {
    if (word == "./input.ini") return "input.ini";
  }
  return "input";
}

void check_one_line(const Outcome& run, const std::string& why) {
  CAPTURE(run.out, run.err, run.status);
  CHECK((run.status == 1 || run.status == 2));
  CHECK_THAT(run.err, StartsWith("onebit: error: ") && Contains("input") && Contains(why));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("reading: the commands that the other cases break are fine by themselves") {
  for (const Reader& reader : readers()) {
    const Folder folder;
    write_file(folder / file_of(reader), reader.text);
    const Outcome run = run_onebit(folder, reader.command);
    CAPTURE(reader.what, run.err);
    CHECK(run.status == 0);
  }
}

TEST_CASE("reading: a read that fails is an error, whichever file and whichever read it is") {
  ONEBIT_SKIP_UNLESS(!kSanitized, "sanitizer", "it wants to be loaded first");
  const Variable preload("LD_PRELOAD", ONEBIT_INJECTOR);
  for (const Reader& reader : readers()) {
    for (const char* number : {"1", "2", "3"}) {
      const Folder folder;
      write_file(folder / file_of(reader), reader.text);
      const Variable under("ONEBIT_FAULT_UNDER", std::filesystem::canonical(folder / file_of(reader)).string());
      const Variable fault("ONEBIT_FAULT", std::string("read:") + number + ":EIO");
      const Outcome run = run_onebit(folder, reader.command);
      CAPTURE(reader.what, number, run.out, run.err, run.status);
      const bool reads_less = run.status == 0 && std::string(number) == "3";
      if (!reads_less) check_one_line(run, "Input/output error");
      if (!reads_less) CHECK_FALSE(std::filesystem::exists(folder / "run.h5"));
    }
  }
}

TEST_CASE("reading: a FIFO, a device and a sparse file without end are refused at once") {
  for (const Reader& reader : readers()) {
    const Folder folder;
    const std::string path = folder / file_of(reader);
    CAPTURE(reader.what);
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    check_one_line(run_onebit(folder, reader.command), reader.what == "text" ? "" : "not a regular file but a pipe");
    std::filesystem::remove(path);
    std::filesystem::create_symlink("/dev/zero", path);
    check_one_line(run_onebit(folder, reader.command), reader.what == "text" ? "" : "not a regular file but a device");
    std::filesystem::remove(path);
    write_file(path, "");
    REQUIRE(truncate(path.c_str(), off_t{1} << 40) == 0);
    check_one_line(run_onebit(folder, reader.command), reader.what == "text" ? "" : "exceed the limit");
  }
}

TEST_CASE("reading: what a pipe gives is to be written to a file first") {
  const Outcome run = run_in(
      Folder(),
      {"bash", "-c", std::string("'") + ONEBIT_PROGRAM + "' run --config <(echo steps = 3) --dry-run </dev/null"});
  CAPTURE(run.out);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("cannot read config file: not a regular file but a pipe (/dev/fd/") &&
                          Contains("write the pipe's output to a file first"));
}

TEST_CASE("reading: a small packed file takes no more memory than the examples that it holds") {
  ONEBIT_SKIP_UNLESS(!kSanitized, "plain memory", "a sanitizer takes memory of its own");
  struct Bomb {
    std::string begin, filler;  ///< what the file begins with, as printf takes it, and the character that fills it
    Arguments command;
    int status;
    std::string error;
    double kept = 0;  ///< bytes of the examples
  };
  const std::string tokens = "1BTOKENS\\1\\0\\0\\0\\1\\0\\0\\0\\377\\0\\0\\0\\0\\0\\0\\0\\100\\0\\0\\0\\0\\0\\0\\0";
  const std::string images = "\\0\\0\\10\\3\\0\\0\\0\\2\\0\\0\\0\\2\\0\\0\\0\\2";
  const std::vector<Bomb> bombs = {
      {"1 1:2\\n2 2:3\\n", "\\n", {"--model", "softmax", "--data", "libsvm", "--data.path", "bomb"}, 0, ""},
      {images, "\\0", {"--model", "softmax", "--data", "idx", "--data.path", "bomb,bomb"}, 2, "trailing bytes"},
      {tokens, "\\0", {"--data", "tokens", "--data.path", "bomb"}, 2, "trailing bytes"},
      {"a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a ",
       " ",
       {"--data.path", "bomb", "--data.vocabulary", "pieces", "--model.context", "2"},
       0,
       ""},
      {"text", "a", {"--data.path", "bomb"}, 0, "", 100e6}};
  for (const Bomb& bomb : bombs) {
    const Folder folder;
    write_file(folder / "pieces", "[UNK]\na\n");
    const std::string fill = "head -c 100000000 /dev/zero | tr '\\0' '" + bomb.filler + "'";
    const std::string pack = "(printf '" + bomb.begin + "'; " + fill + ") | gzip -1 >bomb";
    REQUIRE(run_in(folder, {"bash", "-c", pack}).status == 0);
    const Outcome run = run_onebit(
        folder, joined({"run", "--steps", "2", "--workers", "1", "--batch", "1", "--dry-run"}, bomb.command));
    CAPTURE(bomb.command, run.err, run.peak_bytes);
    CHECK(run.status == bomb.status);
    CHECK_THAT(run.err, Contains(bomb.error));
    CHECK(run.peak_bytes < 60e6 + bomb.kept);
  }
}
