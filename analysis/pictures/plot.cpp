#include "analysis/pictures/plot.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include "analysis/pictures/gnuplot.hpp"
#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"

namespace onebit::analysis {
namespace {

constexpr int kMarks[] = {7, 5, 9, 13};  // a circle, a square, a triangle, a diamond
// Okabe and Ito's palette, whose colours can be told apart in print and by colour-blind readers.
constexpr const char* kColours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};

const char* colour_of(const Plot& plot, std::size_t c) {
  return kColours[plot.curves[c].colour.value_or(c) % 7];
}

/// Returns how many curves before this one have its colour.
std::size_t cycle_of(const Plot& plot, std::size_t c) {
  std::size_t count = 0;
  for (std::size_t before = 0; before < c; ++before) {
    if (colour_of(plot, before) == colour_of(plot, c)) ++count;
  }
  return count;
}

bool has_points(const Curve& curve) {
  return std::any_of(curve.y.begin(), curve.y.end(), [](double y) { return std::isfinite(y); });
}

bool has_band(const Curve& curve, std::size_t point) {
  return point < curve.half_widths.size() && std::isfinite(curve.y[point]) && std::isfinite(curve.half_widths[point]);
}

bool has_band(const Curve& curve) {
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    if (has_band(curve, i)) return true;
  }
  return false;
}

bool is_crossed(const Curve& curve) {
  return curve.crossed && has_points(curve);
}

/// Returns a gnuplot string literal of the printable() text, in which only letters, digits, spaces and non-ASCII
/// characters stand for themselves. Quotes, backquotes (a command in them would run) and all other signs are written as
/// octal codes.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : printable(text)) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x80 || c == ' ' || std::isalnum(code) != 0) {
      result += c;
    } else {
      result += code < 0100 ? "\\0" : "\\";  // after a leading zero gnuplot reads three more digits, else three in all
      for (const int shift : {6, 3, 0}) result += static_cast<char>('0' + (code >> shift & 7));
    }
  }
  return result + "\"";
}

struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = -low;
};

/// Returns the visible range of y, or none if gnuplot chooses it. The curves set it; bands may widen it by up to its
/// own height on either side (on a logarithmic axis, down to half of the least value), because over few seeds a band
/// can be many times as wide. If some curves set no range (Curve::sets_range), the others set it.
std::optional<Range> range_of(const Plot& plot) {
  const auto sets = [](const Curve& curve) { return curve.sets_range && has_points(curve); };
  const bool some = std::ranges::any_of(plot.curves, sets), all = std::ranges::all_of(plot.curves, sets);
  const bool bands = std::ranges::any_of(plot.curves, [](const Curve& curve) { return has_band(curve); });
  if (!bands && (all || !some)) return std::nullopt;
  double least = std::numeric_limits<double>::infinity(), most = -least, low = least, high = most;
  for (const Curve& curve : plot.curves) {
    if (some && !curve.sets_range) continue;
    for (std::size_t i = 0; i < curve.y.size(); ++i) {
      const double y = curve.y[i], half = has_band(curve, i) ? curve.half_widths[i] : 0;
      if (!std::isfinite(y)) continue;
      least = std::min(least, y);
      most = std::max(most, y);
      low = std::min(low, y - half);
      high = std::max(high, y + half);
    }
  }
  const double margin = most > least ? 0.1 * (most - least) : 1;
  if (least >= 0) low = std::max(low, 0.0);
  if (plot.log_y) return Range{std::max(low, least / 2) / 1.2, most * 1.2};
  return Range{std::max(low, 2 * least - most) - margin, std::min(high, 2 * most - least) + margin};
}

/// Writes the last point of a curve for its cross, moved into the visible range.
void write_end(const Curve& curve, std::size_t number, const Range& range, std::ostringstream& script) {
  std::size_t last = curve.y.size() - 1;
  while (!std::isfinite(curve.y[last])) --last;
  script << "$end" << number << " << EOD\n"
         << curve.x[last] << " " << std::clamp(curve.y[last], range.low, range.high) << "\nEOD\n";
}

/// Writes the points, with bands cut at the visible range, because gnuplot misplaces a polygon that leaves the frame.
void write_data(const Plot& plot, std::ostringstream& script) {
  const Range range = range_of(plot).value_or(Range{});
  for (std::size_t c = 0; c < plot.curves.size(); ++c) {
    const Curve& curve = plot.curves[c];
    script << "$curve" << c << " << EOD\n";
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (std::isfinite(curve.y[i])) script << curve.x[i] << " " << curve.y[i];
      if (has_band(curve, i)) {
        script << " " << std::clamp(curve.y[i] - curve.half_widths[i], range.low, range.high) << " "
               << std::clamp(curve.y[i] + curve.half_widths[i], range.low, range.high);
      }
      script << "\n";
    }
    script << "EOD\n";
    if (is_crossed(curve)) write_end(curve, c, range, script);
  }
}

