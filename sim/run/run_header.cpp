#include "sim/run/run_header.hpp"

#include <unistd.h>

#include <ctime>
#include <span>

#include "device/base/text.hpp"
#include "optim/two_stage/freeze.hpp"

namespace onebit::sim {
namespace {

/// Returns the time to the microsecond, so that it differs from log to log.
std::string utc_now() {
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  std::tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string micros = std::to_string(1'000'000 + now.tv_nsec / 1000);
  std::string text = date;
  text.append(".").append(micros, 1).append("Z");
  return text;
}

std::string host_name() {
  char text[256] = "";
  gethostname(text, sizeof text - 1);
  return text;
}

/// Describes the data that were read. The text is shortened if there were very many files; the data hash covers all of
/// them.
std::string read_text(const std::vector<std::string>& provenance) {
  constexpr std::size_t shown = 100;
  const std::span<const std::string> lines(provenance);
  if (lines.size() <= shown) return join(lines, "; ");
  return join(lines.first(shown), "; ") + "; and " + std::to_string(lines.size() - shown) + " more";
}

}  // namespace

LogHeader begun_header(const LogConfig& config, const RunIdentity& identity) {
  LogHeader header;
  header.program_version = identity.program_version;
  header.git_commit = identity.git_commit;
  header.created_utc = utc_now();
  header.command_line = identity.command_line;
  header.host = host_name();
  header.config = identity.options;
  header.per_worker = config.workers_every > 0;
  header.per_tensor = config.tensors_every > 0;
  return header;
}

Index variance_lag_of(const optim::OptimizerConfig& config) {
  return optim::FreezePolicy({.policy = "never", .lag = config.freeze.lag}, 1, 0, config.beta2).lag();
}

LogHeader make_header(const VirtualCluster& cluster, const RunConfig& config, const RunIdentity& identity) {
  LogHeader header = begun_header(config.log, identity);
  header.devices = cluster.devices();
  header.data_hash = cluster.data().hash();
  header.seed = config.seed;
  header.workers = config.workers;
  header.tensors = cluster.model().tensors();
  header.constants = cluster.model().constants(cluster.data());
  header.config.emplace_back("data.read", read_text(cluster.data().provenance()));
  header.variance_lag = cluster.variance_lag();
  header.probed = config.probe.every > 0;
  header.rounded = header.probed && config.optimizer.exchange.error_type != compress::ErrorType::fp32;
  return header;
}

}  // namespace onebit::sim
