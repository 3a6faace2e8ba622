#include "netmodel/cluster.hpp"

#include <vector>

#include "device/error.hpp"
#include "device/text.hpp"

namespace onebit::netmodel {

const Cluster& find_cluster(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Cluster& cluster : clusters()) {
    if (cluster.name == name) return cluster;
    names.push_back(cluster.name);
  }
  throw ConfigError("unknown cluster \"" + std::string(name) + "\"", "", suggestion(name, names));
}

std::string_view name(Source source) {
  switch (source) {
    case Source::published:
      return "published";
    case Source::fitted:
      return "fitted";
    case Source::estimated:
      return "estimated";
  }
  return "?";
}

}  // namespace onebit::netmodel
