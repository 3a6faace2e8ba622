#include "analysis/plot.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>

#include "device/error.hpp"

namespace onebit::analysis {
namespace {

// Okabe and Ito's palette: told apart by the colour-blind and in print.
constexpr const char* kColours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};

struct ClosePipe {
  void operator()(FILE* pipe) const { pclose(pipe); }
};

bool has_points(const Curve& curve) {
  return std::any_of(curve.y.begin(), curve.y.end(), [](double y) { return std::isfinite(y); });
}

/// A string in gnuplot's single quotes: the only character with a meaning is the quote.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

void write_data(const Plot& plot, std::ostringstream& script) {
  for (std::size_t c = 0; c < plot.curves.size(); ++c) {
    const Curve& curve = plot.curves[c];
    script << "$curve" << c << " << EOD\n";
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (std::isfinite(curve.y[i])) script << curve.x[i] << " " << curve.y[i];
      script << "\n";
    }
    script << "EOD\n";
  }
}

void write_frame(const Plot& plot, std::ostringstream& script) {
  script << "set title " << quoted(plot.title) << " noenhanced\n"
         << "set xlabel " << quoted(plot.x_label) << " noenhanced\nset ylabel " << quoted(plot.y_label)
         << " noenhanced\n"
         << "set grid lc rgb '#dddddd'\nset key " << plot.legend
         << " noenhanced\nset border 3\nset tics nomirror out\n";
  if (plot.log_x) script << "set logscale x\nset format x " << quoted("%.0s%c" + plot.x_unit) << "\n";
  for (std::size_t c = 0; c < plot.curves.size(); ++c) {
    const double x = plot.curves[c].mark_x;
    if (x <= 0) continue;
    script << "set arrow from " << x << ", graph 0 to " << x << ", graph 1 nohead dt 2 lc rgb '" << kColours[c % 7]
           << "'\n";
  }
}

/// A curve without points keeps its colour and its freeze mark, not its line.
void write_plot(const Plot& plot, std::ostringstream& script) {
  const char* separator = "plot ";
  for (std::size_t c = 0; c < plot.curves.size(); ++c) {
    if (!has_points(plot.curves[c])) continue;
    script << separator << "$curve" << c << " with lines lw 2 dt " << (c / 7 + 1) << " lc rgb '" << kColours[c % 7]
           << "' title " << quoted(plot.curves[c].label);
    separator = ", ";
  }
  script << "\n";
}

/// The plot with what can be drawn: finite points (breaks where they are not), positive where the axis is logarithmic.
Plot drawable(Plot plot) {
  for (Curve& curve : plot.curves) {
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (!std::isfinite(curve.x[i]) || (plot.log_x && curve.x[i] <= 0)) curve.y[i] = std::nan("");
    }
  }
  return plot;
}

void run_gnuplot(const std::string& script) {
  const std::unique_ptr<FILE, ClosePipe> pipe(popen("gnuplot >/dev/null 2>&1", "w"));
  if (!pipe) throw IoError("cannot start gnuplot", "");
  std::fputs(script.c_str(), pipe.get());
}

}  // namespace

bool has_gnuplot() {
  return std::system("command -v gnuplot >/dev/null 2>&1") == 0;
}

std::vector<std::string> draw(const Plot& request, const std::string& stem) {
  const Plot plot = drawable(request);
  if (std::none_of(plot.curves.begin(), plot.curves.end(), has_points) || !has_gnuplot()) return {};
  std::ostringstream data, frame, curves;
  data.precision(9);
  write_data(plot, data);
  write_frame(plot, frame);
  write_plot(plot, curves);
  const std::vector<std::pair<std::string, std::string>> outputs = {
      {stem + ".svg", "svg size 900,560 font 'sans,14' background 'white'"},
      {stem + ".png", "pngcairo size 900,560 font 'sans,11'"}};
  std::vector<std::string> paths;
  for (const auto& [path, terminal] : outputs) {
    std::filesystem::remove(path);
    run_gnuplot("set terminal " + terminal + "\nset output " + quoted(path) + "\n" + data.str() + frame.str() +
                curves.str());
    std::error_code ignored;
    if (std::filesystem::file_size(path, ignored) == 0 || ignored) throw IoError("gnuplot wrote no picture", path);
    paths.push_back(path);
  }
  return paths;
}

}  // namespace onebit::analysis
