#pragma once
// From argv and INI files to settings.

#include <optional>
#include <string>
#include <vector>

#include "experiments/options/deepspeed_config.hpp"
#include "experiments/sweep/options.hpp"

namespace onebit::experiments {

/// What a command was called with. Options of a run come from the preset, then DeepSpeed's configuration, then the
/// config file, then the command line; the later one wins.
struct CommandLine {
  Settings run;
  std::size_t from_preset = 0;  ///< so many of `run`, the first ones, are the preset's
  Settings price;               ///< clusters, workload, step
  std::optional<DeepspeedConfig> deepspeed;
  std::string preset;                  ///< its name; empty: none
  std::string text;                    ///< the command as typed
  std::vector<std::string> arguments;  ///< positional
  std::string out;
  std::string weights_out;              ///< run: where the final weights go; empty: nowhere
  std::vector<std::string> arms;        ///< compare: 'name:key=value,...'
  std::vector<std::string> optimizers;  ///< compare
  Index seeds = 1;                      ///< compare, sweep
  SweepOptions points;                  ///< sweep
  Index ranks = 1;                      ///< run, bench mpi: processes to start
  std::string reference;                ///< replay: group of the trace to follow and to compare with; --validate
  std::optional<double> penalty;        ///< replay: times the weights is added to gradients; none: the case's, or 0
  Index elements = 0;                   ///< bench kernels: of the largest operand; 0: beyond the caches
  Index rounds = 0;                     ///< bench: 0: the command's default
  std::vector<Index> sweep;             ///< bench scaling: numbers of workers; none: the command's default
  Index global_batch = 0;               ///< bench scaling: 0: the command's default
  bool overwrite = false;
  bool resume = false;                    ///< run, compare: continue logs that are there
  std::vector<std::string> resume_allow;  ///< options that may differ from those of the log
  bool json = false;
  bool csv = false, jsonl = false;  ///< export, report: the form
  bool png = false;                 ///< report: pictures as files too
  std::string group;                ///< export: one group of rows; empty: all
  std::string lags, thresholds;     ///< analyze: lists; empty: the default
  bool validate = false;            ///< analyze: run dense, freeze at every candidate
  std::string freeze_at, measure;   ///< analyze --validate; empty: thresholds, loss
  std::string fit;                  ///< analyze: steps or workers; empty: no fit
  std::string baseline;             ///< analyze, report: name of an arm; empty: each arm's parent
  std::optional<double> margin;     ///< compare, analyze, report: none: analysis::default_margin
  bool dry_run = false;
  bool progress = false;  ///< show progress although stderr is no terminal
  bool help = false;
};

/// The options that a command accepts.
struct Accepted {
  std::vector<std::string> extras;
  bool run = false;  ///< the options of a run
  /// The options of pricing: none, those that say what and how, all.
  enum class Price { none, of_runs, all } price = Price::none;
  std::string preset = {};  ///< taken where none is named
};

/// Parses the arguments after the command. Throws ConfigError: unknown option (nearest named), missing value,
/// unreadable file.
CommandLine parse_command_line(const std::string& command, const std::vector<std::string>& arguments,
                               const Accepted& accepted);

/// Throws ConfigError where --seeds is out of range.
void check_seeds(const CommandLine& line);

/// Help text for a command's options.
std::string options_help(const Accepted& accepted);

}  // namespace onebit::experiments
