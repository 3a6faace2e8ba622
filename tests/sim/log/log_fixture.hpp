#pragma once
// A small run to write to logs, and a folder for them.

#include <string>

#include "sim/log/reader.hpp"
#include "sim/log/writer.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

namespace onebit::tests {

/// A file of the docs folder of the source tree.
inline std::string docs_path(const std::string& name) {
  return onebit::tests::source_path("docs/" + name);
}

inline sim::LogHeader sample_header() {
  sim::LogHeader header;
  header.program_version = "0.1.0";
  header.git_commit = "0123abc";
  header.created_utc = "2026-11-05T10:00:00Z";
  header.command_line = "onebit run --optimizer onebit-adam -o run.h5";
  header.host = "h\xc3\xb6st";  // UTF-8
  header.devices = "cpu:1";
  header.data_hash = "";
  header.seed = 4294967295u;
  header.workers = 3;
  header.tensors = {{"fc1.weight", 12, 3}, {"b", 4}};
  header.constants =
      sim::Constants{.smoothness = 2, .convexity = 0.1, .noise = 1e-300, .heterogeneity = 0, .optimum_loss = -1.0 / 3};
  header.config = {{"optimizer", "onebit-adam"}, {"optimizer.lr", "1e-3"}};
  header.variance_norm = "l2";
  header.variance_lag = 10;
  return header;
}

inline sim::StepRow sample_step(Index step) {
  sim::StepRow row;
  row.step = step;
  row.samples = 32 * step;
  row.loss = 1.0 / static_cast<double>(step + 1);
  row.lr = 1e-3;
  row.masked = step % 7;
  row.phase = step > 10;
  row.bytes_up = 100;
  row.bytes_down = 0.5;
  row.codec_seconds = 1e-9 * static_cast<double>(step);
  return row;
}

inline void append_samples(sim::LogWriter& log, Index begin, Index end) {
  for (Index step = begin; step < end; ++step) log.append(sample_step(step));
}

/// Returns the number of steps, or -1 if any of them is not what append_samples wrote.
inline Index intact_samples(const sim::LogReader& log) {
  const auto steps = log.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const sim::StepRow expected = sample_step(static_cast<Index>(i));
    if (steps[i].step != expected.step || steps[i].loss != expected.loss) return -1;
    if (steps[i].codec_seconds != expected.codec_seconds) return -1;
  }
  return static_cast<Index>(steps.size());
}

/// Runs a script with a Python that has h5py, with the package `onebit` on its path. Returns its exit status.
class Python {
 public:
  Python() {
    for (const std::string program : {"python3", "/usr/bin/python3"}) {
      if (std::system((program + " -c 'import h5py' 2>/dev/null").c_str()) == 0) {
        program_ = program;
        return;
      }
    }
  }
  bool available() const { return !program_.empty(); }

  int run(const std::string& script, const std::string& argument) const {
    const std::string start =
        "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, '" + source_path("python") + "')\n";
    return std::system((program_ + " -c \"" + start + script + "\" '" + argument + "'").c_str());
  }

 private:
  std::string program_;
};

}  // namespace onebit::tests
