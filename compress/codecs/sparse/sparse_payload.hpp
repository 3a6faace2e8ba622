#pragma once
// Packs a few elements of a segment into bytes: their number, their values, their indices.

#include "compress/codecs/bit_stream.hpp"
#include "compress/codecs/segment_kernels.hpp"
#include "compress/codecs/sparse/selection.hpp"

namespace onebit::compress {

/// Payload of some of the n elements of a segment, in ascending order of their indices:
///
///   number of elements that are sent   only if `counted`, for receivers that do not know it; as many bytes as n needs
///   bytes of the indices               only if `gaps`; as many bytes as n needs
///   values                             float32 each
///   indices                            contiguous bits, lowest first, the last byte filled with zeros
///
/// An index takes ceil(log2 n) bits, or with `gaps` a Rice code (Golomb 1966; Rice 1979) of the number of elements
/// skipped since the previous one: its quotient by 2^b in unary, then b bits of remainder. 2^b is the largest power of
/// two that does not exceed the mean gap, floor((n - count) / count); b = 0 if that is below 1. All gaps add up to at
/// most n - count, so the indices take at most count (b + 1) + (n - count) / 2^b bits. That is never more than a bitmap
/// of n bits, and it grows with the number of elements sent.
struct SparsePayload {
  bool counted;
  bool gaps;

  /// Number of bytes that suffices for up to `most` elements out of n.
  ONEBIT_HOST_DEVICE Index bytes(Index n, Index most) const { return header(n) + 4 * most + index_bytes(n, most); }

  /// Writes the elements of a cut and sets them to 0 in the input, which then holds the error. Returns the number of
  /// bytes used; with `gaps`, the result is correct in one lane only.
  template <class Lanes>
  ONEBIT_DEVICE Index write(const SegmentInput& in, const Cut& cut, std::uint8_t* out, const Lanes& lanes) const {
    std::uint8_t* values = out + header(in.n);
    std::uint8_t* indices = values + 4 * cut.count;
    const Index stream =
        gaps ? write_gaps(in, cut, values, indices, lanes) : write_indices(in, cut, values, indices, lanes);
    lanes.once([&, this] {
      if (counted) put_number(out, in.n, cut.count);
      if (gaps) put_number(out + (counted ? number_bytes(in.n) : 0), in.n, stream);
    });
    return header(in.n) + 4 * cut.count + stream;
  }

  /// Calls use(i, value) for every element that was sent. `count`: the number of these elements; used only if the
  /// payload does not contain it.
  template <class Use, class Lanes>
  ONEBIT_DEVICE void read(const std::uint8_t* in, Index n, Index count, const Use& use, const Lanes& lanes) const {
    if (counted) count = get_number(in, n);
    const std::uint8_t* values = in + header(n);
    const std::uint8_t* indices = values + 4 * count;
    const auto use_index = [&use, values](Index j, Index i) { use(i, load<float>(values + 4 * j)); };
    if (gaps) {
      lanes.once([&] { read_gaps(indices, rice_bits(n, count), count, use_index); });
    } else {
      const auto use_code = [&use_index](Index j, std::uint64_t code) { use_index(j, static_cast<Index>(code)); };
      get_codes(indices, count, bit_width(n - 1), use_code, lanes);
    }
  }

 private:
  /// Moves an element to its place among the values, leaving 0.
  ONEBIT_HOST_DEVICE static void move(float& y, std::uint8_t* value) {
    store(value, y);
    y = 0;
  }
  template <class Lanes>
  ONEBIT_DEVICE static Index write_indices(const SegmentInput& in, const Cut& cut, std::uint8_t* values,
                                           std::uint8_t* indices, const Lanes& lanes) {
    const int bits = bit_width(in.n - 1);
    static_assert(device::kTogether == 8, "kTogether indices fill whole bytes");
    lanes.select(
        in.n, [&](Index i) { return cut.sends(i, in.y[i]); },
        [&](Index rank, const Index* sent, Index count) {
          BitWriter writer(indices + rank / 8 * bits);
          for (Index k = 0; k < count; ++k) {
            move(in.y[sent[k]], values + 4 * (rank + k));
            writer.put(static_cast<std::uint64_t>(sent[k]), bits);
          }
          writer.finish();
        });
    return ceil_div(cut.count * bits, 8);
  }
  /// Writes the gaps with one lane, because the start of a gap's bits depends on all gaps before it.
  template <class Lanes>
  ONEBIT_DEVICE static Index write_gaps(const SegmentInput& in, const Cut& cut, std::uint8_t* values,
                                        std::uint8_t* indices, const Lanes& lanes) {
    const int bits = rice_bits(in.n, cut.count);
    BitWriter writer(indices);
    Index next = 0;  // the smallest index that the next element can have
    lanes.template select<true>(
        in.n, [&](Index i) { return cut.sends(i, in.y[i]); },
        [&](Index rank, const Index* sent, Index count) {
          for (Index k = 0; k < count; ++k) {
            move(in.y[sent[k]], values + 4 * (rank + k));
            put_gap(writer, sent[k] - next, bits);
            next = sent[k] + 1;
          }
        });
    Index written = 0;
    lanes.once([&] { written = writer.finish(); });
    return written;
  }
  template <class Use>
  ONEBIT_HOST_DEVICE static void read_gaps(const std::uint8_t* indices, int bits, Index count, const Use& use) {
    BitReader reader(indices);
    Index next = 0;
    for (Index j = 0; j < count; ++j) {
      const Index i = next + get_gap(reader, bits);
      use(j, i);
      next = i + 1;
    }
  }

  ONEBIT_HOST_DEVICE static Index number_bytes(Index n) { return ceil_div(bit_width(n), 8); }
  ONEBIT_HOST_DEVICE Index header(Index n) const { return ((counted ? 1 : 0) + (gaps ? 1 : 0)) * number_bytes(n); }
  ONEBIT_HOST_DEVICE static int rice_bits(Index n, Index count) {
    const int width = count > 0 ? bit_width((n - count) / count) : 0;
    return width > 0 ? width - 1 : 0;
  }
  ONEBIT_HOST_DEVICE Index index_bytes(Index n, Index count) const {
    if (count == 0) return 0;
    if (!gaps) return ceil_div(count * bit_width(n - 1), 8);
    const int b = rice_bits(n, count);
    return ceil_div(count * (b + 1) + ((n - count) >> b), 8);
  }
  ONEBIT_HOST_DEVICE static void put_gap(BitWriter& out, Index value, int bits) {
    out.put_unary(value >> bits);
    out.put(static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << bits) - 1), bits);
  }
  ONEBIT_HOST_DEVICE static Index get_gap(BitReader& in, int bits) {
    const Index quotient = in.get_unary();
    return (quotient << bits) + static_cast<Index>(in.get(bits));
  }
  ONEBIT_HOST_DEVICE static void put_number(std::uint8_t* out, Index n, Index value) {
    for (Index i = 0; i < number_bytes(n); ++i) out[i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
  ONEBIT_HOST_DEVICE static Index get_number(const std::uint8_t* in, Index n) {
    Index value = 0;
    for (Index i = 0; i < number_bytes(n); ++i) value |= static_cast<Index>(in[i]) << (8 * i);
    return value;
  }
};

}  // namespace onebit::compress
