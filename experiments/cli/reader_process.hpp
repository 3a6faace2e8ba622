#pragma once
// A separate process reads each HDF5 file before the program does, except logs that the program has written itself and
// has read back. On a damaged file HDF5 may crash, hang or take gigabytes; it then does so in that process, and the
// program reports it in one line.
//
// The reader is the same program, started with a hidden first argument. Its only output is the reason why the file must
// not be read, written to its standard output, which is a pipe.

namespace onebit::experiments {

/// Installs the check of sim::set_read_check(): a reader process must read the file to its end within limits of time
/// and memory that depend on the size of the file.
void check_files_in_readers();

/// Whether this process is a reader.
bool is_reader(int argc, char** argv);

/// The main function of a reader. Returns the exit status.
int read_for_parent(char** argv);

}  // namespace onebit::experiments
