#pragma once
// All errors that the library throws. A message is one line: what went wrong, where, and what to do about it.

#include <stdexcept>
#include <string>

namespace onebit {

/// Base of all errors thrown by the library. what() is one line "<what> (<where>); <hint>", without empty parts; it is
/// printable(), and very long parts are shortened in the middle.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, const std::string& where = "", const std::string& hint = "");
};

/// The user asked for something impossible: a bad option, configuration or input file. Exit status 2.
class ConfigError : public Error {
  using Error::Error;
};

/// The operating system or HDF5 failed to read or write. Exit status 1. If an input that the user named cannot be
/// opened, readers mostly throw ConfigError instead.
class IoError : public Error {
  using Error::Error;
};

/// A loss, gradient or parameter is not finite. Exit status 1.
class NumericError : public Error {
  using Error::Error;
};

/// A worker program, which the user provides, has failed. Exit status 1.
class WorkerError : public Error {
  using Error::Error;
};

/// The user asked for a stop, and the worker program did not answer in time. Exit status 130.
class StopError : public Error {
  using Error::Error;
};

/// A call to CUDA or cuBLAS failed. The contents of the GPU's memory may be lost. Exit status 1.
class DeviceError : public Error {
  using Error::Error;
};

/// The user asked for a backend that this build does not contain. Exit status 2.
class NotCompiled : public ConfigError {
  using ConfigError::ConfigError;
};

}  // namespace onebit