/// Returns the labels of a logarithmic axis that spans less than a factor of 100: powers of ten, and 2 and 5 times
/// these; none for a longer axis, where gnuplot labels the powers of ten, and none if there would be fewer than two.
std::vector<double> ticks_between(double least, double most) {
  std::vector<double> ticks;
  if (!(most / least < 100)) return ticks;
  for (double power = std::pow(10, std::floor(std::log10(least))); power <= most; power *= 10) {
    for (const double tick : {power, 2 * power, 5 * power}) {
      if (tick >= least && tick <= most) ticks.push_back(tick);
    }
  }
  if (ticks.size() < 2) ticks.clear();
  return ticks;
}

void write_ticks(char axis, const std::vector<double>& ticks, std::ostringstream& script) {
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    if (i == 0) script << "set " << axis << "tics (";
    script << (i == 0 ? "" : ", ") << ticks[i];
  }
  if (!ticks.empty()) script << ")\n";
}

/// Writes the settings of a logarithmic x axis. By default, gnuplot extends the axis to powers of ten and labels
/// only these. Here, the axis ends where the curves end, unless that leaves it without labels.
void write_log_x(const Plot& plot, std::ostringstream& script) {
  script << "set logscale x\nset format x " << quoted("%.0s%c" + plot.x_unit) << "\n";
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Curve& curve : plot.curves) {
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (!std::isfinite(curve.y[i])) continue;
      least = std::min(least, curve.x[i]);
      most = std::max(most, curve.x[i]);
    }
  }
  const std::vector<double> ticks = ticks_between(least, most);
  if (most / least < 100 && ticks.empty()) return;
  script << "set xrange [*:*] noextend\n";
  write_ticks('x', ticks, script);
}

void write_frame(const Plot& plot, std::ostringstream& script) {
  script << "set title " << quoted(plot.title) << " noenhanced\n"
         << "set xlabel " << quoted(plot.x_label) << " noenhanced\nset ylabel " << quoted(plot.y_label)
         << " noenhanced\n"
         << "set grid lc rgb '#dddddd'\nset key " << plot.legend << " spacing 1.3"
         << " noenhanced\nset border 3\nset tics nomirror out\n";
  if (plot.log_x) write_log_x(plot, script);
  if (plot.log_y) script << "set logscale y\n";
  if (const std::optional<Range> range = range_of(plot)) {
    script << "set yrange [" << range->low << ":" << range->high << "]\n";
    if (plot.log_y) write_ticks('y', ticks_between(range->low, range->high), script);
  }
  for (std::size_t c = 0; c < plot.curves.size(); ++c) {
    const double x = plot.curves[c].mark_x;
    if (x <= 0) continue;
    script << "set arrow from " << x << ", graph 0 to " << x << ", graph 1 nohead dt 2 lc rgb '" << colour_of(plot, c)
           << "'\n";
  }
}

/// Whether a curve has only one point, and therefore no line.
bool is_single(const Curve& curve) {
  return std::ranges::count_if(curve.y, [](double y) { return std::isfinite(y); }) == 1;
}

/// Writes the plot command. A curve without points keeps its colour and its freeze mark, but has no line.
void write_plot(const Plot& plot, std::ostringstream& script) {
  const char* separator = "plot ";
  for (std::size_t c = 0; c < plot.curves.size(); ++c) {
    if (!has_points(plot.curves[c])) continue;
    if (has_band(plot.curves[c])) {
      script << separator << "$curve" << c
             << " using 1:3:4 with filledcurves fs transparent solid 0.15 noborder lc rgb '" << colour_of(plot, c)
             << "' notitle";
      separator = ", ";
    }
    script << separator << "$curve" << c;
    if (plot.curves[c].dots) {
      script << " with points pt 7 lc rgb '" << (c == 0 ? kColours[kBlack] : colour_of(plot, c - 1)) << "' notitle";
    } else {
      const std::size_t cycle = cycle_of(plot, c);
      script << (plot.curves[c].marks || is_single(plot.curves[c])
                     ? " with linespoints pt " + std::to_string(kMarks[cycle % 4])
                     : " with lines")
             << " lw 2 dt " << (cycle + 1) << " lc rgb '" << colour_of(plot, c) << "' title "
             << quoted(plot.curves[c].label);
    }
    if (is_crossed(plot.curves[c]))
      script << ", $end" << c << " with points pt 2 ps 1.2 lw 2 lc rgb '" << colour_of(plot, c) << "' notitle";
    separator = ", ";
  }
  script << "\n";
}

