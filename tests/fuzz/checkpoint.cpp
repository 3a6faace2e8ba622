#include "sim/run/checkpoint.hpp"

#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "sim/cluster/virtual_cluster.hpp"
#include "sim/log/h5.hpp"
#include "tests/fuzz/scratch_file.hpp"

using namespace onebit;

namespace {

constexpr std::size_t kBlock = 512;  // bytes before the HDF5 file

sim::RunConfig config() {
  sim::RunConfig config;
  config.model = {.name = "softmax"};
  config.data = {.name = "synthetic", .features = 3, .classes = 2, .examples = 20};
  config.optimizer.name = "onebit-adam";
  config.optimizer.freeze.policy = "fixed:2";
  config.workers = 2;
  config.batch = 1;
  config.steps = 4;
  config.threads = 1;
  return config;
}

fuzz::Bytes make_checkpoint() {
  const fuzz::ScratchFile base;
  sim::VirtualCluster cluster(config());
  while (cluster.step() < 3) cluster.advance();
  sim::write_checkpoint(base.path(), cluster, {});
  const std::string path = sim::checkpoint_path(base.path(), 3);
  std::ifstream file(path, std::ios::binary);
  fuzz::Bytes bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return bytes;
}

/// Makes length and checksum of the first block fit what follows it, so that HDF5 gets to see the changes.
void seal(fuzz::Changes& changes, const fuzz::ScratchFile& file) {
  const fuzz::Bytes rest = file.read(kBlock, file.size() - kBlock);
  fuzz::Bytes block(kBlock);
  std::snprintf(reinterpret_cast<char*>(block.data()), block.size(), "onebit-checkpoint 1\nbytes %ld\ncrc32 %08lx\n",
                static_cast<long>(rest.size()), crc32_z(0, rest.data(), rest.size()));
  changes.write(0, block);
}

void read(const std::string& path) {
  static const sim::RunResources resources = sim::make_resources(config());
  sim::VirtualCluster cluster(config(), resources);
  sim::verify_checkpoint(path);
  sim::run_state_of(path);
  sim::read_checkpoint(path, cluster);
}

}  // namespace

/// Changes to a checkpoint, which is then sealed. Every four bytes change one byte: three choose its place, one is the
/// new value. Bytes that are left over cut off the end of the file.
ONEBIT_FUZZ(checkpoint, input) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  static const fuzz::Bytes good = make_checkpoint();
  static fuzz::ScratchFile file;
  if (file.size() == 0) file.write(0, good);
  fuzz::Changes changes(file);
  while (input.rest().size() >= 4) {
    std::size_t place = 0;
    for (int i = 0; i < 3; ++i) place = place << 8 | input.byte();
    const std::uint8_t value = input.byte();
    changes.write(kBlock + place % (good.size() - kBlock), {&value, 1});
  }
  if (!input.rest().empty()) changes.resize(kBlock + (good.size() - kBlock) * input.byte() / 256);
  seal(changes, file);
  try {
    read(file.path());
  } catch (const IoError&) {
  }
  fuzz::require(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL) == 0);
}
