#pragma once
// Files of a sweep's folder, which several programs and machines may share.

#include <string>
#include <string_view>
#include <vector>

#include "sim/log/table_file.hpp"

namespace onebit::experiments {

/// The whole file; empty where there is none. Throws ConfigError where it cannot be read.
std::string file_text(const std::string& path);

/// Replaces a table, sim::write_table, as files::write() replaces texts. Throws IoError.
void write_table_file(const std::string& path, std::string_view format, const std::vector<sim::TableColumn>& columns);

/// Creates a file with all of its text at once. False: there is one of that name. Throws IoError.
bool create_file(const std::string& path, const std::string& text);

/// Removes temporary files that programs of this host left behind when they were killed.
void remove_leftovers(const std::string& folder);

}  // namespace onebit::experiments
