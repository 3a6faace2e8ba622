#pragma once
// Reading a JSON file into a tree.

#include <boost/property_tree/ptree.hpp>
#include <string>

namespace onebit::experiments {

/// Values are texts; an object's members keep their order, and the items of a list have empty names.
using JsonTree = boost::property_tree::ptree;

/// Reads a file. what: the kind of file, for the errors. Throws ConfigError, with the line, for malformed JSON and for
/// values that are nested more than 100 levels deep, and whatever files::read_text throws.
JsonTree read_json_file(const std::string& path, const std::string& what, const std::string& hint = {});

}  // namespace onebit::experiments
