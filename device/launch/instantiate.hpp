// The macros with which a room's kernels.inl states which launcher runs which kernel. Each backend includes this file
// and defines what the macros expand to.

#define ONEBIT_FOR_EACH(...) ONEBIT_LAUNCHER(for_each(const ONEBIT_QUEUE&, onebit::Index, __VA_ARGS__))
#define ONEBIT_FOR_EACH_ITEM(...) ONEBIT_LAUNCHER(for_each_item(const ONEBIT_QUEUE&, onebit::Index, __VA_ARGS__))
#define ONEBIT_FOR_EACH_LARGE_ITEM(...) \
  ONEBIT_LAUNCHER(for_each_large_item(const ONEBIT_QUEUE&, const onebit::device::ItemSizes&, __VA_ARGS__))
#define ONEBIT_FOR_EACH_ROW(...) \
  ONEBIT_LAUNCHER(for_each_row(const ONEBIT_QUEUE&, onebit::Index, onebit::Index, __VA_ARGS__))
#define ONEBIT_SUM_COLUMNS(...) \
  ONEBIT_LAUNCHER(sum_columns(const ONEBIT_QUEUE&, onebit::Index, onebit::Index, onebit::Index, __VA_ARGS__))
#define ONEBIT_REDUCE(...) \
  ONEBIT_LAUNCHER(reduce(const ONEBIT_QUEUE&, onebit::Index, const onebit::device::ChunkView&, __VA_ARGS__, double*))
#define ONEBIT_PACK_BITS(...) \
  ONEBIT_LAUNCHER(            \
      pack_bits(const ONEBIT_QUEUE&, const onebit::device::ChunkView&, const onebit::device::SignRows&, __VA_ARGS__))
#define ONEBIT_REDUCE_AND_PACK(...)                                                                                  \
  ONEBIT_LAUNCHER(reduce_and_pack(const ONEBIT_QUEUE&, onebit::Index, const onebit::device::ChunkView&, __VA_ARGS__, \
                                  double*, const onebit::device::SignRows&))
#define ONEBIT_FOR_EACH_SIGN_MEAN(...)                                                      \
  ONEBIT_LAUNCHER(for_each_sign_mean(const ONEBIT_QUEUE&, const onebit::device::ChunkView&, \
                                     const onebit::device::ScaledSignRows&, __VA_ARGS__))
#define ONEBIT_REDUCE_SIGN_MEAN(...)                                                      \
  ONEBIT_LAUNCHER(reduce_sign_mean(const ONEBIT_QUEUE&, const onebit::device::ChunkView&, \
                                   const onebit::device::ScaledSignRows&, __VA_ARGS__, double*))
#define ONEBIT_REDUCE_SIGNS(...)                                                      \
  ONEBIT_LAUNCHER(reduce_signs(const ONEBIT_QUEUE&, const onebit::device::ChunkView&, \
                               const onebit::device::SignVector&, __VA_ARGS__, double*))
