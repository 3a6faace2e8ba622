#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

#include "device/error.hpp"
#include "device/team.hpp"
#include "device/text.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output.hpp"
#include "experiments/session.hpp"
#include "sim/trace.hpp"

namespace onebit::experiments {
namespace {

/// Options of the model, the data and the log mean nothing here; workers and steps are the trace's.
void check_options(const Settings& settings, const sim::GradientTrace& trace) {
  const auto begins = [](const std::string& name) {
    return [&name](const char* word) { return name == word || name.starts_with(std::string(word) + "."); };
  };
  constexpr const char* used[] = {"optimizer", "codec",    "channel", "feedback",
                                  "freeze",    "schedule", "devices", "threads"};
  for (const auto& [name, value] : settings) {
    if (std::any_of(std::begin(used), std::end(used), begins(name))) continue;
    if (name == "workers" && value == std::to_string(trace.workers())) continue;
    if (name == "steps" && value == std::to_string(trace.steps())) continue;
    throw ConfigError("option has no meaning in a replay", name + " " + value,
                      "the trace has " + std::to_string(trace.workers()) + " workers and " +
                          std::to_string(trace.steps()) + " steps");
  }
}

/// How far a replayed parameter vector is from the reference.
struct Deviation {
  double worst = 0;
  Index worst_step = 0;
};

/// Hyper-parameters of a reference case as options. Throws ConfigError for one that has no option.
Settings case_settings(const sim::GradientTrace& trace, const std::string& name) {
  Settings settings;
  for (const auto& [key, value] : trace.attributes(name)) {
    const auto text = [&value = value](std::size_t i) {
      char digits[40];
      std::snprintf(digits, sizeof digits, "%.17g", value.numbers.at(i));
      return std::string(digits);
    };
    if (key == "optimizer") {
      settings.emplace_back("optimizer", value.text);
    } else if (key == "betas") {
      settings.emplace_back("optimizer.beta1", text(0));
      settings.emplace_back("optimizer.beta2", text(1));
    } else if (key == "lr" || key == "eps") {
      settings.emplace_back("optimizer." + key, text(0));
    } else if (key == "weight_decay") {
      settings.emplace_back("optimizer.weight-decay", text(0));
    } else if (key == "freeze_step") {
      settings.emplace_back("freeze", "fixed:" + text(0));
    } else {
      throw ConfigError("the case has a hyper-parameter without an option", name + ": " + key,
                        "this version replays adam and onebit-adam");
    }
  }
  return settings;
}

/// Relative L2 difference of the displacements x - x0.
double displacement_difference(const std::vector<float>& x, const std::vector<float>& reference,
                               const std::vector<float>& x0) {
  double difference = 0, displacement = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto d = static_cast<double>(x[i]) - static_cast<double>(reference[i]);
    const auto r = static_cast<double>(reference[i]) - static_cast<double>(x0[i]);
    difference += d * d;
    displacement += r * r;
  }
  return difference == 0 ? 0 : std::sqrt(difference / displacement);
}

/// What one device holds of a replay.
struct Seat {
  device::Shard shard;
  std::unique_ptr<optim::Optimizer> optimizer;
  device::Buffer<float> x, gradients;
};

std::vector<Seat> make_seats(const device::Team& team, const sim::GradientTrace& trace, const sim::RunConfig& config) {
  std::vector<Seat> seats;
  for (Index rank = 0; rank < team.size(); ++rank) {
    const device::Shard& shard = team.shard(rank);
    const optim::Problem problem{.shard = shard,
                                 .tensors = compress::unnamed(trace.tensor_sizes()),
                                 .total_steps = trace.steps(),
                                 .lr_warmup = config.schedule.warmup};
    seats.push_back({.shard = shard,
                     .optimizer = make_optimizer(problem, config.optimizer),
                     .x = device::Buffer<float>::copy_of(shard.device, trace.x0()),
                     .gradients = device::Buffer<float>(shard.device, shard.own().count * trace.parameters())});
  }
  return seats;
}

/// One step of one device on its workers' rows of a step's gradients.
void replay_step(Seat& seat, Index step, double lr, const std::vector<float>& gradients) {
  const Range own = seat.shard.own();
  const Index parameters = seat.x.size();
  seat.gradients.upload(std::span(gradients).subspan(static_cast<std::size_t>(own.first * parameters),
                                                     static_cast<std::size_t>(own.count * parameters)));
  seat.optimizer->begin(step, lr);
  seat.optimizer->absorb(own, seat.gradients.data(), parameters);
  const optim::StepReport report = seat.optimizer->finish(seat.x);
  if (report.phase != optim::Phase::dry_run && !std::isfinite(report.update_norm)) {
    throw NumericError("the update is not finite", "step " + std::to_string(step), "lower the learning rate");
  }
}

Deviation replay(const sim::GradientTrace& trace, const sim::RunConfig& config, const CommandLine& line) {
  optim::ScheduleConfig schedule_config = config.schedule;
  schedule_config.total_steps = trace.steps();
  const optim::Schedule schedule(schedule_config);
  device::Team team(device::parse_devices(config.device, config.threads), trace.workers());
  std::vector<Seat> seats = make_seats(team, trace, config);
  std::optional<sim::TraceWriter> out;  // only now: what cannot be replayed leaves no file
  if (!line.out.empty()) out.emplace(line.out, trace.parameters(), line.overwrite);
  std::vector<float> gradients;
  Deviation deviation;
  for (Index step = 1; step <= trace.steps(); ++step) {
    trace.read_step(step - 1, gradients);
    const double lr = config.optimizer.lr * schedule.factor(step);
    team.run([&](Index rank) { replay_step(seats[static_cast<std::size_t>(rank)], step, lr, gradients); });
    const std::vector<float> now = seats.front().x.to_host();
    if (out) out->write_step(step - 1, now);
    if (line.reference.empty()) continue;
    const double difference = displacement_difference(now, trace.reference(line.reference, step - 1), trace.x0());
    if (std::isfinite(deviation.worst) && !(difference <= deviation.worst)) deviation = {difference, step};
  }
  const optim::Optimizer& optimizer = *seats.front().optimizer;
  if (!optimizer.unfulfilled().empty()) throw Error(optimizer.unfulfilled(), "replay");
  if (out) out->close();
  return deviation;
}

void print(const CommandLine& line, const sim::GradientTrace& trace, const Deviation& deviation) {
  if (line.json) {
    std::vector<std::pair<std::string, Json>> members = {
        {"steps", trace.steps()}, {"workers", trace.workers()}, {"parameters", trace.parameters()}, {"out", line.out}};
    if (!line.reference.empty()) {
      members.emplace_back("reference", line.reference);
      members.emplace_back("worst_relative_difference", deviation.worst);
      members.emplace_back("worst_step", deviation.worst_step);
    }
    std::cout << Json::object(members).text() << "\n";
    return;
  }
  std::cout << "replayed " << trace.steps() << " steps, " << trace.workers() << " workers, " << trace.parameters()
            << " parameters\n";
  if (!line.out.empty()) std::cout << "parameters in " << line.out << "\n";
  if (line.reference.empty()) return;
  std::cout << "worst relative difference of the displacement to " << line.reference << ": "
            << (std::isfinite(deviation.worst) ? number(deviation.worst, 3) : "infinite") << " at step "
            << deviation.worst_step << "\n";
}

}  // namespace

int replay_command(const CommandLine& line) {
  if (line.arguments.size() != 1) throw ConfigError("give one trace", "replay", "onebit replay TRACE.h5 [options]");
  if (line.out.empty() && line.reference.empty()) {
    throw ConfigError("nothing to do", "replay",
                      "give -o FILE.h5 for the parameters, --reference CASE to compare, or both");
  }
  const sim::GradientTrace trace(line.arguments.front());
  check_options(line.run, trace);
  Settings settings;
  if (!line.reference.empty()) settings = case_settings(trace, line.reference);
  settings.insert(settings.end(), line.run.begin(), line.run.end());
  const sim::RunConfig config = make_config(settings);
  const Deviation deviation = replay(trace, config, line);
  print(line, trace, deviation);
  return kExitDone;
}

}  // namespace onebit::experiments