/// Reduces a plot to what can be drawn: finite points (the line breaks at others), positive if the axis is
/// logarithmic.
Plot drawable(Plot plot) {
  for (Curve& curve : plot.curves) {
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      const bool drawn =
          std::isfinite(curve.x[i]) && (!plot.log_x || curve.x[i] > 0) && (!plot.log_y || curve.y[i] > 0);
      if (!drawn) curve.y[i] = std::nan("");
    }
  }
  return plot;
}

struct Terminal {
  std::string extension, settings;
};

const Terminal kSvg = {".svg", "svg size 900,560 font 'sans,14' background 'white'"};
const Terminal kPng = {".png", "pngcairo size 900,560 font 'sans,11'"};

std::string picture_of(const Terminal& terminal, const std::string& script) {
  return gnuplot_picture("set terminal " + terminal.settings + "\n" + script);
}

/// Returns the gnuplot script of a plot; empty if there is nothing to draw.
std::string script_of(const Plot& request) {
  const Plot plot = drawable(request);
  if (std::none_of(plot.curves.begin(), plot.curves.end(), has_points)) return "";
  std::ostringstream script;
  script.precision(9);
  write_data(plot, script);
  write_frame(plot, script);
  write_plot(plot, script);
  return script.str();
}

void write_names(const char* axis, const std::vector<std::string>& names, std::size_t most,
                 std::ostringstream& script) {
  const std::size_t stride = (names.size() + most - 1) / most;
  const char* separator = "";
  script << "set " << axis << "tics (";
  for (std::size_t i = 0; i < names.size(); i += stride, separator = ", ") {
    script << separator << quoted(names[i]) << " " << i;
  }
  script << ") noenhanced\n";
}

bool has_values(const HeatMap& map) {
  return std::ranges::any_of(map.values, [](const std::vector<double>& row) {
    return std::ranges::any_of(row, [](double value) { return std::isfinite(value); });
  });
}

/// Uses the ends and the middle of Cividis, whose colours can be told apart in print and by colour-blind readers.
std::string script_of(const HeatMap& map) {
  if (!has_values(map)) return "";
  std::ostringstream script;
  script.precision(9);
  script << "$map << EOD\n";
  for (const std::vector<double>& row : map.values) {
    for (const double value : row) std::isfinite(value) ? script << value << " " : script << "NaN ";
    script << "\n";
  }
  script << "EOD\nset title " << quoted(map.title) << " noenhanced\nset xlabel " << quoted(map.x_label)
         << " noenhanced\nset cblabel " << quoted(map.value_label) << " noenhanced\nset format cb '%g'\n"
         << "set palette defined (0 '#00224e', 1 '#7d7c78', 2 '#fee838')\nset yrange [*:*] reverse\nset tics nomirror "
            "out\n"
         << "set datafile missing 'NaN'\nunset key\n"
         << "set object 1 rectangle from graph 0, 0 to graph 1, 1 behind fc rgb '#bbbbbb' fs solid noborder\n";
  if (map.high > map.low) script << "set cbrange [" << map.low << ":" << map.high << "]\n";
  write_names("x", map.columns, 12, script);
  write_names("y", map.rows, 30, script);
  script << "plot $map matrix with image pixels\n";
  return script.str();
}

std::vector<std::string> draw_script(const std::string& script, const std::string& stem) {
  if (script.empty() || !has_gnuplot()) return {};
  std::vector<std::string> paths;
  for (const Terminal& terminal : {kSvg, kPng}) {
    paths.push_back(stem + terminal.extension);
    files::write(paths.back(), picture_of(terminal, script));
  }
  return paths;
}

/// Prefixes the identifiers of a picture: gnuplot uses the same ones in every picture.
std::string with_prefix(std::string svg, const std::string& prefix) {
  for (const std::string& before : {std::string("id=\""), std::string("id='"), std::string("url(#"),
                                    std::string("href='#"), std::string("href=\"#")}) {
    for (std::size_t at = svg.find(before); at != std::string::npos; at = svg.find(before, at)) {
      at += before.size();
      svg.insert(at, prefix);
    }
  }
  return svg;
}

std::string svg_of(const std::string& script, const std::string& prefix) {
  if (script.empty() || !has_gnuplot()) return "";
  const std::string svg = picture_of(kSvg, script);
  const std::size_t start = svg.find("<svg");
  if (start == std::string::npos) throw IoError("gnuplot wrote no picture");
  return with_prefix(svg.substr(start), prefix);
}

}  // namespace

std::vector<std::string> draw(const Plot& plot, const std::string& stem) {
  return draw_script(script_of(plot), stem);
}

std::vector<std::string> draw(const HeatMap& map, const std::string& stem) {
  return draw_script(script_of(map), stem);
}

std::string inline_svg(const Plot& plot, const std::string& prefix) {
  return svg_of(script_of(plot), prefix);
}

std::string inline_svg(const HeatMap& map, const std::string& prefix) {
  return svg_of(script_of(map), prefix);
}

}  // namespace onebit::analysis
