#include "experiments/output/pictures.hpp"

#include <ostream>

#include "analysis/pictures/gnuplot.hpp"

namespace onebit::experiments {

void print_pictures(const std::vector<std::string>& paths, std::ostream& out) {
  if (paths.empty()) {
    out << "\nno pictures: " << (analysis::has_gnuplot() ? "nothing to draw" : "gnuplot is not installed") << "\n";
    return;
  }
  out << "\npictures\n";
  for (const std::string& path : paths) out << "  " << path << "\n";
}

}  // namespace onebit::experiments
