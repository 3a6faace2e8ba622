#pragma once
// The program's standard output, made safe for a terminal.

#include <streambuf>
#include <string>

#include "experiments/output/screen.hpp"

namespace onebit::experiments {

/// Applies printable() to everything that goes to std::cout during its lifetime, except line ends: names and texts in
/// the files that a command reads may contain sequences that control a terminal. Whole lines are passed on at once, the
/// rest when std::cout is flushed. The program's own colours bypass this filter; colour sequences within a text do not.
class PrintableOutput : public Screen {
 public:
  PrintableOutput();
  ~PrintableOutput() override;
  PrintableOutput(const PrintableOutput&) = delete;
  PrintableOutput& operator=(const PrintableOutput&) = delete;

  Index columns() const override;
  void paint(Tone tone) override;

 private:
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* bytes, std::streamsize count) override;
  int sync() override;
  bool pass_on();

  std::streambuf* target_;
  bool coloured_;
  std::string pending_;
};

}  // namespace onebit::experiments
