// Every error gives one line that says what is wrong and where, an exit status, and leaves no file behind.

#include "tests/experiments/program.hpp"

#include "experiments/options/options.hpp"
#include "sim/log/reader.hpp"
#include "tests/small_disk.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

void check_line(const Outcome& run, int status, const std::vector<std::string>& needles) {
  CAPTURE(run.out, run.err);
  CHECK(run.status == status);
  CHECK_THAT(run.err, StartsWith("onebit: error: "));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(run.err.back() == '\n');
  for (const std::string& needle : needles) CHECK_THAT(run.err, Contains(needle));
}

/// Runs the program and expects one line with all of `needles`, nothing on stdout, and an unchanged folder.
void check_error(const Folder& folder, const Arguments& arguments, const std::vector<std::string>& needles,
                 int status = kUsage) {
  const auto before = entries(folder);
  const Outcome run = run_onebit(folder, arguments);
  check_line(run, status, needles);
  CHECK(run.out.empty());
  CHECK(entries(folder) == before);
}

void check_error(const Arguments& arguments, const std::vector<std::string>& needles) {
  check_error(Folder(), arguments, needles);
}

Arguments run_with(const Arguments& more) {
  return tiny_run("run", joined({"-o", "run.h5"}, more));
}

/// A small pair of IDX files: 20 images of 2 x 2.
std::string idx_images() {
  return std::string("\0\0\x08\x03\0\0\0\x14\0\0\0\2\0\0\0\2", 16) + std::string(80, 'i');
}
std::string idx_labels() {
  std::string text("\0\0\x08\x01\0\0\0\x14", 8);
  for (int i = 0; i < 20; ++i) text += static_cast<char>(i % 3);
  return text;
}

Arguments idx_run() {
  return {"run", "--model", "softmax", "--data", "idx", "--data.path", "images,labels", "--steps", "3", "-o", "run.h5"};
}

}  // namespace

TEST_CASE("errors: the run that the other cases break is fine by itself") {
  const Folder folder;
  const Outcome run = run_onebit(folder, run_with({}));
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK_THAT(run.out, Contains("finished"));
  CHECK(entries(folder) == std::set<std::string>{folder / "run.h5"});
}

TEST_CASE("errors: an unknown command") {
  check_error({"rnu"}, {"rnu", "run"});
  check_error({""}, {"unknown command ('')"});
}

TEST_CASE("errors: no command at all shows the help, as an error") {
  const Outcome run = run_onebit(Folder(), {});
  CHECK(run.status == kUsage);
  CHECK_THAT(run.out, Contains("usage: onebit COMMAND"));
}

TEST_CASE("errors: a misspelt option") {
  check_error(run_with({"--optimizer.weight", "0.1"}), {"--optimizer.weight", "optimizer.weight-decay"});
  check_error(run_with({"--step", "9"}), {"--step", "did you mean --steps?"});
  check_error(run_with({"--Workers", "9"}), {"--Workers", "workers"});
  check_error(run_with({"-x"}), {"x"});
}

TEST_CASE("errors: an option of another command") {
  check_error(run_with({"--seeds", "2"}), {"option of another command", "--seeds"});
  check_error({"list", "--workers", "2"}, {"option of another command", "--workers"});
  check_error({"export", "log.h5", "-o", "rows.csv", "--json"}, {"option of another command", "--json"});
  check_error({"compare", "--target", "1"}, {"option of another command", "--target"});
}

TEST_CASE("errors: a run that is asked to compress and does not says so") {
  const Folder folder;
  const Outcome idle = run_onebit(folder, tiny_run("run", {"--codec", "qsgd", "--feedback", "ef", "-o", "a.h5"}));
  CHECK(idle.status == 0);
  CHECK(idle.err == "onebit: warning: --codec, --feedback have no effect with --optimizer adam\n");
  const Outcome kept = run_onebit(folder, tiny_run("run", {"--feedback.dtype", "bf16", "-o", "c.h5"}));
  CHECK(kept.err == "onebit: warning: --feedback.dtype has no effect with --optimizer adam\n");
  const Outcome used = run_onebit(folder, tiny_run("run", {"--optimizer", "ef-sgd", "--codec", "qsgd", "-o", "b.h5"}));
  CHECK(used.err.empty());
}

TEST_CASE("errors: an option without a value, and a value without an option") {
  check_error(run_with({"--workers"}), {"workers"});
  check_error(run_with({"stray"}), {"stray"});
}

