#include "sim/log/table_file.hpp"

#include <algorithm>

#include "device/base/files.hpp"
#include "sim/log/contents.hpp"
#include "sim/log/output_file.hpp"

namespace onebit::sim {
namespace {

h5::Object write_values(const h5::Object& file, const std::string& name, hid_t type, std::size_t rows,
                        const void* values) {
  h5::Object dataset = h5::create_array(file, name, type, static_cast<Index>(rows));
  h5::write(dataset, type, values);
  return dataset;
}

h5::Object write_values(const h5::Object& file, const std::string& name, const std::vector<std::string>& values) {
  std::size_t longest = 1;
  for (const std::string& value : values) longest = std::max(longest, value.size());
  std::string texts;
  for (const std::string& value : values) texts.append(value).append(longest - value.size(), '\0');
  return write_values(file, name, h5::text_type(longest).get(), values.size(), texts.data());
}

h5::Object write_values(const h5::Object& file, const std::string& name, const std::vector<Index>& values) {
  return write_values(file, name, H5T_NATIVE_INT64, values.size(), values.data());
}

h5::Object write_values(const h5::Object& file, const std::string& name, const std::vector<double>& values) {
  return write_values(file, name, H5T_NATIVE_DOUBLE, values.size(), values.data());
}

}  // namespace

void write_table(const std::string& path, std::string_view format, Index version,
                 const std::vector<TableColumn>& columns) {
  h5::Object file = create_part(path);
  try {
    h5::put_attribute(file, "format", format);
    h5::put_attribute(file, "format_version", version);
    for (const TableColumn& column : columns) {
      h5::Object dataset =
          std::visit([&](const auto& values) { return write_values(file, column.name, values); }, column.values);
      h5::put_attribute(dataset, "units", column.units);
      h5::put_attribute(dataset, "doc", column.doc);
      h5::close(dataset);
    }
    h5::close_file(file);
    files::synchronize_path(path, "table");
    h5::verify(file);
  } catch (...) {
    remove_output(file);
    h5::abandon(std::move(file));
    throw;
  }
}

}  // namespace onebit::sim
