#pragma once
// Files of a sweep's folder, which several programs and machines may share.

#include <string>
#include <string_view>
#include <vector>

#include "sim/log/table_file.hpp"

namespace onebit::experiments {

/// Returns the whole file; empty if it does not exist. Throws ConfigError if it cannot be read.
std::string file_text(const std::string& path);

/// Writes a table (sim::write_table) atomically, as files::write() does for text. Throws IoError.
void write_table_file(const std::string& path, std::string_view format, const std::vector<sim::TableColumn>& columns);

/// Creates a file with its whole text atomically. Returns false if a file of that name exists. Throws IoError.
bool create_file(const std::string& path, const std::string& text);

/// Removes temporary files of killed programs on this host.
void remove_leftovers(const std::string& folder);

}  // namespace onebit::experiments