TEST_CASE("errors: a misspelt optimizer, model, codec, data source or schedule") {
  check_error(run_with({"--optimizer", "adm"}), {"adm", "did you mean adam?"});
  check_error(run_with({"--model", "mlpp"}), {"mlpp", "did you mean mlp?"});
  check_error(run_with({"--optimizer", "onebit-adam", "--freeze", "fixed:2", "--codec", "sing-l2"}),
              {"sing-l2", "did you mean sign-l2"});
  check_error(run_with({"--optimizer", "onebit-adam", "--freeze", "fixed:2", "--codec.down", "sing-l1"}),
              {"sing-l1", "did you mean sign-l1"});
  check_error(run_with({"--data", "syntetic"}), {"syntetic", "did you mean synthetic?"});
  check_error(run_with({"--schedule", "cosin"}), {"cosin", "did you mean cosine?"});
}

TEST_CASE("errors: a misspelt preset, device or list") {
  check_error({"run", "--preset", "quikstart", "-o", "run.h5"}, {"quikstart", "did you mean quickstart?"});
  check_error(run_with({"--devices", "cup"}), {"cup", "cpu"});
  check_error(run_with({"--devices", "cpu:0"}), {"cpu:0", "cpu:2"});
  check_error(run_with({"--devices", "cpu:2"}), {"2 devices, 2 workers", "at most 1 devices"});
  check_error(run_with({"--devices", "cuda:99"}), {"cuda"});
  check_error({"list", "optimisers"}, {"optimisers", "did you mean optimizers?"});
}

TEST_CASE("errors: a missing IDX file") {
  const Folder folder;
  check_error(folder, joined(idx_run(), {"--data.path", "absent"}), {"no such file or folder (absent)", "--data.path"});
  check_error(folder, idx_run(), {"images"});
  write_file(folder / "images", idx_images());
  check_error(folder, idx_run(), {"labels"});
}

TEST_CASE("errors: a truncated IDX file") {
  const Folder folder;
  write_file(folder / "images", idx_images());
  write_file(folder / "labels", idx_labels());
  REQUIRE(run_onebit(folder, joined(idx_run(), {"-o", "fine.h5"})).status == 0);
  for (const std::size_t bytes : {90u, 16u, 10u, 3u, 0u}) {
    CAPTURE(bytes);
    write_file(folder / "images", idx_images().substr(0, bytes));
    check_error(folder, idx_run(), {"images"});
  }
  write_file(folder / "images", idx_images());
  write_file(folder / "labels", idx_labels().substr(0, 20));
  check_error(folder, idx_run(), {"labels"});
}

TEST_CASE("errors: a text folder without readable text") {
  const Folder folder;
  std::filesystem::create_directory(folder / "texts");
  const Arguments run = {"run", "--model", "ngram", "--data", "text", "--data.path", "texts", "-o", "run.h5"};
  check_error(folder, run, {"no readable text", "texts"});
  write_file(folder / "texts/binary", std::string("a\0b", 3));
  write_file(folder / "texts/.hidden", std::string(5000, 'h'));
  check_error(folder, run, {"no readable text", "texts"});
  check_error(folder, joined(run, {"--data.path", "absent"}), {"absent"});
}

TEST_CASE("errors: damaged files of every source") {
  const Folder folder;
  write_file(folder / "damaged", "1 2:3 1:4\n");
  const auto damaged = [&](const std::string& model, const std::string& source, const std::string& reason) {
    check_error(folder, {"run", "--model", model, "--data", source, "--data.path", "damaged", "-o", "run.h5"},
                {"damaged, offset ", reason});
  };
  damaged("softmax", "libsvm", "line 1: indices must increase");
  damaged("softmax", "cifar10", "truncated: 10 of 3073 bytes");
  damaged("softmax", "cifar100", "truncated: 10 of 3074 bytes");
  damaged("ngram", "tokens", "the file has no header");
  write_file(folder / "text", std::string(200, 'a'));
  check_error(folder,
              {"run", "--model", "ngram", "--data", "text", "--data.path", "text", "--data.vocabulary", "damaged", "-o",
               "run.h5"},
              {"damaged, offset 10", "no piece [UNK]"});
}

TEST_CASE("errors: an impossible split of the data") {
  check_error(run_with({"--data.split", "dirichlet:0"}), {"--data.split dirichlet:0", "A from 1e-6"});
  check_error(run_with({"--data.split", "labels"}), {"--data.split labels", "label"});
  check_error(run_with({"--data.split", "label", "--workers", "500"}), {"500 workers", "--data.split label"});
  const Folder folder;
  write_file(folder / "text", std::string(200, 'a'));
  check_error(
      folder,
      {"run", "--model", "ngram", "--data", "text", "--data.path", "text", "--data.split", "label", "-o", "run.h5"},
      {"no labels to split by", "--data.split label"});
}

