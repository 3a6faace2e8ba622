#pragma once
// Pictures drawn by gnuplot: SVG and PNG of the same plot.

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace onebit::analysis {

inline constexpr std::size_t kBlack = 6;  ///< number of the colour of marks that belong to no curve

struct Curve {
  std::string label;
  std::vector<double> x, y;                ///< coordinates; points that are not finite break the line
  double mark_x = 0;                       ///< x of a vertical mark (the freeze step); 0: none
  std::vector<double> half_widths = {};    ///< half-widths of a band around the points; empty: none
  bool sets_range = true;                  ///< whether the visible range covers its points; if not, they may be cut off
  bool dots = false;                       ///< whether to draw dots, in the preceding curve's colour, instead of a line
  std::optional<std::size_t> colour = {};  ///< number of its colour; none: the curve's number in the plot
  bool marks = false;    ///< whether to mark the points of the line; if colours repeat, the marks differ
  bool crossed = false;  ///< whether a cross marks its last point: at the frame if the point is outside the range
};

struct Plot {
  std::string title, x_label, y_label;
  bool log_x = false;
  std::string x_unit = "B";  ///< unit of a logarithmic axis, as in 12 kB
  bool log_y = false;
  std::string legend = "top right";  ///< position of the legend, in the words of gnuplot's `set key`
  std::vector<Curve> curves;
};

/// Numbers on a grid, shown by colour: values[row][column]; cells that are not finite stay blank.
struct HeatMap {
  std::string title, x_label;
  std::vector<std::string> rows;     ///< names of the rows, from the top
  std::vector<std::string> columns;  ///< names of the columns
  std::vector<std::vector<double>> values;
  std::string value_label;
  /// Ends of the colour scale, for maps that are to be compared; if not finite, the ends are those of the values.
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
};

/// Writes <stem>.svg and <stem>.png and returns their paths. The result is empty if gnuplot is not installed or
/// there is no point to draw. Throws IoError if gnuplot fails or a file cannot be written, and ConfigError if one
/// of the names belongs to something other than a regular file.
std::vector<std::string> draw(const Plot& plot, const std::string& stem);
std::vector<std::string> draw(const HeatMap& map, const std::string& stem);

/// Returns the picture as an <svg> element to embed in a page; its identifiers begin with `prefix`. Empty if `draw`
/// would draw nothing.
std::string inline_svg(const Plot& plot, const std::string& prefix);
std::string inline_svg(const HeatMap& map, const std::string& prefix);

}  // namespace onebit::analysis
