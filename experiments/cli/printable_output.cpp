#include "experiments/cli/printable_output.hpp"

#include <unistd.h>

#include <iostream>

#include "device/base/text.hpp"
#include "experiments/cli/window.hpp"

namespace onebit::experiments {

PrintableOutput::PrintableOutput() : target_(std::cout.rdbuf(this)), coloured_(has_colours(STDOUT_FILENO)) {}

PrintableOutput::~PrintableOutput() {
  pass_on();
  std::cout.rdbuf(target_);
}

Index PrintableOutput::columns() const {
  return window_columns(STDOUT_FILENO);
}

void PrintableOutput::paint(Tone tone) {
  if (!coloured_ || !pass_on()) return;
  const std::string_view sequence = sequence_of(tone);
  target_->sputn(sequence.data(), static_cast<std::streamsize>(sequence.size()));
}

PrintableOutput::int_type PrintableOutput::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char one = traits_type::to_char_type(byte);
  return xsputn(&one, 1) == 1 ? byte : traits_type::eof();
}

std::streamsize PrintableOutput::xsputn(const char* bytes, std::streamsize count) {
  const std::string_view text(bytes, static_cast<std::size_t>(count));
  const std::size_t lines = text.rfind('\n') + 1;  // 0 without a line end
  pending_ += text.substr(0, lines);
  if (lines > 0 && !pass_on()) return 0;
  pending_ += text.substr(lines);
  return count;
}

int PrintableOutput::sync() {
  return pass_on() && target_->pubsync() == 0 ? 0 : -1;
}

/// Writes what is pending. Returns false if the target does not take it.
bool PrintableOutput::pass_on() {
  const std::string text = printable(pending_, "\n");
  pending_.clear();
  const auto size = static_cast<std::streamsize>(text.size());
  return target_->sputn(text.data(), size) == size;
}

}  // namespace onebit::experiments