TEST_CASE("errors: data options out of range") {
  check_error(run_with({"--data.mmap", "maybe"}), {"data.mmap", "maybe", "auto"});
  check_error(run_with({"--data.standardise", "2"}), {"data.standardise", "auto"});
  check_error(run_with({"--data.token-bytes", "5"}), {"data.token-bytes 5", "from 0 to 4"});
  check_error(run_with({"--data.lowercase", "maybe"}), {"data.lowercase", "maybe"});
  check_error(run_with({"--data.features", "-1"}), {"--data.features"});
  check_error(run_with({"--data.test", "some-file"}), {"--data.test"});
}

TEST_CASE("errors: options of other models and data sources") {
  check_error(run_with({"--model.norm", "batch"}), {"no effect (--model.norm with --model mlp)", "resnet18, resnet20"});
  check_error({"run", "--model", "quadratic", "--model.precision", "bf16", "--steps", "3", "-o", "run.h5"},
              {"no effect (--model.precision with --model quadratic)", "softmax, logistic, mlp"});
  check_error(run_with({"--data.mmap", "true"}), {"no effect (--data.mmap with --data synthetic)", "text, idx"});
  check_error({"run", "--model", "quadratic", "--data.split", "label", "--steps", "3", "-o", "run.h5"},
              {"no effect (--data.split with --data none)", "synthetic"});
  check_error({"run", "--model", "ngram", "--data", "text", "--data.lowercase", "true", "-o", "run.h5"},
              {"--data.lowercase", "--data.vocabulary"});
  CHECK(run_onebit(Folder(), run_with({"--model.norm", "group", "--data.mmap", "auto"})).status == 0);
}

TEST_CASE("errors: an impossible number of workers") {
  check_error(run_with({"--workers", "0"}), {"workers 0", "from 1"});
  check_error(run_with({"--workers", "-1"}), {"workers", "-1"});
  check_error(run_with({"--workers=-1"}), {"workers -1"});
  check_error(run_with({"--workers", "99999999999999999999"}), {"workers", "99999999999999999999"});
  check_error(run_with({"--worker-group", "3"}), {"worker-group 3", "to 2"});
  check_error(run_with({"--accumulation", "0"}), {"accumulation 0", "from 1"});
}

TEST_CASE("errors: malformed whole numbers") {
  for (const std::string value : {"", "2.5", "1e3", "two", "2 ", "0x10", "nan"}) {
    CAPTURE(value);
    check_error(run_with({"--workers=" + value}), {"workers", value});
  }
  check_error(run_with({"--model.layers", "4,,3"}), {"model.layers"});
  check_error(run_with({"--seed", "-1"}), {"seed -1"});
  check_error(run_with({"--threads", "-1"}), {"threads"});
}

TEST_CASE("errors: a learning rate that is not a number") {
  for (const std::string value : {"nan", "NaN", "inf", "-inf", "abc", "1e-3x", "", "1e999"}) {
    CAPTURE(value);
    check_error(run_with({"--optimizer.lr=" + value}), {"optimizer.lr", value});
  }
  check_error(run_with({"--optimizer.lr=-1"}), {"optimizer.lr"});
  check_error(run_with({"--optimizer.beta1=1"}), {"optimizer.beta1"});
}

TEST_CASE("errors: malformed booleans and unknown words") {
  check_error(run_with({"--optimizer.bias-correction", "maybe"}), {"optimizer.bias-correction", "maybe", "true"});
  check_error(run_with({"--optimizer.bias-correction="}), {"optimizer.bias-correction"});
  check_error(run_with({"--optimizer.semantics", "papers"}), {"optimizer.semantics", "papers", "deepspeed"});
  check_error(run_with({"--feedback", "true"}), {"feedback", "true", "none"});
  check_error(run_with({"--model.precision", "fp16"}), {"(model.precision 'fp16'); expected: bf16, fp32, tf32"});
}

TEST_CASE("errors: hyper-parameters of optimizers and codecs that are not numbers", "[once]") {
  for (const std::string option :
       {"optimizer.momentum", "optimizer.max-coeff", "optimizer.min-coeff", "optimizer.coeff-beta",
        "optimizer.factor-max", "optimizer.factor-min", "optimizer.factor-threshold", "optimizer.outer-lr",
        "optimizer.outer-momentum", "optimizer.cada-threshold", "optimizer.ef21-momentum", "codec.k", "codec.threshold",
        "codec.clip", "codec.sample", "codec.min-rate"}) {
    CAPTURE(option);
    check_error(run_with({"--" + option + "=nan"}), {option, "nan", "a finite number"});
    check_error(run_with({"--" + option + "=1x"}), {option, "1x", "a finite number"});
  }
  for (const std::string option :
       {"optimizer.var-freeze-step", "optimizer.var-update-scaler", "optimizer.local-step-scaler",
        "optimizer.local-step-clipper", "optimizer.local-period", "optimizer.cada-window", "optimizer.cada-delay",
        "optimizer.ramp", "codec.levels", "codec.rank", "codec.block", "codec.renew", "codec.sketch-rows",
        "codec.sketch-columns", "codec.dense-steps"}) {
    CAPTURE(option);
    check_error(run_with({"--" + option + "=2.5"}), {option, "2.5", "a whole number"});
  }
}

