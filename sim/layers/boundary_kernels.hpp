#pragma once
// Kernels of a boundary between workers.

#include <cmath>

#include "device/base/types.hpp"

namespace onebit::sim {

/// Which worker sends a column of an activation, and its place in what this worker sends.
struct SendingColumn {
  Index sender = 0;
  Index rank = 0;   ///< number of the column among the sender's columns
  Index width = 0;  ///< number of columns of the sender
  Index start = 0;  ///< number of columns of all senders before this one
};

/// Computes where an element of an activation [examples][columns] is in the row of numbers that a worker receives. The
/// row is [sender][example][the sender's columns] or, if by_neuron, [sender][the sender's columns][example].
struct BoundaryPlaces {
  Index batch;  ///< examples of a worker
  const SendingColumn* columns;
  bool by_neuron;

  ONEBIT_HOST_DEVICE Index operator()(Index example, Index column) const {
    const SendingColumn& c = columns[column];
    return batch * c.start + (by_neuron ? c.rank * batch + example : example * c.width + c.rank);
  }
};

/// What happens to an element at a boundary.
enum class Crossing : std::uint8_t {
  dropped,  ///< it is not sent
  sent,
  own  ///< it stays with the worker that has it
};

/// Writes an activation to the rows that its receivers get.
struct PackBoundaryKernel {
  BoundaryPlaces places;
  Index columns;
  const float* input;
  float* rows;  ///< [workers][batch x columns]
  ONEBIT_HOST_DEVICE void operator()(Index example, Index column) const {
    const Index worker = example / places.batch, own = example - worker * places.batch;
    rows[worker * places.batch * columns + places(own, column)] = input[example * columns + column];
  }
};

/// Reads an activation from decoded rows; what a worker sends to itself is copied from the input. An element of a
/// segment that could not be encoded becomes NaN.
struct UnpackBoundaryKernel {
  BoundaryPlaces places;
  Index columns;
  Index
      first_worker;  ///< number of the first worker; workers keep what they would send to themselves. Negative: none do
  bool by_sample;
  Index segments;
  const Index* refused;  ///< [workers][segments]; null if nothing is ever refused
  const float* decoded;  ///< [workers][batch x columns]
  const float* input;
  float* output;
  Crossing* crossings;  ///< [examples][columns]

  ONEBIT_HOST_DEVICE void operator()(Index example, Index column) const {
    const Index worker = example / places.batch, own = example - worker * places.batch;
    const SendingColumn& sender = places.columns[column];
    const Index at = example * columns + column;
    if (first_worker >= 0 && sender.sender == first_worker + worker) {
      output[at] = input[at];
      crossings[at] = Crossing::own;
      return;
    }
    const Index place = places(own, column);
    float value = decoded[worker * places.batch * columns + place];
    const Index segment = segment_of(sender, own);
    if (refused != nullptr && refused[worker * segments + segment] != 0) value = NAN;
    output[at] = value;
    crossings[at] = value != 0.0f ? Crossing::sent : Crossing::dropped;
  }

 private:
  /// Returns the segment of an element. A segment is all that one sender sends to a worker, one example of that
  /// (by_sample), or one column of that (by neuron).
  ONEBIT_HOST_DEVICE Index segment_of(const SendingColumn& column, Index example) const {
    if (by_sample) return column.sender * places.batch + example;
    return places.by_neuron ? column.start + column.rank : column.sender;
  }
};

/// Copies the gradient, but with 0 for elements that were dropped.
struct MaskKernel {
  const Crossing* crossings;
  const float* output_delta;
  float* input_delta;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    input_delta[i] = crossings[i] == Crossing::dropped ? 0.0f : output_delta[i];
  }
};

/// Number of elements that were sent.
struct SentTerm {
  const Crossing* crossings;
  Index own;  ///< elements of a worker
  ONEBIT_HOST_DEVICE double operator()(Index worker, Index, Index i) const {
    return crossings[worker * own + i] == Crossing::sent ? 1.0 : 0.0;
  }
};

/// Square of an element that crosses; 0 for one that stays with its worker.
struct CrossingSquareTerm {
  const Crossing* crossings;
  const float* values;
  Index own;  ///< elements of a worker
  ONEBIT_HOST_DEVICE double operator()(Index worker, Index, Index i) const {
    const Index at = worker * own + i;
    const auto value = static_cast<double>(values[at]);
    return crossings[at] == Crossing::own ? 0.0 : value * value;
  }
};

/// Dot products of two gradients, one computed with a boundary's codec and one without it: their product with each
/// other and the square of each.
struct AgreementTerm {
  static constexpr Index kinds = 3;
  const float* coded;
  const float* plain;
  ONEBIT_HOST_DEVICE double operator()(Index kind, Index, Index i) const {
    const float a = kind == 2 ? plain[i] : coded[i], b = kind == 1 ? coded[i] : plain[i];
    return static_cast<double>(a) * static_cast<double>(b);
  }
};

}  // namespace onebit::sim
