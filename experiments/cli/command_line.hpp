#pragma once
// Turns argv and INI files into settings.

#include <optional>
#include <string>
#include <vector>

#include "experiments/options/deepspeed_config.hpp"
#include "experiments/sweep/options.hpp"

namespace onebit::experiments {

/// The arguments of a command. Options of a run come from the preset, then DeepSpeed's configuration, then the config
/// file, then the command line; later ones override earlier ones.
struct CommandLine {
  Settings run;
  std::size_t from_preset = 0;  ///< number of entries of `run`, the first ones, that come from the preset
  Settings price;               ///< options of clusters, workload and step
  std::optional<DeepspeedConfig> deepspeed;
  std::string preset;                  ///< name of the preset; empty: none
  std::string text;                    ///< the command as typed
  std::vector<std::string> arguments;  ///< positional
  std::string out;
  std::string weights_out;              ///< run: file for the final weights; empty: none
  std::vector<std::string> arms;        ///< compare: 'name:key=value,...'
  std::vector<std::string> optimizers;  ///< compare
  Index seeds = 1;                      ///< compare, sweep
  SweepOptions points;                  ///< sweep
  Index ranks = 1;                      ///< run, bench mpi: processes to start
  std::string reference;  ///< replay: group of the trace to follow and compare with; analyze --validate: its reference
  std::optional<double> penalty;  ///< replay: multiple of the weights added to gradients; none: the case's, or 0
  Index elements = 0;             ///< bench kernels: size of the largest operand; 0: larger than the caches
  Index rounds = 0;               ///< bench: 0: the command's default
  std::vector<Index> sweep;       ///< bench scaling: numbers of workers; none: the command's default
  Index global_batch = 0;         ///< bench scaling: 0: the command's default
  bool overwrite = false;
  bool resume = false;                    ///< run, compare: continue existing logs
  std::vector<std::string> resume_allow;  ///< options that may differ from the log's
  bool json = false;
  bool csv = false, jsonl = false;  ///< export, report: output format
  bool png = false;                 ///< report: also write pictures as files
  std::string group;                ///< export: one group of rows; empty: all
  std::string lags, thresholds;     ///< analyze: lists; empty: the default
  bool validate = false;            ///< analyze: run dense, and freeze at every candidate
  std::string freeze_at, measure;   ///< analyze --validate; empty: thresholds, loss
  std::string fit;                  ///< analyze: steps or workers; empty: no fit
  std::string baseline;             ///< analyze, report: name of an arm; empty: each arm's parent
  std::optional<double> margin;     ///< compare, analyze, report: none: analysis::default_margin
  bool dry_run = false;
  bool progress = false;  ///< show progress although stderr is no terminal
  bool help = false;
};

/// Options that a command accepts.
struct Accepted {
  std::vector<std::string> extras;
  bool run = false;  ///< whether it accepts the options of a run
  /// Options of pricing that it accepts: none, those that say what and how to price, or all.
  enum class Price { none, of_runs, all } price = Price::none;
  std::string preset = {};  ///< preset used where none is named
};

/// Parses the arguments after the command. Throws ConfigError for an unknown option (naming the nearest), a missing
/// value or an unreadable file.
CommandLine parse_command_line(const std::string& command, const std::vector<std::string>& arguments,
                               const Accepted& accepted);

/// Throws ConfigError where --seeds is out of range.
void check_seeds(const CommandLine& line);

/// Returns the help text for a command's options.
std::string options_help(const Accepted& accepted);

}  // namespace onebit::experiments
