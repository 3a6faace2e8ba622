#include "sim/run/checkpoint.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "sim/run/checkpoint_file.hpp"
#include "sim/run/pause_point.hpp"

namespace onebit::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInfix = ".checkpoint-";
constexpr std::string_view kUnfinished = ".part";

void visit(device::StateVisitor& visitor, RunState& state) {
  visitor.group("run", [&] {
    visitor.number("log", state.log);
    visitor.number("rows_of_steps", state.rows.steps);
    visitor.number("rows_of_workers", state.rows.workers);
    visitor.number("rows_of_tensors", state.rows.tensors);
    visitor.number("rows_of_probes", state.rows.probes);
    visitor.number("rows_of_evaluations", state.rows.evaluations);
    visitor.number("rows_of_events", state.rows.events);
    visitor.number("rows_of_traffic", state.rows.traffic);
    visitor.number("bytes", state.bytes);
    visitor.number("wall_seconds", state.wall_seconds);
    visitor.number("compute_seconds", state.compute_seconds);
    visitor.number("codec_seconds", state.codec_seconds);
  });
}

/// Calls use(path, rest of the name) for every file whose name begins like that of a checkpoint of the log.
void for_each_file(const std::string& log, const std::function<void(const fs::path&, std::string_view)>& use) {
  const std::string start = fs::path(log).filename().string() + std::string(kInfix);
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(fs::absolute(log).parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    files.push_back(entry->path());
  }
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    if (name.starts_with(start)) use(fs::path(log).parent_path() / name, std::string_view(name).substr(start.size()));
  }
}

void visit(const h5::Object* file, VirtualCluster& cluster, RunState& state) {
  cluster.visit_state([&](const device::Shard& shard, const auto& use) {
    StateWriter writer(file, shard, cluster.processes().size() > 1);
    visit(writer, state);
    use(writer);
  });
}

/// Writes the file and closes it.
h5::Object write_file(const std::string& path, VirtualCluster& cluster, RunState& state) {
  h5::Object file = create_checkpoint_file(path);
  try {
    visit(&file, cluster, state);
    h5::flush(file);
    pause_point("checkpoint.written");
    h5::close_file(file);
    return file;
  } catch (...) {
    h5::abandon(std::move(file));
    throw;
  }
}

}  // namespace

std::string checkpoint_path(const std::string& log, Index step) {
  return log + std::string(kInfix) + std::to_string(step);
}

std::vector<CheckpointFile> checkpoints_of(const std::string& log) {
  std::vector<CheckpointFile> files;
  for_each_file(log, [&](const fs::path& path, std::string_view rest) {
    Index step = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), step);
    if (code == std::errc() && end == rest.data() + rest.size()) files.push_back({path.string(), step});
  });
  std::ranges::sort(files, std::ranges::greater(), &CheckpointFile::step);
  return files;
}

void write_checkpoint(const std::string& log, VirtualCluster& cluster, RunState state) {
  if (!cluster.is_root()) return visit(nullptr, cluster, state);
  const std::string path = checkpoint_path(log, cluster.step());
  const std::string part = path + std::string(kUnfinished);
  unlink(part.c_str());
  try {
    const h5::Object file = write_file(part, cluster, state);
    seal(file);
    files::publish(part, path, "checkpoint", [&] { verify_written(file); });
  } catch (...) {
    unlink(part.c_str());
    throw;
  }
  pause_point("checkpoint.named");
}

void verify_checkpoint(const std::string& path) {
  verify_seal(path);
}

RunState read_checkpoint(const std::string& path, VirtualCluster& cluster) {
  const h5::Object file = open_checkpoint_file(path);
  RunState state;
  cluster.visit_state([&](const device::Shard& shard, const auto& use) {
    StateReader reader(file, shard);
    visit(reader, state);
    use(reader);
  });
  return state;
}

RunState run_state_of(const std::string& path) {
  const h5::Object file = open_checkpoint_file(path);
  const device::Shard shard = device::whole(device::Device::cpu(1), 1);
  StateReader reader(file, shard);
  RunState state;
  visit(reader, state);
  return state;
}

void remove_checkpoints_after(const std::string& log, Index step) {
  std::error_code error;  // ignored: files that cannot be removed stay
  for (const CheckpointFile& file : checkpoints_of(log)) {
    if (file.step > step) fs::remove(file.path, error);
  }
}

void prune_checkpoints(const std::string& log, Index keep) {
  std::error_code error;  // ignored: files that cannot be removed stay
  for (const CheckpointFile& file : checkpoints_of(log)) {
    if (keep-- <= 0) fs::remove(file.path, error);
  }
  for_each_file(log, [&](const fs::path& path, std::string_view rest) {
    if (rest.ends_with(kUnfinished)) fs::remove(path, error);
  });
}

}  // namespace onebit::sim