TEST_CASE("errors: unknown choices and malformed patterns of optimizers, codecs and channels") {
  for (const std::string option : {"optimizer.nesterov", "codec.scaled", "codec.shared", "codec.warm-start"}) {
    CAPTURE(option);
    check_error(run_with({"--" + option, "maybe"}), {option, "maybe", "true or false"});
  }
  check_error(run_with({"--codec.norm", "l3"}), {"codec.norm", "l3", "l2, max"});
  check_error(run_with({"--codec.packing", "zip"}), {"codec.packing", "zip", "delta, elias, none"});
  check_error(run_with({"--channel", "ring"}), {"channel", "ring", "gather"});
  check_error(run_with({"--optimizer.no-decay", "a,,b"}), {"optimizer.no-decay", "patterns"});
  check_error(run_with({"--codec.dense", ",a"}), {"codec.dense", "patterns"});
  check_error(run_with({"--codec.ranks", "2"}), {"--codec.ranks", "did you mean --codec.rank?"});
}

TEST_CASE("errors: parameters of codecs out of range, whatever the optimizer") {
  check_error(run_with({"--codec", "power-sgd", "--codec.rank", "0"}), {"codec.rank 0", "out of range", "from 1"});
  check_error(run_with({"--codec", "power-sgd", "--codec.rank=-2"}), {"codec.rank -2", "out of range"});
  check_error(run_with({"--codec.min-rate=-1"}), {"codec.min-rate -1", "out of range", "at least 0"});
  check_error(run_with({"--codec.dense-steps=-1"}), {"codec.dense-steps -1", "out of range", "from 0"});
}

TEST_CASE("errors: patterns that fit no tensor, and a codec unfit for its channel") {
  const auto refused = [](const Arguments& more, const std::vector<std::string>& needles) {
    check_error(run_with(joined({"--optimizer", "onebit-adam", "--freeze", "fixed:2"}, more)), needles);
  };
  refused({"--codec.dense", "norm*"}, {"codec.dense norm*", "layer1.weight"});
  refused({"--channel", "linear"}, {"sign-l2", "channel linear", "added up"});
  check_error(run_with({"--optimizer", "onebit-lamb", "--codec", "power-sgd"}), {"power-sgd", "fused"});
  refused({"--feedback.dtype", "fp16"}, {"malformed", "feedback.dtype 'fp16'", "bf16, fp32, int8"});
  refused({"--feedback.dtype", "bf16", "--codec", "terngrad", "--feedback", "ef"}, {"all workers at once", "terngrad"});
  refused({"--feedback.dtype", "int8", "--feedback", "none"}, {"keep no errors", "feedback.dtype int8"});
  check_error(run_with({"--optimizer", "dgc", "--feedback.dtype", "int8"}), {"dgc", "feedback.dtype int8", "use bf16"});
}

TEST_CASE("errors: options that an algorithm fixes") {
  check_error(run_with({"--optimizer", "signsgd", "--codec", "top-k"}), {"determines this option", "codec", "signsgd"});
  check_error(run_with({"--optimizer", "onebit-sgd", "--codec.down", "fp16"}), {"codec.down", "onebit-sgd"});
  check_error(run_with({"--optimizer", "signum", "--feedback", "ef"}), {"feedback", "signum"});
  check_error(run_with({"--optimizer", "dgc", "--codec", "sign-l2"}), {"dgc needs a sparse codec", "sign-l2"});
  check_error(run_with({"--optimizer", "dgc", "--codec", "threshold", "--optimizer.ramp", "5"}), {"ramp", "threshold"});
  check_error(run_with({"--optimizer", "ef21", "--feedback", "none"}), {"ef21", "feedback none"});
  check_error(run_with({"--optimizer", "signsgd", "--feedback.dtype", "bf16"}), {"keep no errors", "feedback.dtype"});
}

