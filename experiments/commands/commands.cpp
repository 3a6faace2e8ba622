#include "experiments/commands/commands.hpp"

namespace onebit::experiments {

std::vector<Command> commands() {
  return {run_command(),        compare_command(), sweep_command(),   replay_command(), bench_command(),
          price_command(),      list_command(),    analyze_command(), freeze_command(), report_command(),
          watch_command(),      inspect_command(), export_command(),  card_command(),   verify_command(),
          completion_command(), man_command()};
}

}  // namespace onebit::experiments
