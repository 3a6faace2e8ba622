#pragma once
// The embedding tables of click data, and the checks that sources of clicks share.

#include <string>
#include <vector>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Number of features of an example of click data, unless the user chooses another: as many as Criteo's data have.
inline constexpr Index click_features = 13;

/// Number of tables of click data, unless the user chooses another: as many as Criteo's data have.
inline constexpr Index click_tables = 26;

/// Returns the tables that config.rows and config.tables describe, each with `slots` slots. config.rows is
///   kaggle   26 sizes: the numbers of different values in the columns of Criteo's Kaggle data set, each capped at
///            config.max_rows; with more than 26 tables, the sizes repeat
///   N        N rows in every table
///   N,N,..   one number for each table
/// Throws ConfigError for numbers out of range and for lists that do not fit config.tables.
std::vector<BagTable> bag_tables(const DataConfig& config, Index slots);

/// Throws ConfigError unless least <= value <= most.
void check_range(Index value, Index least, Index most, const std::string& option);
void check_range(double value, double least, double most, const std::string& option);

/// Throws ConfigError if there are paths, which the source `name` does not read.
void check_no_files(const DataConfig& config, const std::string& name);

/// Throws ConfigError if `bytes` are more than the memory that is available. where: what takes the memory.
void check_memory(Index bytes, const std::string& where);

/// Describes tables: "26 tables of 3 to 20000 rows, 207398 in all".
std::string describe(const std::vector<BagTable>& tables);

/// Returns the number of slots of all tables together.
Index slots_of(const std::vector<BagTable>& tables);

}  // namespace onebit::sim
