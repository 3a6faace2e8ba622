#pragma once
// Pictures by gnuplot: SVG and PNG of the same plot.

#include <string>
#include <vector>

namespace onebit::analysis {

struct Curve {
  std::string label;
  std::vector<double> x, y;              ///< points with a value that is not finite break the line
  double mark_x = 0;                     ///< a vertical mark (the freeze step); 0: none
  std::vector<double> half_widths = {};  ///< of a band about the points; empty: none
  bool dots = false;                     ///< no line but dots, in the colour of the curve before
};

struct Plot {
  std::string title, x_label, y_label;
  bool log_x = false;
  std::string x_unit = "B";  ///< of a logarithmic axis: 12 kB
  bool log_y = false;
  std::string legend = "top right";  ///< corner, as gnuplot's `set key` takes it
  std::vector<Curve> curves;
};

/// Numbers over a grid, by colour: values[row][column]; one that is not finite stays blank.
struct HeatMap {
  std::string title, x_label;
  std::vector<std::string> rows;     ///< names, the first on top
  std::vector<std::string> columns;  ///< names
  std::vector<std::vector<double>> values;
  std::string value_label;
};

/// Writes <stem>.svg and <stem>.png; returns their paths. An empty result: gnuplot is not installed, or there is no
/// point. Throws IoError where gnuplot fails or nothing can be written, ConfigError where something other than a
/// regular file has one of the names.
std::vector<std::string> draw(const Plot& plot, const std::string& stem);
std::vector<std::string> draw(const HeatMap& map, const std::string& stem);

/// The same as an <svg> element to stand in a page, its identifiers beginning with `prefix`. Empty as above.
std::string inline_svg(const Plot& plot, const std::string& prefix);
std::string inline_svg(const HeatMap& map, const std::string& prefix);

}  // namespace onebit::analysis
