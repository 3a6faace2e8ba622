#pragma once
// Lines of a program's output as launchers of parallel jobs write them to a log.

#include <string>

namespace onebit::netmodel {

/// Returns what the program itself printed on a line of a log. Removes the prefixes of `srun --label` ("0: "), of
/// `mpirun --tag-output` ("[1,0]<stdout>:", with or without the colon) and of SkyPilot and Ray ("(head, rank=0,
/// pid=3808) "), even if several follow one another; colours and other terminal control sequences; and carriage
/// returns, with the text that the rest of the line overwrites.
std::string program_line(const std::string& line);

}  // namespace onebit::netmodel
