#include <iostream>

#include "experiments/cli/session.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output/freeze_output.hpp"
#include "experiments/study/freeze_answer.hpp"
#include "experiments/study/price.hpp"

namespace onebit::experiments {

int freeze_command(const CommandLine& line) {
  const PriceConfig price = make_price_config(line.price);
  const FreezeAnswer answer = answer_freeze(line, validation_request(line), prices_of(price));
  if (!answer.complete) return kExitStopped;
  if (line.json) {
    std::cout << to_json(answer).text() << "\n";
  } else {
    print_answer(answer, std::cout);
  }
  return kExitDone;
}

}  // namespace onebit::experiments
