#include "device/comm/mpi/library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "device/base/error.hpp"

namespace onebit::device::mpi {
namespace {

constexpr const char* kPlugin = "libonebit_mpi.so";

std::vector<std::filesystem::path> places() {
  if (const char* given = std::getenv("ONEBIT_MPI_PLUGIN")) return {given};
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return {folder / kPlugin, folder.parent_path() / "lib" / "onebit" / kPlugin};
}

}  // namespace

const OnebitMpi& load() {
  for (const std::filesystem::path& place : places()) {
    if (!std::filesystem::exists(place)) continue;
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);  // global: MPI's own plugins look up its symbols
    if (library == nullptr)
      throw Error("cannot load the MPI plugin", dlerror(), "build onebit again with this machine's MPI");
    void* symbol = dlsym(library, kOnebitMpiSymbol);
    if (symbol == nullptr)
      throw Error("the MPI plugin belongs to another version of onebit", place.string(),
                  "build or install both together");
    return *reinterpret_cast<OnebitMpiTable*>(symbol)();
  }
  throw NotCompiled("mpirun started several processes, but this build has no MPI plugin", places().front().string(),
                    "build onebit where MPI is installed (Debian: libopenmpi-dev)");
}

}  // namespace onebit::device::mpi