TEST_CASE("errors: every hyper-parameter out of its range, whatever the optimizer", "[once]") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> out_of_range = {
      {"optimizer.lr", {"0", "-1"}},
      {"optimizer.beta1", {"-0.1", "1"}},
      {"optimizer.beta2", {"-0.1", "1"}},
      {"optimizer.eps", {"0", "-1e-8"}},
      {"optimizer.momentum", {"-0.1", "1"}},
      {"optimizer.weight-decay", {"-1"}},
      {"optimizer.clip", {"-1"}},
      {"optimizer.max-coeff", {"0", "0.001"}},
      {"optimizer.min-coeff", {"-1", "11"}},
      {"optimizer.coeff-beta", {"-0.1", "1"}},
      {"optimizer.factor-max", {"0", "0.1"}},
      {"optimizer.factor-min", {"-1", "5"}},
      {"optimizer.factor-threshold", {"0", "1"}},
      {"optimizer.var-freeze-step", {"0", "-1"}},
      {"optimizer.var-update-scaler", {"0", "-1"}},
      {"optimizer.local-step-scaler", {"0", "-1"}},
      {"optimizer.local-step-clipper", {"0", "-1"}},
      {"optimizer.local-period", {"0", "-1"}},
      {"optimizer.outer-lr", {"0", "-1"}},
      {"optimizer.outer-momentum", {"-0.1", "1"}},
      {"optimizer.cada-threshold", {"-1"}},
      {"optimizer.cada-window", {"0", "-1"}},
      {"optimizer.cada-delay", {"0", "-1"}},
      {"optimizer.ef21-momentum", {"0", "1.1"}},
      {"optimizer.ramp", {"-1"}},
      {"freeze.threshold", {"0", "1.1"}},
      {"freeze.lag", {"-1"}},
      {"freeze.after", {"-1"}},
      {"freeze.dwell", {"-1"}},
      {"optimizer.variance-floor", {"-1", "mean:x"}},
      {"optimizer.variance-refresh", {"-1", "1"}},
  };
  std::vector<std::string> words = {"optimizer.nesterov",  "optimizer.no-decay",    "optimizer.bias-correction",
                                    "optimizer.semantics", "optimizer.granularity", "freeze.scope"};
  for (const experiments::RunOption& option : experiments::run_options()) {
    if (!option.name.starts_with("optimizer.") && !option.name.starts_with("freeze.")) continue;
    const auto found = std::find_if(out_of_range.begin(), out_of_range.end(),
                                    [&](const auto& entry) { return entry.first == option.name; });
    const bool word = std::find(words.begin(), words.end(), option.name) != words.end();
    CAPTURE(option.name);
    CHECK((found != out_of_range.end()) != word);  // no option is forgotten
  }
  for (const auto& [option, values] : out_of_range) {
    for (const std::string& value : values) check_error(run_with({"--" + option, value}), {option});
  }
}

TEST_CASE("errors: every parameter of a codec out of its range", "[once]") {
  const std::vector<std::vector<std::string>> out_of_range = {
      {"top-k", "codec.k", "0"},
      {"top-k", "codec.k", "1.5"},
      {"top-k", "codec.k", "-3"},
      {"random-k", "codec.k", "0"},
      {"dct", "codec.k", "0"},
      {"count-sketch", "codec.k", "2.5"},
      {"qsgd", "codec.levels", "0"},
      {"qsgd", "codec.levels", "40000"},
      {"power-sgd", "codec.rank", "0"},
      {"int8", "codec.block", "-1"},
      {"int4", "codec.block", "-1"},
      {"fp8-e4m3", "codec.block", "-1"},
      {"qsgd", "codec.block", "-1"},
      {"threshold", "codec.threshold", "-0.1"},
      {"dct", "codec.renew", "0"},
      {"terngrad", "codec.clip", "-1"},
      {"top-k", "codec.packing", "elias"},
      {"qsgd", "codec.packing", "delta"},
      {"top-k-sampled", "codec.sample", "0"},
      {"top-k-sampled", "codec.sample", "1.1"},
      {"count-sketch", "codec.sketch-rows", "0"},
      {"count-sketch", "codec.sketch-rows", "32"},
      {"count-sketch", "codec.sketch-columns", "-1"},
  };
  for (const std::vector<std::string>& bad : out_of_range) {
    check_error(run_with({"--optimizer", "ef-sgd", "--codec", bad[0], "--" + bad[1], bad[2]}), {bad[1], bad[2]});
  }
}

