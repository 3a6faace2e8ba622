// DeepSpeed's configuration as options: what is mapped, reported as ignored or refused, and what takes precedence.

#include "experiments/options/deepspeed_config.hpp"

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "sim/log/reader.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::experiments;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

DeepspeedConfig read(const std::string& json) {
  const Folder folder;
  write_file(folder / "ds.json", json);
  return read_deepspeed_config(folder / "ds.json");
}

/// A configuration with one optimizer.
std::string optimizer(const std::string& type, const std::string& params) {
  return R"({"optimizer": {"type": ")" + type + R"(", "params": {)" + params + "}}}";
}

std::string value_of(const DeepspeedConfig& config, const std::string& option) {
  std::string value = "absent";
  for (const auto& row : config.mapped) {
    if (row.option == option) value = row.value + (row.given ? "" : " by default");
  }
  return value;
}

std::string reason_for(const DeepspeedConfig& config, const std::string& key) {
  for (const auto& row : config.ignored) {
    if (row.key == key) return row.reason;
  }
  return "absent";
}

/// Expects an error of one line that names the file.
void check_refused(const std::string& json, const std::vector<std::string>& needles) {
  CAPTURE(json);
  try {
    read(json);
    FAIL("accepted");
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    CHECK(text.find('\n') == std::string::npos);
    CHECK_THAT(text, Contains("ds.json"));
    for (const std::string& needle : needles) CHECK_THAT(text, Contains(needle));
  }
}

const char* const kOnebit = R"({
  "train_batch_size": 32,
  "train_micro_batch_size_per_gpu": 4,
  "optimizer": {
    "type": "OneBitAdam",
    "params": {"lr": 2e-3, "betas": [0.8, 0.99], "weight_decay": 0.01, "freeze_step": 3, "cuda_aware": false,
               "comm_backend_name": "nccl", "bias_correction": false}
  },
  "gradient_clipping": 1.5,
  "fp16": {"enabled": true},
  "zero_optimization": {"stage": 0},
  "wall_clock_breakdown": false
})";

/// Returns the option's value in the log of a run.
std::string logged(const std::string& path, const std::string& option) {
  const sim::LogReader log(path);
  for (const auto& [name, value] : log.header().config) {
    if (name == option) return value;
  }
  return "absent";
}

Arguments short_run(const Arguments& more) {
  return joined({"run", "--model", "softmax", "--data", "synthetic", "--data.examples", "200", "--workers", "2",
                 "--steps", "6", "-o", "run.h5", "--overwrite", "--deepspeed-config", "ds.json"},
                more);
}

}  // namespace

TEST_CASE("deepspeed: what the file says and what it leaves to DeepSpeed's defaults") {
  const DeepspeedConfig config = read(kOnebit);
  CHECK(value_of(config, "optimizer") == "onebit-adam");
  CHECK(value_of(config, "optimizer.semantics") == "deepspeed");
  CHECK(value_of(config, "optimizer.lr") == "2e-3");
  CHECK(value_of(config, "optimizer.beta1") == "0.8");
  CHECK(value_of(config, "optimizer.beta2") == "0.99");
  CHECK(value_of(config, "optimizer.eps") == "1e-8 by default");
  CHECK(value_of(config, "optimizer.weight-decay") == "0.01");
  CHECK(value_of(config, "freeze") == "fixed:3");
  CHECK(value_of(config, "optimizer.clip") == "1.5");
  CHECK(value_of(config, "batch") == "4");
  CHECK(config.mapped.size() == 10);
}

TEST_CASE("deepspeed: every other key is named with a reason") {
  const DeepspeedConfig config = read(kOnebit);
  CHECK_THAT(reason_for(config, "optimizer.params.bias_correction"), Contains("not used"));
  CHECK_THAT(reason_for(config, "optimizer.params.cuda_aware"), Contains("workers are simulated"));
  CHECK_THAT(reason_for(config, "optimizer.params.comm_backend_name"), Contains("workers are simulated"));
  CHECK_THAT(reason_for(config, "fp16"), Contains("fp32"));
  CHECK_THAT(reason_for(config, "zero_optimization"), Contains("sharded"));
  CHECK_THAT(reason_for(config, "wall_clock_breakdown"), Contains("does not concern"));
  CHECK(reason_for(config, "train_batch_size") == "absent");
  CHECK(config.ignored.size() == 6);
}

