#include "sim/log/types.hpp"

#include <initializer_list>

#include "netmodel/wire/traffic.hpp"

namespace onebit::sim::h5 {
namespace {

const Where place{Access::write, "in memory", "types"};

// Returns a type of one byte with a name for each value. Extend the lists below together with the enumerations.
template <class Enum>
Id enumeration(std::initializer_list<Enum> values) {
  Id type(check(H5Tenum_create(H5T_NATIVE_UINT8), place), H5Tclose);
  for (const Enum value : values) {
    const auto number = static_cast<std::uint8_t>(value);
    check(H5Tenum_insert(type.get(), std::string(netmodel::name(value)).c_str(), &number), place);
  }
  return type;
}

Id copy_of(hid_t type) {
  return {check(H5Tcopy(type), place), H5Tclose};
}

void insert(const Id& compound, std::string_view name, std::size_t offset, hid_t type) {
  check(H5Tinsert(compound.get(), std::string(name).c_str(), offset, type), place);
}

}  // namespace

Id column_type(ColumnType type) {
  using netmodel::Collective, netmodel::Direction, netmodel::WireType;
  switch (type) {
    case ColumnType::float64:
      return copy_of(H5T_NATIVE_DOUBLE);
    case ColumnType::int64:
      return copy_of(H5T_NATIVE_INT64);
    case ColumnType::uint8:
      return copy_of(H5T_NATIVE_UINT8);
    case ColumnType::text16:
      return text_type(kind_bytes);
    case ColumnType::text256:
      return text_type(text_bytes);
    case ColumnType::collective:
      return enumeration({Collective::all_reduce, Collective::all_to_all, Collective::all_gather, Collective::tree});
    case ColumnType::direction:
      return enumeration({Direction::up, Direction::down, Direction::both});
    case ColumnType::wire_type:
      return enumeration({WireType::fp32, WireType::bits, WireType::packed});
    case ColumnType::compound:
      break;
  }
  return {};
}

Id traffic_type() {
  Id type(check(H5Tcreate(H5T_COMPOUND, sizeof(TrafficRow)), place), H5Tclose);
  static constexpr TrafficRow sample;
  const auto* begin = reinterpret_cast<const char*>(&sample);
  for_each_field<TrafficRow>([&](const Column& column, auto member) {
    const auto offset = reinterpret_cast<const char*>(&(sample.*member)) - begin;
    insert(type, column.name, static_cast<std::size_t>(offset), column_type(column.type).get());
  });
  return type;
}

Id packed(const Id& compound) {
  Id type = copy_of(compound.get());
  check(H5Tpack(type.get()), place);
  return type;
}

Id tensor_type(std::size_t name_bytes) {
  Id type(check(H5Tcreate(H5T_COMPOUND, name_bytes + 3 * sizeof(Index)), place), H5Tclose);
  insert(type, "name", 0, text_type(name_bytes).get());
  insert(type, "offset", name_bytes, H5T_NATIVE_INT64);
  insert(type, "size", name_bytes + sizeof(Index), H5T_NATIVE_INT64);
  insert(type, "rows", name_bytes + 2 * sizeof(Index), H5T_NATIVE_INT64);
  return type;
}

}  // namespace onebit::sim::h5
