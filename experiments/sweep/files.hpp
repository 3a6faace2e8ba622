#pragma once
// Files of a sweep's folder, which several programs and machines may share.

#include <functional>
#include <string>

namespace onebit::experiments {

/// The whole file; empty where there is none.
std::string file_text(const std::string& path);

/// Replaces a file at once, for as long as the power stays on: it is not synced. Throws IoError.
void write_file(const std::string& path, const std::string& text);

/// Replaces a file by what write(temporary path) makes: written under another name, synced, renamed. Throws IoError.
void replace_file(const std::string& path, const std::function<void(const std::string&)>& write);
void replace_file(const std::string& path, const std::string& text);

/// Creates a file with all of its text at once. False: there is one of that name. Throws IoError.
bool create_file(const std::string& path, const std::string& text);

/// Removes temporary files that programs of this host left behind when they were killed.
void remove_leftovers(const std::string& folder);

std::string host_name();

}  // namespace onebit::experiments
