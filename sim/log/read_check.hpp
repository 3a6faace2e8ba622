#pragma once
// A check before a file is read: HDF5 1.10 may crash, hang, or take gigabytes of memory on a damaged file.

#include <functional>
#include <span>
#include <string>

namespace onebit::sim {

/// Reads everything in an HDF5 file, in the same ways as the readers of logs, traces, weights and checkpoints, and
/// closes it. It reads one value of each chunk, which makes HDF5 read the whole chunk. It skips contiguous data, which
/// cannot make HDF5 misbehave. It ignores errors in individual objects, because the readers of these objects report
/// them. swmr: the file's writer may still be writing. Throws IoError if a group cannot be listed, so that not
/// everything was read, and std::bad_alloc if HDF5 or this program could not allocate memory.
void read_everything(const std::string& path, bool swmr);

/// Returns why a process must not read a file; empty if it may. Several threads may call it at the same time.
using ReadCheck = std::function<std::string(const std::string& path, bool swmr)>;

/// Sets the check for the HDF5 files that this process opens but has not written itself. By default there is none. Must
/// be called before any file is opened.
void set_read_check(ReadCheck check);

/// Remembers that a file needs no check, because this process has written it and read it back, for as long as its size
/// and modification time stay the same.
void note_readable(const std::string& path);

/// Checks HDF5 files in parallel, so that the results are known when the files are opened. Reports nothing itself; a
/// refused file is reported when it is opened.
void check_ahead(std::span<const std::string> paths);

/// Throws ConfigError if the check refuses a file. Remembers the result for as long as the file's size and modification
/// time stay the same. kind: what the file is, for the message.
void require_readable(const std::string& path, bool swmr, const std::string& kind);

}  // namespace onebit::sim
