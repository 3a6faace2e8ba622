#pragma once
// The file of a checkpoint: a text block with length and checksums, followed by an HDF5 file. Internal to sim.

#include "device/comm/state.hpp"
#include "sim/log/h5.hpp"

namespace onebit::sim {

/// Creates an empty checkpoint file. Throws IoError.
h5::Object create_checkpoint_file(const std::string& path);
/// Opens a file that seal() has sealed. Throws ConfigError.
h5::Object open_checkpoint_file(const std::string& path);

/// Writes the length and two checksums of a closed file to its first block. One checksum is of the file's bytes, the
/// other of the values that were passed to HDF5. Throws IoError.
void seal(const h5::Object& closed);
/// Throws IoError if a sealed file does not contain the values that were passed to HDF5.
void verify_written(const h5::Object& closed);
/// Throws ConfigError if the length or a checksum does not match the file, IoError if reading fails.
void verify_seal(const std::string& path);

/// Writes the state of this process's ranks, one rank at a time. If every rank is a process, the root writes the state
/// of all of them, and all processes must visit at the same time.
class StateWriter final : public device::StateVisitor {
 public:
  /// Makes a writer of one shard's state. file: nullptr in processes other than the root. gathers: whether the ranks
  /// are processes.
  StateWriter(const h5::Object* file, const device::Shard& shard, bool gathers)
      : StateVisitor(shard), file_(file), gathers_(gathers) {}
  bool loads() const override { return false; }

 private:
  void device(const std::string& path, const device::Elements& elements, std::span<const device::Piece> pieces,
              Index total, Held held) override;
  void host(const std::string& path, std::vector<double>& values) override;
  void host(const std::string& path, std::vector<Index>& values) override;
  template <class Number>
  void list(const std::string& path, device::ElementType type, const std::vector<Number>& values);
  void gather(const std::string& path, const device::Elements& elements, std::span<const device::Piece> pieces,
              Index total);
  h5::Object dataset(const std::string& path, device::ElementType type, Index total);

  const h5::Object* file_;
  bool gathers_;
};

/// Reads what StateWriter wrote. Throws ConfigError if something is missing or has another size, IoError if reading
/// fails.
class StateReader final : public device::StateVisitor {
 public:
  StateReader(const h5::Object& file, const device::Shard& shard) : StateVisitor(shard), file_(file) {}
  bool loads() const override { return true; }

 private:
  void device(const std::string& path, const device::Elements& elements, std::span<const device::Piece> pieces,
              Index total, Held held) override;
  void host(const std::string& path, std::vector<double>& values) override;
  void host(const std::string& path, std::vector<Index>& values) override;
  template <class Number>
  void list(const std::string& path, device::ElementType type, std::vector<Number>& values);
  h5::Object dataset(const std::string& path) const;

  const h5::Object& file_;
};

}  // namespace onebit::sim
