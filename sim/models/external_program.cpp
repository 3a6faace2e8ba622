#include "sim/models/external_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::sim {
namespace {

constexpr const char* kVersion = "1";

std::string where_of(const ExternalSpec& spec) {
  return "model.command " + shown(spec.command);
}

/// Turns worker errors before a run into configuration errors.
template <class Work>
auto before_run(Work&& work) {
  try {
    return work();
  } catch (const WorkerError& error) {
    throw ConfigError(error.what(), "");
  }
}

/// Returns the words of a request that describe the batch.
std::string batch_words(const Batch& batch, Index weight_rows) {
  return " workers=" + std::to_string(batch.workers) + " batch=" + std::to_string(batch.batch) +
         " rows=" + std::to_string(weight_rows);
}

}  // namespace

ExternalProgram::ExternalProgram(ExternalSpec spec)
    : spec_(std::move(spec)), process_(spec_.command), layout_(before_run([this] { return ask_layout(); })) {}

ExternalLayout ExternalProgram::ask_layout() {
  const std::string request = "hello version=" + std::string(kVersion) + spec_.facts;
  const std::string hello = ask(request);
  std::map<std::string, std::string> values = values_of(hello);
  const std::string initial = values["initial"];
  if (!hello.starts_with("hello ") || values["version"] != kVersion || (initial != "yes" && initial != "no")) {
    malformed(hello, "hello version=" + std::string(kVersion) + " initial=yes|no", request);
  }
  TensorList tensors;
  for (;;) {
    const std::string line = process_.receive();
    if (line == "ready" && tensors.count() > 0) return {.tensors = tensors.take(), .initial = initial == "yes"};
    const std::string wrong = tensors.add(line);
    if (!wrong.empty()) malformed(line, "tensor NAME SIZE..., then ready: " + wrong, request);
  }
}

std::vector<float> ExternalProgram::initial_weights(std::uint32_t seed) {
  if (!layout_.initial) {
    throw ConfigError("the worker program gives no initial weights", where_of(spec_),
                      "give --model.init FILE, or let the program answer `initialize`");
  }
  before_run([&] {
    reserve(ExternalArrays(parameters(), 1));
    std::ranges::fill(weights(), std::numeric_limits<float>::quiet_NaN());
    ask_done("initialize seed=" + std::to_string(seed) + arrays_.words());
  });
  const std::span<float> values = weights();
  if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
    throw ConfigError("the worker program's initial weights are not all finite", where_of(spec_),
                      "`initialize` must write all of them");
  }
  return {values.begin(), values.end()};
}

void ExternalProgram::load(const Batch& batch, Index weight_rows, bool with_gradients) {
  reserve(ExternalArrays(parameters(), weight_rows, batch, with_gradients));
  weight_rows_ = weight_rows;
  std::ranges::copy(batch.features, view<float>(arrays_.features).begin());
  std::ranges::copy(batch.tokens, view<std::int32_t>(arrays_.tokens).begin());
  std::ranges::copy(batch.labels, view<std::int32_t>(arrays_.labels).begin());
  std::ranges::fill(gradients(), std::numeric_limits<float>::quiet_NaN());
  std::ranges::fill(losses(), std::numeric_limits<double>::quiet_NaN());
}

void ExternalProgram::compute(const Batch& batch) {
  const DrawPlace& place = batch.place;
  ask_done("gradients step=" + std::to_string(place.step) + " seed=" + std::to_string(place.seed) +
           " first=" + std::to_string(place.first_worker) + " draw=" + std::to_string(place.first_draw) + " again=" +
           (batch.freeze_running_stats ? "yes" : "no") + batch_words(batch, weight_rows_) + arrays_.words());
}

Evaluation ExternalProgram::evaluate(const Batch& batch) {
  const std::string request = "evaluate" + batch_words(batch, weight_rows_) + arrays_.words();
  const std::string answer = ask(request);
  Evaluation result;
  if (!answer.starts_with("ok ") || !read_evaluation(answer, result)) {
    malformed(answer, "ok loss=SUM correct=COUNT examples=COUNT", request);
  }
  return result;
}

/// Makes room in the shared memory. If the memory has grown, sends the program its new size and path.
void ExternalProgram::reserve(const ExternalArrays& arrays) {
  arrays_ = arrays;
  if (!memory_.reserve(arrays.bytes)) return;
  ask_done("memory bytes=" + std::to_string(memory_.size()) + " path=" + memory_.path());
}

std::string ExternalProgram::ask(const std::string& request) {
  process_.send(request, spec_.timeout);
  const std::string answer = process_.receive();
  if (!answer.starts_with("error")) return answer;
  throw WorkerError("the worker program reports " + shown(answer), where_of(spec_),
                    "add 2>FILE to the command to keep all of its error output");
}

void ExternalProgram::ask_done(const std::string& request) {
  const std::string answer = ask(request);
  if (answer != "ok") malformed(answer, "ok", request);
}

void ExternalProgram::malformed(const std::string& answer, const std::string& wanted,
                                const std::string& request) const {
  throw WorkerError("the worker program answers '" + shown(answer) + "' to " + request.substr(0, request.find(' ')) +
                        " instead of '" + wanted + "'",
                    where_of(spec_), "its standard output must hold only answers, see docs/external-model.md");
}

namespace {

/// Keeps the layouts of all commands, and the programs that have only reported their layout so far.
class Waiting {
 public:
  ExternalLayout layout(const ExternalSpec& spec) {
    const std::lock_guard lock(mutex_);
    const auto known = commands_.find(key(spec));
    if (known != commands_.end()) return known->second.layout;
    auto program = std::make_unique<ExternalProgram>(spec);
    ExternalLayout layout = program->layout();
    commands_[key(spec)] = {layout, std::move(program)};
    return layout;
  }

  std::unique_ptr<ExternalProgram> take(const ExternalSpec& spec) {
    const ExternalLayout expected = layout(spec);
    const std::lock_guard lock(mutex_);
    std::unique_ptr<ExternalProgram> program = std::move(commands_[key(spec)].idle);
    if (program == nullptr) program = std::make_unique<ExternalProgram>(spec);
    if (program->layout() == expected) return program;
    throw ConfigError("the worker program now reports different tensors", where_of(spec),
                      "they must depend only on the words of `hello`");
  }

  void end_idle() {
    const std::lock_guard lock(mutex_);
    for (auto& [key, command] : commands_) command.idle.reset();
  }

 private:
  struct Command {
    ExternalLayout layout;
    std::unique_ptr<ExternalProgram> idle;
  };
  static std::string key(const ExternalSpec& spec) {
    return spec.command + "\n" + spec.facts + "\n" + shortest(spec.timeout);
  }

  std::mutex mutex_;
  std::map<std::string, Command> commands_;
};

Waiting& waiting() {
  static Waiting programs;
  return programs;
}

}  // namespace

ExternalLayout external_layout(const ExternalSpec& spec) {
  return waiting().layout(spec);
}

void end_idle_programs() {
  waiting().end_idle();
}

std::unique_ptr<ExternalProgram> take_program(const ExternalSpec& spec) {
  return waiting().take(spec);
}

}  // namespace onebit::sim