TEST_CASE("errors: a freeze that the run never reaches, or that is malformed") {
  const auto frozen = [](const std::string& freeze) {
    return run_with({"--optimizer", "onebit-adam", "--freeze", freeze});
  };
  check_error(frozen("fixed:6"), {"freeze fixed:6", "never reach"});
  check_error(frozen("fixed:0"), {"freeze fixed:0"});
  check_error(frozen("fixed:"), {"freeze fixed:", "malformed"});
  check_error(frozen("fixed:2.5"), {"freeze fixed:2.5"});
  check_error(frozen("fraction:1"), {"freeze fraction:1"});
  check_error(frozen("fraction:nan"), {"freeze fraction:nan"});
  check_error(frozen("auto"), {"freeze auto", "never reach", "--freeze.lag"});
  check_error(frozen("sometimes"), {"freeze sometimes", "fixed:K"});
}

TEST_CASE("errors: layers that do not fit the data") {
  check_error(run_with({"--model.layers", "5,3"}), {"model.layers", "must be 4"});
  check_error({"run", "--model", "ngram", "--data", "synthetic", "-o", "run.h5"}, {"ngram", "synthetic"});
}

TEST_CASE("errors: an output that has to exist, without its name") {
  check_error(tiny_run("run", {"--resume"}), {"no output named (run --resume)", "-o"});
  check_error(tiny_run("compare", {"--resume"}), {"no output named (compare --resume)", "-o"});
  check_error(tiny_run("sweep", {"--axis", "batch=1,2", "--extend"}), {"no output named (sweep --extend)", "-o"});
  check_error(tiny_run("sweep", {"--axis", "batch=1,2", "--shard", "0/2"}), {"no output named (sweep --shard)", "-o"});
}

TEST_CASE("errors: no name for an output, and the name of an option in its place") {
  check_error(run_with({"-o", "-"}), {"not a name for an output (-o '-')", "./-"});
  check_error(tiny_run("run", {"-o", "--resume"}), {"no value for option --out (--resume)"});
  check_error(run_with({"-overwrite"}), {"two dashes (-overwrite)", "write --overwrite"});
  check_error(run_with({"-o", "folder/"}), {"the name of a folder (folder/)"});
}

TEST_CASE("errors: an option before the command, or no command that is known") {
  check_error({"--steps", "5"}, {"the command is missing (--steps)", "onebit COMMAND"});
  check_error({"-v"}, {"the command is missing (-v)"});
  check_error({"help", "rnu"}, {"unknown command ('rnu')", "run"});
}

TEST_CASE("errors: the file system's own errors have the form of all others") {
  const std::string name(300, 'a');
  check_error(Folder(), {"analyze", name}, {"File name too long (aaa", "check its name"}, kFailed);
  const Outcome run = run_onebit(Folder(), {"analyze", name});
  CHECK_THAT(run.err, !Contains("filesystem error"));
}

TEST_CASE("errors: output that cannot be written") {
  const Folder folder;
  write_file(folder / "file", "a file, not a folder");
  check_error(folder, run_with({"-o", "file/run.h5"}), {"file/run.h5"});
  check_error(folder, run_with({"-o", "absent/run.h5"}), {"no such folder (absent)", "make it"});
  check_error(folder, run_with({"-o", "."}), {"."});
  check_error(folder, tiny_run("compare", {"-o", "file"}), {"file"});
  check_error(folder, tiny_run("compare", {"-o", "file/below"}), {"file/below"});
}

TEST_CASE("errors: output that exists is not replaced without --overwrite") {
  const Folder folder;
  write_file(folder / "run.h5", "mine");
  check_error(folder, run_with({}), {"run.h5", "--overwrite"});
  CHECK(read_file(folder / "run.h5") == "mine");
  std::filesystem::create_directory(folder / "out");
  write_file(folder / "out/onebit-adam-1.h5", "mine");
  check_error(folder, tiny_run("compare", {"-o", "out", "--optimizers", "adam,onebit-adam", "--freeze", "fixed:2"}),
              {"out/onebit-adam-1.h5", "--overwrite"});
  CHECK(read_file(folder / "out/onebit-adam-1.h5") == "mine");
  CHECK(run_onebit(folder, run_with({"--overwrite"})).status == 0);
  CHECK(read_file(folder / "run.h5") != "mine");
}

TEST_CASE("errors: a disk that is full from the start") {
  const SmallDisk disk("4k");
  ONEBIT_SKIP_UNLESS(disk.mounted(), "tmpfs", "cannot mount a small tmpfs (not root?)");
  check_error(disk.folder(), run_with({}), {"run.h5", "No space left"}, kFailed);
}

