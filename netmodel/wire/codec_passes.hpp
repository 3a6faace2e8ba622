#pragma once
// The costs of a codec on a GPU: the bytes of memory that its kernels touch. The codecs of compress/ state them, and
// the step model prices them.

namespace onebit::netmodel {

/// Bytes of memory that fused kernels must touch in a codec's passes over vectors of float32, with error feedback. Sums
/// of payloads stay in registers. The bytes of the payloads, which are written once and read once, are added.
struct CodecPasses {
  double encode = 0;     ///< for each element that a worker encodes: read input and error, select, write the error
  double serve = 0;      ///< for each element of a server's chunk: add the workers' mean to the error, encode it again
  double decode = 0;     ///< for each element of the result
  double scattered = 0;  ///< for each received byte, if the payload's elements are scattered in memory; otherwise 0
  double released = 0;   ///< all bytes for each element in the code released with the method; 0: no figure is known

  friend bool operator==(const CodecPasses&, const CodecPasses&) = default;
};

/// Bytes that a GPU reads and writes to add one element at an arbitrary place in memory: a sector of 32 bytes, twice.
inline constexpr double kScatteredBytes = 64;

}  // namespace onebit::netmodel