TEST_CASE("deepspeed: defaults of the other optimizers") {
  const DeepspeedConfig zeroone = read(optimizer("ZeroOneAdam", R"("local_step_scaler": 1000)"));
  CHECK(value_of(zeroone, "optimizer") == "zeroone-adam");
  CHECK(value_of(zeroone, "optimizer.var-freeze-step") == "100000 by default");
  CHECK(value_of(zeroone, "optimizer.var-update-scaler") == "16 by default");
  CHECK(value_of(zeroone, "optimizer.local-step-scaler") == "1000");
  CHECK(value_of(zeroone, "optimizer.local-step-clipper") == "16 by default");
  CHECK(value_of(zeroone, "freeze") == "absent");
  CHECK(value_of(zeroone, "batch") == "absent");

  const DeepspeedConfig lamb = read(optimizer("OneBitLamb", R"("max_coeff": 0.3, "freeze_step": 1000)"));
  CHECK(value_of(lamb, "optimizer") == "onebit-lamb");
  CHECK(value_of(lamb, "optimizer.max-coeff") == "0.3");
  CHECK(value_of(lamb, "optimizer.min-coeff") == "0.01 by default");
  CHECK(value_of(lamb, "optimizer.factor-max") == "4 by default");
  CHECK(value_of(lamb, "optimizer.factor-threshold") == "0.1 by default");
  CHECK(value_of(lamb, "freeze") == "fixed:1000");
  CHECK(value_of(read(R"({"optimizer": {"type": "Lamb"}})"), "optimizer.max-coeff") == "10 by default");
}

TEST_CASE("deepspeed: the type is compared as DeepSpeed does, in lower case") {
  CHECK(value_of(read(optimizer("OnebitAdam", "")), "optimizer") == "onebit-adam");
  CHECK(value_of(read(optimizer("adamw", "")), "optimizer") == "adam");
}

TEST_CASE("deepspeed: its Adam is the published one, with its bias correction") {
  const DeepspeedConfig config = read(optimizer("Adam", R"("bias_correction": false, "adam_w_mode": true)"));
  CHECK(value_of(config, "optimizer.semantics") == "paper");
  CHECK(value_of(config, "optimizer.bias-correction") == "false");
  CHECK_THAT(reason_for(config, "optimizer.params.adam_w_mode"), Contains("decoupled"));
  CHECK(value_of(read(optimizer("Adam", R"("adam_w_mode": false)")), "optimizer") == "adam");
  CHECK(value_of(read(optimizer("AdamW", R"("adam_w_mode": false, "weight_decay": 0.1)")), "optimizer") == "adam");
  check_refused(optimizer("Adam", R"("adam_w_mode": false, "weight_decay": 0.1)"), {"weight decay", "adam_w_mode"});
  check_refused(optimizer("Adam", R"("torch_adam": true)"), {"weight_decay is not given", "torch_adam"});
}

TEST_CASE("deepspeed: a file that is missing or no JSON object is refused with the place") {
  CHECK_THROWS_WITH(read_deepspeed_config("absent/ds.json"), Contains("cannot read") && Contains("absent/ds.json"));
  CHECK_THROWS_WITH(read_deepspeed_config("/"), Contains("cannot read"));
  check_refused("", {"malformed JSON", "line 1"});
  check_refused("{\n  \"optimizer\": {\n    \"type\" \"Adam\"\n  }\n}", {"malformed JSON", "line 3"});
  check_refused("[1, 2]", {"not a JSON object"});
  check_refused("{}", {"no optimizer section"});
  check_refused(R"({"optimizer": "Adam"})", {"not a JSON object", "optimizer"});
  check_refused(R"({"optimizer": {"params": {}}})", {"no optimizer type"});
  check_refused(R"({"optimizer": {"type": "Adam", "params": [1]}})", {"not a JSON object", "optimizer.params"});
}

