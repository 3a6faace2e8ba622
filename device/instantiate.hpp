// The words of a room's kernels.inl: which launcher runs which kernel. Included by each backend, which says what a
// launcher's name is.

#define ONEBIT_FOR_EACH(Kernel) ONEBIT_LAUNCHER(for_each(const ONEBIT_QUEUE&, onebit::Index, Kernel))
#define ONEBIT_FOR_EACH_ITEM(Kernel) ONEBIT_LAUNCHER(for_each_item(const ONEBIT_QUEUE&, onebit::Index, Kernel))
#define ONEBIT_FOR_EACH_ROW(Kernel) \
  ONEBIT_LAUNCHER(for_each_row(const ONEBIT_QUEUE&, onebit::Index, onebit::Index, Kernel))
#define ONEBIT_REDUCE(Kernel) \
  ONEBIT_LAUNCHER(reduce(const ONEBIT_QUEUE&, onebit::Index, const onebit::device::ChunkView&, Kernel, double*))
#define ONEBIT_PACK_BITS(Kernel) \
  ONEBIT_LAUNCHER(               \
      pack_bits(const ONEBIT_QUEUE&, const onebit::device::ChunkView&, const onebit::device::SignRows&, Kernel))
#define ONEBIT_FOR_EACH_SIGN_MEAN(Kernel)                                                   \
  ONEBIT_LAUNCHER(for_each_sign_mean(const ONEBIT_QUEUE&, const onebit::device::ChunkView&, \
                                     const onebit::device::ScaledSignRows&, Kernel))
#define ONEBIT_REDUCE_SIGN_MEAN(Kernel)                                                   \
  ONEBIT_LAUNCHER(reduce_sign_mean(const ONEBIT_QUEUE&, const onebit::device::ChunkView&, \
                                   const onebit::device::ScaledSignRows&, Kernel, double*))
