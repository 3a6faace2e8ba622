#pragma once
// Files that become part of every page. The build writes their definitions (cmake/OnebitEmbed.cmake).

#include <string_view>

namespace onebit::experiments::assets {

extern const std::string_view style;    ///< experiments/report/page/page.css
extern const std::string_view script;   ///< experiments/report/page/page.js
extern const std::string_view library;  ///< dygraphs; empty: the build did not find it, and pages have no chart
extern const std::string_view library_style;
extern const std::string_view licence;  ///< licence of dygraphs

}  // namespace onebit::experiments::assets
