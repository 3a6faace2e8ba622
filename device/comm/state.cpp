#include "device/comm/state.hpp"

#include "device/base/error.hpp"

namespace onebit::device {

Index bytes_of(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return sizeof(float);
    case ElementType::float64:
      return sizeof(double);
    case ElementType::int64:
      return sizeof(Index);
    case ElementType::uint16:
      return sizeof(std::uint16_t);
    case ElementType::uint8:
    case ElementType::int8:
      return 1;
  }
  return 0;
}

void Elements::download(void* target, Index first, Index count) const {
  const Index size = bytes_of(type);
  memory->download(target, static_cast<const std::byte*>(data) + first * size, count * size);
}

void Elements::upload(const void* source, Index first, Index count) const {
  const Index size = bytes_of(type);
  memory->upload(static_cast<std::byte*>(data) + first * size, source, count * size);
}

namespace {

/// Returns the only number of a list; in a damaged checkpoint, the list may have another length.
template <class T>
T only(const std::vector<T>& values, const std::string& path) {
  if (values.size() != 1) throw ConfigError("checkpoint has a list in place of a number", path);
  return values.front();
}

}  // namespace

void StateVisitor::number(const std::string& name, Index& value) {
  std::vector<Index> values = {value};
  host(prefix_ + name, values);
  value = only(values, prefix_ + name);
}

void StateVisitor::number(const std::string& name, double& value) {
  std::vector<double> values = {value};
  host(prefix_ + name, values);
  value = only(values, prefix_ + name);
}

void StateVisitor::number(const std::string& name, bool& value) {
  Index number = value ? 1 : 0;
  this->number(name, number);
  value = number != 0;
}

void StateVisitor::numbers(const std::string& name, std::deque<double>& values) {
  std::vector<double> list(values.begin(), values.end());
  numbers(name, list);
  values.assign(list.begin(), list.end());
}

void StateVisitor::rows(const std::string& name, std::vector<Index>& values) {
  Buffer<Index> buffer = Buffer<Index>::copy_of(shard_.device, values);
  rows(name, buffer, 1);
  if (loads()) values = buffer.to_host();
}

}  // namespace onebit::device
