#include <algorithm>
#include <iostream>
#include <limits>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/bench/mpi.hpp"
#include "experiments/bench/pricing.hpp"
#include "experiments/bench/scaling.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {
namespace {

constexpr Index kKernelRounds = 5;
constexpr Index kStepRounds = 30;
constexpr Index kPriceRounds = 15;
constexpr Index kGlobalBatch = 1024;
constexpr const char* kMeasurements = "kernels|step|scaling|price|mpi";

struct Options : CommandInput {
  std::string out;
  Index elements = 0;        ///< elements of the largest operand; 0: sizes that suit the device
  Index rounds = 0;          ///< measured rounds; 0: the measurement's default
  std::vector<Index> sweep;  ///< numbers of workers; empty: the default
  Index global_batch = 0;    ///< examples per step over all workers; 0: kGlobalBatch
  bool json = false, overwrite = false;
};

std::vector<Option<Options>> rows() {
  constexpr Index most = std::numeric_limits<Index>::max();
  return {out_row<Options>("bench mpi: file for the table", "standard output"),
          between<Options>("elements",
                           "bench kernels and step: elements of the largest operand; 0: sizes that suit the device", 0,
                           most, ONEBIT_PLACE(elements)),
          between<Options>("rounds", "measured rounds; 0: 5 for kernels, 15 for price, 30 for the others", 0, 100000,
                           ONEBIT_PLACE(rounds)),
          integers<Options>(
              "sweep",
              "bench scaling: numbers of workers besides 1; not given: all of 2,4,...,64 that divide --global-batch",
              ONEBIT_PLACE(sweep)),
          between<Options>("global-batch", "bench scaling: examples per step in total; 0: 1024", 0, most,
                           ONEBIT_PLACE(global_batch)),
          json_row<Options>(),
          overwrite_row<Options>(ONEBIT_PLACE(overwrite))};
}

std::string per_second(double rate, double unit, const char* name) {
  return number(rate / unit, 3) + " " + name;
}

void print_kernels(const std::string& device, const KernelReport& report) {
  std::cout << device << ": copy of " << bytes_text(static_cast<double>(report.copy_bytes)) << " "
            << per_second(report.copy_bytes_per_second, 1e9, "GB/s") << " (read + written), last-level cache "
            << bytes_text(static_cast<double>(report.cache_bytes)) << ", medians of " << report.rounds << " rounds\n\n";
  Table table({"kernel", "elements", "floor B/element", "time", "GB/s", "share of copy"});
  for (const KernelRow& row : report.rows) {
    table.add({row.kernel, number(static_cast<double>(row.elements), 4), number(row.floor_bytes, 5),
               seconds_text(row.seconds), number(row.bytes_per_second() / 1e9, 3),
               percent_text(row.bytes_per_second() / report.copy_bytes_per_second)});
  }
  table.print(std::cout);
}

Json to_json(const std::string& device, const KernelReport& report) {
  std::vector<Json> rows;
  for (const KernelRow& row : report.rows) {
    rows.push_back(Json::object({{"kernel", row.kernel},
                                 {"elements", row.elements},
                                 {"floor_bytes_per_element", row.floor_bytes},
                                 {"seconds", row.seconds},
                                 {"bytes_per_second", row.bytes_per_second()},
                                 {"share_of_copy", row.bytes_per_second() / report.copy_bytes_per_second}}));
  }
  return Json::object({{"device", device},
                       {"copy_bytes_per_second", report.copy_bytes_per_second},
                       {"copy_bytes", report.copy_bytes},
                       {"last_level_cache_bytes", report.cache_bytes},
                       {"rounds", report.rounds},
                       {"kernels", Json::array(rows)}});
}

int bench_kernels_command(const Options& options, const sim::RunConfig& config) {
  std::vector<Json> reports;
  for (const device::Device& device : device::parse_devices(config.device, config.threads)) {
    const KernelReport report =
        bench_kernels(device, config, options.elements, options.rounds > 0 ? options.rounds : kKernelRounds);
    if (!options.json) print_kernels(device.name(), report);
    reports.push_back(to_json(device.name(), report));
  }
  if (options.json) std::cout << Json::object({{"devices", Json::array(reports)}}).text() << "\n";
  return kExitDone;
}

void print_log(const StepBench& bench) {
  Table table({"log", "every", "time", "share of step"});
  for (const LogPart& part : bench.log) {
    table.add(
        {part.name, number(part.every, 4), seconds_text(part.seconds), percent_text(part.of_a_step() / bench.step)});
  }
  table.add({"all", "", seconds_text(bench.log_seconds()), percent_text(bench.log_seconds() / bench.step)});
  std::cout << "\n";
  table.print(std::cout);
}

std::string precision_of(const sim::RunConfig& config) {
  return run_option("model.precision").get(config);
}

void print_step(const sim::RunConfig& config, const StepBench& bench) {
  std::cout << config.optimizer.name << " on " << config.model.name << ", " << config.workers << " workers x "
            << config.batch << ", " << config.device << ", " << precision_of(config) << ": medians of " << bench.rounds
            << " steps\n\n";
  Table table({"part", "time", "share of step"});
  const auto add = [&](const std::string& name, double seconds) {
    table.add({name, seconds_text(seconds), percent_text(seconds / bench.step)});
  };
  for (const auto& [name, seconds] : bench.parts) add(name, seconds);
  add("step", bench.step);
  table.print(std::cout);
  print_log(bench);
  std::cout << "\nfloor           " << seconds_text(bench.floor()) << " = " << number(bench.flops / 1e9, 3)
            << " GFLOP at " << per_second(bench.limits.flops_per_second, 1e9, "GFLOP/s") << " + "
            << bytes_text(bench.bytes) << " at " << per_second(bench.limits.copy_bytes_per_second, 1e9, "GB/s") << "\n";
  if (bench.touched.count > 0) {
    std::cout << "touched rows    " << bench.touched.count << ", with " << bench.touched.width
              << " numbers each: " << bytes_text(bench.touched.bytes()) << " of these bytes, "
              << seconds_text(bench.touched.bytes() / bench.limits.copy_bytes_per_second)
              << " at that rate; their update reaches " << percent_text(bench.tables_share()) << " of that rate\n";
  }
  std::cout << "step / floor    " << ratio_text(bench.step / bench.floor()) << "\nbig-batch step  "
            << seconds_text(bench.big_batch) << " (adam, one worker, the same examples)\nstep / big      "
            << ratio_text(bench.step / bench.big_batch) << "\n";
}

Json to_json(const sim::RunConfig& config, const StepBench& bench) {
  std::vector<std::pair<std::string, Json>> members = {{"devices", config.device},
                                                       {"model", config.model.name},
                                                       {"precision", precision_of(config)},
                                                       {"optimizer", config.optimizer.name},
                                                       {"workers", config.workers},
                                                       {"batch", config.batch},
                                                       {"rounds", bench.rounds},
                                                       {"step_seconds", bench.step},
                                                       {"floor_seconds", bench.floor()},
                                                       {"big_batch_seconds", bench.big_batch}};
  for (const auto& [name, seconds] : bench.parts) members.emplace_back(name + "_seconds", seconds);
  std::vector<Json> log;
  for (const LogPart& part : bench.log) {
    log.push_back(Json::object({{"part", part.name}, {"every", part.every}, {"seconds", part.seconds}}));
  }
  members.emplace_back("log", Json::array(log));
  members.emplace_back("log_seconds", bench.log_seconds());
  members.emplace_back("flops", bench.flops);
  members.emplace_back("bytes", bench.bytes);
  if (bench.touched.count > 0) {
    members.emplace_back("touched_rows", bench.touched.count);
    members.emplace_back("touched_bytes", bench.touched.bytes());
    members.emplace_back("tables_share_of_copy", bench.tables_share());
  }
  members.emplace_back("flops_per_second", bench.limits.flops_per_second);
  members.emplace_back("copy_bytes_per_second", bench.limits.copy_bytes_per_second);
  return Json::object(members);
}

int bench_step_command(const Options& options, const sim::RunConfig& config) {
  const StepBench bench = bench_step(config, options.elements, options.rounds > 0 ? options.rounds : kStepRounds);
  if (options.json) {
    std::cout << to_json(config, bench).text() << "\n";
  } else {
    print_step(config, bench);
  }
  return kExitDone;
}

void print_scaling(const sim::RunConfig& config, const ScalingReport& report) {
  std::cout << config.optimizer.name << " on " << config.model.name << ", " << report.global_batch
            << " examples per step, " << config.device << ": medians of " << report.rounds << " steps\n\n";
  Table table({"workers", "batch", "gradients", "vs 1 worker", "step", "vs 1 worker", "N x P"});
  const ScalingRow& one = report.rows.front();
  for (const ScalingRow& row : report.rows) {
    table.add({std::to_string(row.workers), std::to_string(report.global_batch / row.workers),
               seconds_text(row.gradient), ratio_text(row.gradient / one.gradient), seconds_text(row.step),
               ratio_text(row.step / one.step), bytes_text(row.gradient_bytes)});
  }
  table.print(std::cout);
}

Json to_json(const sim::RunConfig& config, const ScalingReport& report) {
  std::vector<Json> rows;
  for (const ScalingRow& row : report.rows) {
    rows.push_back(Json::object({{"workers", row.workers},
                                 {"batch", report.global_batch / row.workers},
                                 {"gradient_seconds", row.gradient},
                                 {"step_seconds", row.step},
                                 {"gradient_of_one", row.gradient / report.rows.front().gradient},
                                 {"step_of_one", row.step / report.rows.front().step},
                                 {"gradient_bytes", row.gradient_bytes}}));
  }
  return Json::object({{"devices", config.device},
                       {"model", config.model.name},
                       {"optimizer", config.optimizer.name},
                       {"global_batch", report.global_batch},
                       {"rounds", report.rounds},
                       {"rows", Json::array(rows)}});
}

/// Returns the numbers of workers to measure, with 1 first.
std::vector<Index> sweep_of(const Options& options, Index global_batch) {
  std::vector<Index> sweep = options.sweep.empty() ? default_sweep(global_batch) : options.sweep;
  if (sweep.front() != 1) sweep.insert(sweep.begin(), 1);
  return sweep;
}

int bench_scaling_command(const Options& options, const sim::RunConfig& config) {
  for (const auto& [name, value] : options.run.settings) {
    if (name == "workers" || name == "batch") {
      throw ConfigError("bench scaling sets this option itself", name, "use --sweep and --global-batch");
    }
  }
  const Index batch = options.global_batch > 0 ? options.global_batch : kGlobalBatch;
  const ScalingReport report =
      bench_scaling(config, sweep_of(options, batch), batch, options.rounds > 0 ? options.rounds : kStepRounds);
  if (options.json) {
    std::cout << to_json(config, report).text() << "\n";
  } else {
    print_scaling(config, report);
  }
  return kExitDone;
}

int bench_price_command(const Options& options) {
  if (!options.run.settings.empty())
    throw ConfigError("bench price takes no options of a run", "--" + options.run.settings.front().first,
                      "leave it out");
  const std::vector<PricingRow> rows = bench_pricing(options.rounds > 0 ? options.rounds : kPriceRounds);
  std::vector<Json> items;
  Table table({"estimate", "time"});
  for (const PricingRow& row : rows) {
    table.add({row.what, seconds_text(row.seconds)});
    items.push_back(Json::object({{"estimate", row.what}, {"seconds", row.seconds}}));
  }
  if (options.json) {
    std::cout << Json::object({{"rows", Json::array(items)}}).text() << "\n";
  } else {
    table.print(std::cout);
  }
  return kExitDone;
}

/// Measures collectives between processes and writes the rows to stdout or a file.
int bench_mpi_command(const Options& options) {
  if (!options.run.settings.empty())
    throw ConfigError("bench mpi takes no options of a run", "--" + options.run.settings.front().first, "leave it out");
  if (options.json) throw ConfigError("bench mpi writes CSV, not JSON", "--json", "leave it out");
  const std::shared_ptr<device::ProcessGroup>& processes = device::processes();
  if (processes->rank() == 0 && !options.out.empty()) files::check_output(options.out, options.overwrite);
  const auto rows = bench_mpi(*processes, options.rounds > 0 ? options.rounds : kStepRounds);
  if (processes->rank() > 0) return kExitDone;
  std::ostringstream text;
  write_measurements(rows, text);
  if (options.out.empty()) {
    std::cout << text.str();
  } else {
    files::write(options.out, text.str());
  }
  return kExitDone;
}

/// Throws ConfigError for an option of another measurement.
void refuse_unused(const Options& options, const std::string& what) {
  const auto only_for = [&](const std::vector<std::string>& owners, const std::string& option, bool given) {
    if (given && std::ranges::find(owners, what) == owners.end())
      throw ConfigError("option of another measurement", "--" + option,
                        "only bench " + join(owners, " and ") + (owners.size() == 1 ? " takes it" : " take it"));
  };
  only_for({"kernels", "step"}, "elements", options.elements > 0);
  only_for({"scaling"}, "global-batch", options.global_batch > 0);
  only_for({"scaling"}, "sweep", !options.sweep.empty());
}

/// Returns the configuration. If no data is named, a model that takes features gets synthetic examples of its shape.
sim::RunConfig config_of(Settings settings) {
  std::string model = sim::RunConfig().model.name;
  bool named = false;
  for (const auto& [name, value] : settings) {
    if (name == "model") model = value;
    named = named || name == "data";
  }
  const sim::ModelEntry& entry = sim::model_entry(model);
  const bool features = entry.input == sim::Input::features || entry.input == sim::Input::images;
  if (named || !features) return make_config(settings);
  settings.emplace_back("data", "synthetic");
  sim::RunConfig config = make_config(settings);
  if (config.data.image == sim::ImageShape{}) config.data.image = entry.image;
  if (config.model.layers.empty()) return config;
  config.data.features = config.model.layers.front();
  config.data.classes = config.model.layers.back();
  return config;
}

int bench(const Options& options) {
  const std::string what = options.arguments.size() == 1 ? options.arguments.front() : "";
  refuse_unused(options, what);
  if (what == "mpi") return bench_mpi_command(options);
  if (device::mpi_environment().size > 1)
    throw ConfigError("only bench mpi runs over ranks", "bench", "leave out mpirun and --ranks");
  if (!options.out.empty()) throw ConfigError("only bench mpi writes a file", "--out", "leave it out");
  if (what == "price") return bench_price_command(options);
  const sim::RunConfig config = config_of(options.run.settings);
  if (what == "kernels") return bench_kernels_command(options, config);
  if (what == "step") return bench_step_command(options, config);
  if (what == "scaling") return bench_scaling_command(options, config);
  throw ConfigError("unknown or missing measurement", "bench", "onebit bench kernels, step, scaling, price or mpi");
}

}  // namespace

Command bench_command() {
  return make_command({.name = "bench",
                       .usage = kMeasurements,
                       .doc = "measure kernels against the copy bandwidth, a step against its shortest possible time, "
                              "scaling over numbers "
                              "of workers, the network model itself, or MPI's collectives",
                       .accepts = {.run = true, .config = true, .preset = true, .ranks = true},
                       .help = {.common = {"rounds", "elements", "sweep", "global-batch", "model", "workers", "batch",
                                           "optimizer", "codec", "devices", "threads", "ranks", "out", "json"},
                                .examples = {"onebit bench step --model mlp --workers 8 --optimizer onebit-adam",
                                             "onebit bench kernels --elements 10000000"},
                                .arguments = [] { return split(kMeasurements, '|'); }}},
                      rows(), bench);
}

}  // namespace onebit::experiments
