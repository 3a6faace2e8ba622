#include "sim/log/read_header.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "sim/log/types.hpp"
#include "sim/models/constant_names.hpp"

namespace onebit::sim {
namespace {

void read_attributes(const h5::Object& object, LogHeader& header) {
  header.program_version = h5::text_attribute(object, "program_version");
  header.git_commit = h5::text_attribute(object, "git_commit");
  header.created_utc = h5::text_attribute(object, "created_utc");
  header.command_line = h5::text_attribute(object, "command_line");
  header.host = h5::text_attribute(object, "host");
  header.devices = h5::text_attribute(object, "devices");
  header.data_hash = h5::text_attribute(object, "data_hash");
  header.seed = static_cast<std::uint32_t>(h5::integer_attribute(object, "seed"));
  header.workers = h5::integer_attribute(object, "workers");
  header.per_worker = h5::exists(object, "workers");
  header.per_tensor = h5::exists(object, "tensors");
  header.probed = h5::exists(object, "probes");
  header.rounded = h5::exists(object, "probes") && h5::exists(object, "probes/feedback_rounding");
  header.columns = h5::exists(object, "steps/boundary_gradient_cosine")   ? 4
                   : h5::exists(object, "evaluations/auc")                ? 3
                   : h5::exists(object, "steps/worker_mean_distance")     ? 2
                   : h5::exists(object, "steps/variance_ratio_corrected") ? 1
                                                                          : 0;
  const h5::Object ratio = h5::open_dataset(object, "steps/variance_ratio");
  header.variance_norm = h5::text_attribute(ratio, "norm");
  header.variance_lag = h5::integer_attribute(ratio, "lag");
  const h5::Object config = h5::open_group(object, "config");
  for (const std::string& option : h5::attribute_names(config)) {
    header.config.emplace_back(option, h5::text_attribute(config, option));
  }
}

void read_tensors(const h5::Object& object, LogHeader& header) {
  const h5::Object table = h5::open_dataset(object, "model/tensors");
  const h5::Id stored(h5::check(H5Dget_type(table.id.get()), table.where), H5Tclose);
  const int index = H5Tget_class(stored.get()) == H5T_COMPOUND ? H5Tget_member_index(stored.get(), "name") : -1;
  if (index < 0) h5::fail(table.where, "it has no names");
  const h5::Id name(h5::check(H5Tget_member_type(stored.get(), static_cast<unsigned>(index)), table.where), H5Tclose);
  const std::size_t name_bytes = H5Tget_size(name.get());
  const std::size_t row_bytes = name_bytes + 3 * sizeof(Index);
  const std::vector<hsize_t> sizes = h5::extents(table);
  if (sizes.size() != 1) h5::fail(table.where, "it is not a list");
  h5::check_plausible(table, static_cast<double>(sizes[0]) * static_cast<double>(row_bytes));
  const auto rows = static_cast<Index>(sizes[0]);
  std::vector<char> data(static_cast<std::size_t>(rows) * row_bytes);
  h5::read_rows(table, h5::tensor_type(name_bytes).get(), data, rows);
  for (const char* row = data.data(); row != data.data() + data.size(); row += row_bytes) {
    compress::Tensor& tensor = header.tensors.emplace_back();
    tensor.name.assign(row, std::find(row, row + name_bytes, '\0'));
    std::memcpy(&tensor.size, row + name_bytes + sizeof(Index), sizeof(Index));
    std::memcpy(&tensor.rows, row + name_bytes + 2 * sizeof(Index), sizeof(Index));
    tensor.rows = std::max<Index>(1, tensor.rows);  // early logs lack `rows`, which then reads as 0
  }
}

void read_constants(const h5::Object& object, LogHeader& header) {
  const h5::Object model = h5::open_group(object, "model");
  const std::vector<std::string> names = h5::attribute_names(model);
  for (const auto& [name, value] : kConstants) {
    if (std::ranges::find(names, name) == names.end()) continue;
    if (!header.constants) header.constants.emplace();
    *header.constants.*value = h5::real_attribute(model, std::string(name));
  }
}

}  // namespace

LogHeader read_header(const h5::Object& file) {
  LogHeader header;
  read_attributes(file, header);
  read_tensors(file, header);
  read_constants(file, header);
  return header;
}

}  // namespace onebit::sim