TEST_CASE("errors: a disk that becomes full keeps what was committed") {
  const SmallDisk disk("1m");
  ONEBIT_SKIP_UNLESS(disk.mounted(), "tmpfs", "cannot mount a small tmpfs (not root?)");
  const Outcome run = run_onebit(disk.folder(), run_with({"--steps", "20000", "--log.flush", "0"}));
  check_line(run, kFailed, {"run.h5", "No space left"});
  CHECK_THAT(run.out,
             Catch::Matchers::Contains("(see --dry-run)") && !Catch::Matchers::Contains("finished"));  // the plan
  const Folder elsewhere;
  const Outcome shown = run_onebit(elsewhere, {"inspect", disk.folder() / "run.h5", "--json"});
  CHECK(shown.status == 0);
  CHECK(std::stol(json_value(shown.out, "steps")) > 10);
}

TEST_CASE("errors: a config file that is missing or holds junk") {
  const Folder folder;
  const Arguments run = run_with({"--config", "c.ini"});
  check_error(folder, run, {"cannot read config file", "c.ini"});
  const auto refused = [&](const std::string& content, const std::vector<std::string>& needles) {
    CAPTURE(content);
    write_file(folder / "c.ini", content);
    check_error(folder, run, needles);
  };
  refused("just words\n", {"c.ini"});
  refused("wrokers = 3\n", {"c.ini", "wrokers", "did you mean workers?"});
  refused("[optimizer]\nlearning = 3\n", {"c.ini", "optimizer.learning"});
  refused("[optimizer\nlr = 3\n", {"c.ini", "line is not understood: [optimizer"});
  refused("%invalid_line% %option%\n", {"c.ini", "line is not understood: %invalid_line% %option%"});
  refused("%canonical_option% = 3\n", {"c.ini", "unknown option", "%canonical_option%"});
  refused(std::string(1'000'000, 'a'), {"c.ini", "line is not understood: aaa"});
  refused(std::string(1'000'000, 'a') + " = 1", {"unknown option", "c.ini: aaa", "aaa ... aaa", "nearest: "});
  refused("batch = many\n", {"batch", "many"});
  refused("config = other.ini\n", {"c.ini", "config"});
  refused("arm = a:optimizer=adam\n", {"c.ini", "arm"});
  refused(std::string("\x7f\x45\x4c\x46\x02\x00\xff\xfe", 8), {"c.ini"});
}

TEST_CASE("errors: a DeepSpeed configuration that is missing, junk, or given twice") {
  const Folder folder;
  const auto run = [](const std::string& path) { return run_with({"--deepspeed-config", path}); };
  check_error(folder, run("ds.json"), {"ds.json", "cannot read"});
  check_error(folder, run("."), {"cannot read DeepSpeed configuration"});
  write_file(folder / "ds.json", "{\"optimizer\":\n {\"type\"");
  check_error(folder, run("ds.json"), {"malformed JSON", "ds.json line 2"});
  write_file(folder / "ds.json", R"({"optimizer": {"type": "Adam", "params": {"lr": "auto"}}})");
  check_error(folder, run("ds.json"), {"ds.json: optimizer.params.lr", "auto"});
  write_file(folder / "ds.json", R"({"optimizer": {"type": "Adam", "params": {"lr": -1}}})");
  check_error(folder, run("ds.json"), {"optimizer.lr -1", "out of range"});
  write_file(folder / "ds.json", R"({"optimizer": {"type": "Adam"}})");
  check_error(folder, joined(run("ds.json"), {"--deepspeed-config", "ds.json"}), {"--deepspeed-config given twice"});
  write_file(folder / "c.ini", "deepspeed-config = ds.json\n");
  check_error(folder, run_with({"--config", "c.ini"}), {"c.ini", "deepspeed-config"});
}

TEST_CASE("errors: a malformed arm") {
  const auto compare = [](const std::string& arm) { return tiny_run("compare", {"-o", "out", "--arm", arm}); };
  check_error(compare("adam"), {"malformed arm", "adam", "name:key=value"});
  check_error(compare("a:optimizer"), {"malformed arm", "a:optimizer"});
  check_error(compare("a/b:optimizer=adam"), {"arm name", "a/b"});
  check_error(compare(":optimizer=adam"), {"arm name"});
  check_error(compare("..:optimizer=adam"), {"arm name", ".."});
  check_error(compare("a:optimizr=adam"), {"optimizr", "did you mean optimizer?"});
  check_error(compare("a:batch=x"), {"batch", "x"});
  check_error(tiny_run("compare", {"-o", "out", "--optimizers", "adam,adam"}), {"duplicate arm name", "adam"});
}

