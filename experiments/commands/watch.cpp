#include <filesystem>
#include <iostream>
#include <random>

#include "device/base/error.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/report/assets.hpp"
#include "experiments/report/live.hpp"
#include "experiments/report/server.hpp"
#include "experiments/study/prices.hpp"

namespace onebit::experiments {
namespace {

struct Options : CommandInput {
  std::string address = "127.0.0.1", title;
  Index port = 0;
};

std::vector<Option<Options>> rows() {
  return {field<Options>("address", "IPv4 address to listen on; 127.0.0.1 can be reached only from this machine",
                         ONEBIT_PLACE(address)),
          between<Options>("port", "port to listen on; 0: a free one", 0, 65535, ONEBIT_PLACE(port)),
          field<Options>("title", "title of the page; not given: made from arms, model and data", ONEBIT_PLACE(title))};
}

/// Returns 128 random bits as text, which a page from another site cannot guess.
std::string new_token() {
  std::random_device random;
  std::string token;
  for (int word = 0; word < 4; ++word) {
    char text[9];
    std::snprintf(text, sizeof text, "%08x", random());
    token += text;
  }
  return token;
}

int watch(const Options& options) {
  if (options.arguments.empty()) throw ConfigError("no folder named", "watch", "onebit watch DIR");
  if (assets::library.empty())
    throw ConfigError("this program was built without the chart library", "watch",
                      "install libjs-dygraphs and build again, or use onebit report");
  const PriceConfig price = price_config_of(options.price);
  const auto model = netmodel::make_cost_model(price.cost_model);
  LivePage page(options.arguments,
                {.comparison = {.target = price.target, .clusters = clusters_of(price), .rules = rules_of(price)},
                 .variance = {}},
                options.title, *model);
  Server server(options.address, static_cast<int>(options.port));
  const std::string base = "/" + new_token() + "/";
  install_stop_handler();
  for (const std::string& path : options.arguments) {
    if (!std::filesystem::exists(path))
      std::cerr << "onebit: note: " << path << " does not exist yet; the page will show it once it exists\n";
  }
  std::cout << "http://" << (options.address == "0.0.0.0" ? "127.0.0.1" : options.address) << ":" << server.port()
            << base << "\n"
            << "Open this address in a browser; Ctrl-C stops the server. No file is written." << std::endl;
  server.serve(
      [&](const std::string& path) -> Response {
        if (path == base) return {200, "text/html; charset=utf-8", page.page()};
        if (path == base + "update") return {200, "application/json", page.update()};
        return {404, "text/plain", "not found\n"};
      },
      stop_requested);
  return kExitDone;
}

}  // namespace

Command watch_command() {
  return make_command({.name = "watch",
                       .usage = "DIR|LOG.h5...",
                       .doc = "serve the page of runs in progress to a browser on this machine",
                       .accepts = {.price = Accepts::Price::of_runs, .target = true},
                       .help = {.common = {"cluster", "title", "port", "address"},
                                .examples = {"onebit watch grid", "onebit watch grid --cluster eth10 --port 8000"}}},
                      rows(), watch);
}

}  // namespace onebit::experiments