TEST_CASE("deepspeed: JSON as deep as the file wants is refused, what is in quotes is not JSON") {
  const auto nested = [](std::size_t depth, const std::string& open, const std::string& close) {
    std::string text = "{\"optimizer\": {\"type\": \"Adam\"}, \"other\": ";
    for (std::size_t i = 0; i < depth; ++i) text += open;
    text += "1";
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return text + "}";
  };
  CHECK_NOTHROW(read(nested(99, "[", "]")));
  check_refused(nested(100, "[", "]"), {"nested more than 100 levels deep", "line 1"});
  for (const std::size_t depth : {std::size_t{60'000}, std::size_t{2'000'000}}) {
    check_refused(nested(depth, "[", "]"), {"nested more than 100 levels deep"});
    check_refused(nested(depth, "{\"a\":", "}"), {"nested more than 100 levels deep"});
    check_refused(nested(depth, "\n[", ""), {"nested more than 100 levels deep", "line 101"});
  }
  const std::string quoted = "\"\\\"" + std::string(60'000, '[') + "\"";
  CHECK_NOTHROW(read("{\"optimizer\": {\"type\": \"Adam\"}, \"other\": " + quoted + "}"));
}

TEST_CASE("deepspeed: an unknown type or parameter is refused with the nearest") {
  check_refused(optimizer("OneBitAdm", ""), {"unknown optimizer type", "OneBitAdm", "OneBitAdam"});
  check_refused(optimizer("Lion", ""), {"unknown optimizer type", "Lion"});
  check_refused(optimizer("OneBitAdam", R"("freze_step": 3)"), {"optimizer.params.freze_step", "freeze_step"});
  check_refused(optimizer("OneBitAdam", R"("cuda-aware": false)"), {"optimizer.params.cuda-aware"});
  check_refused(optimizer("Adam", R"("freeze_step": 3)"), {"unknown parameter of Adam", "freeze_step"});
  check_refused(optimizer("OneBitAdam", R"("max_grad_norm": 1.0)"), {"max_grad_norm", "gradient_clipping"});
  check_refused(optimizer("OneBitAdam", R"("amsgrad": true)"), {"amsgrad 'true'", "expected: false"});
}

TEST_CASE("deepspeed: a value of the wrong type is refused with its place") {
  check_refused(optimizer("OneBitAdam", R"("lr": "auto")"), {"optimizer.params.lr", "auto", "a finite number"});
  check_refused(optimizer("OneBitAdam", R"("lr": true)"), {"optimizer.params.lr", "true"});
  check_refused(optimizer("OneBitAdam", R"("lr": null)"), {"optimizer.params.lr", "null"});
  check_refused(optimizer("OneBitAdam", R"("lr": [1e-3])"), {"optimizer.params.lr", "a single value"});
  check_refused(optimizer("OneBitAdam", R"("lr": {})"), {"optimizer.params.lr", "a finite number"});
  check_refused(optimizer("OneBitAdam", R"("betas": 0.9)"), {"optimizer.params.betas", "list of two"});
  check_refused(optimizer("OneBitAdam", R"("betas": [0.9])"), {"optimizer.params.betas", "list of two"});
  check_refused(optimizer("OneBitAdam", R"("betas": {"a": 1, "b": 2})"), {"optimizer.params.betas", "list of two"});
  check_refused(optimizer("OneBitAdam", R"("betas": [0.9, "x"])"), {"optimizer.params.betas", "x"});
  check_refused(optimizer("OneBitAdam", R"("freeze_step": 2.5)"), {"optimizer.params.freeze_step", "a whole number"});
  check_refused(optimizer("Adam", R"("bias_correction": 2)"), {"optimizer.params.bias_correction", "true or false"});
  check_refused(optimizer("OneBitAdam", R"("lr": 1, "lr": 2)"), {"given twice", "optimizer.params.lr"});
  check_refused(R"({"gradient_clipping": "x", "optimizer": {"type": "Adam"}})", {"gradient_clipping", "x"});
}

TEST_CASE("deepspeed: the command line and a config file win over it, and it wins over a preset") {
  const Folder folder;
  write_file(folder / "ds.json", kOnebit);
  std::filesystem::create_directory(folder / "presets");
  write_file(folder / "presets/mine.ini", "# A preset\nbatch = 9\nseed = 9\n[optimizer]\nlr = 9\n");
  write_file(folder / "c.ini", "[optimizer]\nclip = 7\nbeta1 = 0.7\n");
  const Variable presets("ONEBIT_PRESETS", folder / "presets");
  const Outcome run =
      run_onebit(folder, short_run({"--optimizer.beta1", "0.6", "--config", "c.ini", "--preset", "mine"}));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  CHECK(logged(folder / "run.h5", "seed") == "9");
  CHECK(logged(folder / "run.h5", "batch") == "4");
  CHECK(logged(folder / "run.h5", "accumulation") == "4");
  CHECK(logged(folder / "run.h5", "optimizer.lr") == "0.002");
  CHECK(logged(folder / "run.h5", "optimizer.clip") == "7");
  CHECK(logged(folder / "run.h5", "optimizer.beta1") == "0.6");
  CHECK(logged(folder / "run.h5", "freeze") == "fixed:3");
  CHECK_THAT(line_of(run.out, "optimizer.params.betas"), Contains("optimizer.beta1") && Contains("overridden: 0.6"));
  CHECK_THAT(line_of(run.out, "gradient_clipping"), Contains("overridden: 7"));
  CHECK_THAT(line_of(run.out, "optimizer.params.eps"), Contains("DeepSpeed's default"));
  CHECK_THAT(line_of(run.out, "fp16"), Contains("fp32"));
}

TEST_CASE("deepspeed: its options are those of the same command line") {
  const Folder folder;
  write_file(folder / "ds.json", kOnebit);
  REQUIRE(run_onebit(folder, short_run({})).status == 0);
  const Arguments typed = {"run",       "--model",           "softmax",     "--data",
                           "synthetic", "--data.examples",   "200",         "--workers",
                           "2",         "--steps",           "6",           "-o",
                           "typed.h5",  "--batch",           "4",           "--accumulation",
                           "4",         "--optimizer",       "onebit-adam", "--optimizer.semantics",
                           "deepspeed", "--optimizer.lr",    "2e-3",        "--optimizer.beta1",
                           "0.8",       "--optimizer.beta2", "0.99",        "--optimizer.weight-decay",
                           "0.01",      "--freeze",          "fixed:3",     "--optimizer.clip",
                           "1.5"};
  REQUIRE(run_onebit(folder, typed).status == 0);
  CHECK(sim::LogReader(folder / "run.h5").header().config == sim::LogReader(folder / "typed.h5").header().config);
}

TEST_CASE("deepspeed: --json has the mapping in its object, in run and in compare", "[once]") {
  const std::string python = find_python("json");
  ONEBIT_SKIP_UNLESS(!python.empty(), "python3", "no python3");
  const Folder folder;
  write_file(folder / "ds.json", kOnebit);
  const char* check = R"(
import json, sys
config = json.loads(sys.argv[1])['deepspeed_config']
assert config['file'] == 'ds.json'
rows = {row['option']: row for row in config['mapped']}
assert rows['freeze'] == {'key': 'optimizer.params.freeze_step', 'option': 'freeze', 'value': 'fixed:3', 'given': True, 'used': 'fixed:3'}
assert rows['optimizer.eps']['given'] is False
assert 'fp16' in [row['key'] for row in config['ignored']]
)";
  for (const Arguments& more : {Arguments{"--json"}, Arguments{"--json", "--dry-run"}}) {
    Arguments compare = short_run(more);
    compare[0] = "compare";
    for (const Arguments& command : {short_run(more), joined(compare, {"-o", "out"})}) {
      const Outcome run = run_onebit(folder, command);
      CAPTURE(run.err, run.out);
      REQUIRE(run.status == 0);
      const Outcome parsed = run_in(folder, {python, "-c", check, run.out});
      CAPTURE(parsed.err);
      CHECK(parsed.status == 0);
    }
  }
}

TEST_CASE("deepspeed: a freeze step by default that the run never reaches is one clear line") {
  const Folder folder;
  write_file(folder / "ds.json", optimizer("OneBitAdam", ""));
  const Outcome run = run_onebit(folder, short_run({}));
  CHECK(run.status == 2);
  CHECK(run.out.empty());
  CHECK_THAT(run.err, StartsWith("onebit: error: ") && Contains("freeze fixed:100000") && Contains("never reach"));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK_FALSE(std::filesystem::exists(folder / "run.h5"));
}

namespace {

/// A configuration with some of the three sizes, e.g. R"("train_batch_size": 32)".
std::string sizes(const std::vector<std::string>& members) {
  return R"({"optimizer": {"type": "Adam"}, )" + join(members, ", ") + "}";
}

struct Sizes {
  std::vector<std::string> file;
  Arguments more;
  const char* batch;
  const char* accumulation;
};

}  // namespace

TEST_CASE("deepspeed: the size of a batch that is missing is inferred as DeepSpeed does", "[once]") {
  const std::string micro = R"("train_micro_batch_size_per_gpu": 4)", steps = R"("gradient_accumulation_steps": 3)",
                    train = R"("train_batch_size": 24)", auto_micro = R"("train_micro_batch_size_per_gpu": "auto")",
                    auto_steps = R"("gradient_accumulation_steps": "auto")",
                    auto_train = R"("train_batch_size": "auto")";
  const std::vector<Sizes> table = {
      {{micro, steps, train}, {}, "4", "3"},
      {{train, micro}, {}, "4", "3"},
      {{train, steps}, {}, "4", "3"},
      {{micro, steps}, {}, "4", "3"},
      {{micro}, {}, "4", "1"},
      {{train}, {}, "12", "1"},
      {{train, auto_micro, auto_steps}, {}, "12", "1"},
      {{auto_train, auto_micro, auto_steps}, {}, "16", "1"},
      {{auto_train, auto_micro, auto_steps}, {"--batch", "5", "--accumulation", "2"}, "5", "2"},
      {{train}, {"--batch", "6"}, "6", "2"},
      {{train}, {"--accumulation", "6"}, "2", "6"},
      {{micro, steps, train}, {"--workers", "1", "--batch", "8"}, "8", "3"},
      {{train, micro}, {"--workers", "1"}, "4", "6"},
      {{micro}, {"--accumulation", "5"}, "4", "5"},
  };
  for (const auto& [file, more, batch, accumulation] : table) {
    const Folder folder;
    write_file(folder / "ds.json", sizes(file));
    const Outcome run = run_onebit(folder, joined(short_run(more), {"--steps", "2"}));
    CAPTURE(file, more, run.err);
    REQUIRE(run.status == 0);
    CHECK(logged(folder / "run.h5", "batch") == batch);
    CHECK(logged(folder / "run.h5", "accumulation") == accumulation);
  }
}

TEST_CASE("deepspeed: a train_batch_size that does not fit the run is refused in one line") {
  const Folder folder;
  const auto refused = [&](const Arguments& arguments, const std::vector<std::string>& needles) {
    const Outcome run = run_onebit(folder, arguments);
    CAPTURE(arguments, run.err);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, StartsWith("onebit: error: train_batch_size does not fit") && Contains("ds.json"));
    for (const std::string& needle : needles) CHECK_THAT(run.err, Contains(needle));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(folder / "run.h5"));
  };
  write_file(folder / "ds.json", sizes({R"("train_batch_size": 32)", R"("train_micro_batch_size_per_gpu": 4)"}));
  refused(short_run({"--workers", "3"}), {"train_batch_size 32", "batch 4 x accumulation 2 x workers 3"});
  refused(short_run({"--workers", "16"}), {"batch 4 x accumulation 1 x workers 16"});
  refused(short_run({"--accumulation", "3"}), {"batch 4 x accumulation 3 x workers 2"});
  refused(short_run({"--batch", "5"}), {"batch 5 x accumulation 3 x workers 2"});
  refused(short_run({"--workers", "3", "--dry-run"}), {"workers 3"});
  Arguments compare = short_run({"--arm", "a:optimizer=adam", "--arm", "b:optimizer=adam,workers=4", "-o", "out"});
  compare[0] = "compare";
  refused(compare, {"arm b", "workers 4"});
  const Arguments sweep = {"sweep",   "--model", "softmax", "--data", "synthetic",   "--workers",
                           "2",       "--steps", "2",       "--axis", "workers=2,4", "--deepspeed-config",
                           "ds.json", "-o",      "swept"};
  refused(sweep, {"workers 4"});
  CHECK_FALSE(std::filesystem::exists(folder / "swept"));
  write_file(folder / "ds.json", sizes({R"("train_batch_size": 3)"}));
  refused(short_run({}), {"batch 1 x accumulation 1 x workers 2"});
}

TEST_CASE("deepspeed: invalid batch sizes are refused") {
  check_refused(sizes({R"("train_batch_size": 0)"}), {"train_batch_size 0", "at least 1"});
  check_refused(sizes({R"("train_batch_size": 2.5)"}), {"train_batch_size", "a whole number"});
  check_refused(sizes({R"("train_batch_size": [8])"}), {"train_batch_size", "a single value"});
  check_refused(sizes({R"("gradient_accumulation_steps": "many")"}), {"gradient_accumulation_steps", "a whole number"});
  const DeepspeedConfig config = read(sizes({R"("train_batch_size": "auto", "gradient_accumulation_steps": "auto")"}));
  CHECK_THAT(reason_for(config, "train_batch_size"), Contains("auto"));
  CHECK_THAT(reason_for(config, "gradient_accumulation_steps"), Contains("auto"));
}