TEST_CASE("errors: an arm that cannot be built stops the comparison before it leaves anything") {
  check_error(tiny_run("compare", {"-o", "out", "--optimizers", "adam,admw"}), {"admw", "adam"});
  check_error(tiny_run("compare", {"-o", "out", "--arm", "a:freeze=fixed:99,optimizer=onebit-adam"}), {"fixed:99"});
  check_error(tiny_run("compare", {"-o", "out", "--seeds", "0"}), {"seeds 0"});
}

TEST_CASE("errors: a log to inspect that is missing, empty, truncated or garbage") {
  const Folder folder;
  check_error(folder, {"inspect"}, {"no log named"});
  check_error(folder, {"inspect", "run.h5"}, {"run.h5"});
  REQUIRE(run_onebit(folder, run_with({})).status == 0);
  const std::string whole = read_file(folder / "run.h5");
  const auto refused = [&](const std::string& content) {
    write_file(folder / "bad.h5", content);
    check_error(folder, {"inspect", "bad.h5"}, {"bad.h5"});
  };
  refused("");
  refused(std::string(100'000, 'g'));
  refused(whole.substr(0, whole.size() / 2));
  refused(whole.substr(0, 40));
  check_error(folder, {"inspect", "."}, {"."});
}

TEST_CASE("errors: a trace to replay that is missing or damaged, and a replay of nothing") {
  const Folder folder;
  check_error(folder, {"replay", "trace.h5", "-o", "params.h5"}, {"trace.h5", "no such file"});
  check_error(folder, {"replay", "trace.h5"}, {"trace.h5", "no such file"});
  check_error(folder, {"replay", "-o", "params.h5"}, {"one trace"});
  write_file(folder / "trace.h5", "no trace");
  check_error(folder, {"replay", "trace.h5", "-o", "params.h5"}, {"trace.h5", "not an HDF5 file"});
}

TEST_CASE("errors: a replay that fails leaves no output, and keeps the one that was there") {
  const bool shared = std::filesystem::exists(shared_path("golden"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const Folder folder;
  const Arguments replay = {"replay", shared_path("golden/deepspeed_n4.h5"), "-o", "params.h5"};
  check_error(folder, joined(replay, {"--optimizer", "adm"}), {"adm", "did you mean adam?"});
  check_error(folder, joined(replay, {"--optimizer", "onebit-adam", "--freeze", "fixed:60"}), {"fixed:60"});
  check_error(folder, joined(replay, {"--reference", "adam"}), {"unknown case", "adam"});
  check_error(folder,
              joined(replay, {"--optimizer", "onebit-adam", "--freeze", "auto", "--freeze.lag", "2",
                              "--freeze.threshold", "1"}),
              {"ended before its compression stage"}, kFailed);
  check_error(folder, joined(replay, {"--optimizer", "cada1"}), {"cannot be replayed", "cada1"});
  write_file(folder / "params.h5", "mine");
  check_error(folder, joined(replay, {"--optimizer", "adm", "--overwrite"}), {"adm"});
  CHECK((read_file(folder / "params.h5") == "mine"));
}

TEST_CASE("errors: a replay does not write over its own trace") {
  const bool shared = std::filesystem::exists(shared_path("golden"));
  ONEBIT_SKIP_UNLESS(shared, "shared", "no golden trajectories");
  const Folder folder;
  std::filesystem::copy(shared_path("golden/torch_n4.h5"), folder / "trace.h5");
  const std::string before = read_file(folder / "trace.h5");
  check_error(folder, {"replay", "trace.h5", "-o", "trace.h5", "--overwrite"}, {"trace.h5"});
  CHECK((read_file(folder / "trace.h5") == before));
}

TEST_CASE("errors: a run that is asked to compress but never does has failed") {
  const Folder folder;
  const Outcome run = run_onebit(folder, run_with({"--optimizer", "onebit-adam", "--freeze", "auto", "--freeze.lag",
                                                   "2", "--freeze.threshold", "1"}));
  check_line(run, kFailed, {"ended before its compression stage", "freeze auto"});
  CHECK_THAT(line_of(run.out, "status"), Contains("failed"));
  const Outcome shown = run_onebit(folder, {"inspect", "run.h5"});
  CHECK(shown.status == 0);
  CHECK_THAT(line_of(shown.out, "status"), Contains("failed") && Contains("ended before its compression stage"));
}

TEST_CASE("errors: a run that diverges has failed, and its log says where") {
  const Folder folder;
  const Outcome run = run_onebit(folder, run_with({"--optimizer.lr", "1e38", "--eval.every", "6"}));
  check_line(run, kFailed, {"step 2", "tensor layer2.bias"});
  CHECK_THAT(line_of(run.out, "status"), Contains("diverged"));
  CHECK(sim::LogReader(folder / "run.h5").status() == sim::RunStatus::diverged);
}
