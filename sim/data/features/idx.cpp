#include "sim/data/features/idx.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "device/base/error.hpp"
#include "sim/data/features/byte_rows.hpp"
#include "sim/data/features/idx_files.hpp"
#include "sim/data/files/input_file.hpp"
#include "sim/data/hash.hpp"

namespace onebit::sim {
namespace {

std::string hex(std::uint64_t word) {
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(word >> shift) & 15U];
  return text;
}

struct IdxFile {
  Bytes bytes;
  IdxLayout layout;
};

IdxFile load(const std::string& path, Index dimensions, Switch mapping) {
  const InputFile file(path, "give images,labels with --data.path");
  const Bytes begin = file.opening();
  const Index enough = begin.size() < idx_header(dimensions) ? 0 : idx_size(begin, dimensions) + 1;
  Bytes bytes = file.load(mapping, idx_header(dimensions) + dense_limit, enough);
  IdxLayout layout = parse_idx(bytes, dimensions);
  return {std::move(bytes), std::move(layout)};
}

std::string describe(const IdxFile& file) {
  std::string text = file.bytes.name() + ": " + std::to_string(file.bytes.size()) + " bytes unpacked,";
  const std::vector<Index>& sizes = file.layout.sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? " x " : " ") + std::to_string(sizes[i]);
  return text;
}

/// Reads pairs of files in sequence.
class IdxReader {
 public:
  explicit IdxReader(Switch mapping) : mapping_(mapping) {}

  /// Adds a pair of files. Returns the number of examples added.
  Index add(const IdxPair& pair) {
    const IdxFile images = load(pair.images, 3, mapping_);
    const IdxFile labels = load(pair.labels, 1, mapping_);
    const Index count = images.layout.sizes[0];
    if (count != labels.layout.sizes[0]) {
      throw ConfigError(std::to_string(count) + " images but " + std::to_string(labels.layout.sizes[0]) + " labels",
                        pair.images + ", " + pair.labels,
                        "check that both files belong to the same set and are complete");
    }
    set_image({1, images.layout.sizes[1], images.layout.sizes[2]}, pair.images);
    rows_->add(images.bytes, images.layout.header, examples_.facts.features, count);
    examples_.labels.insert(examples_.labels.end(), labels.bytes.data() + labels.layout.header,
                            labels.bytes.data() + labels.bytes.size());
    for (const IdxFile* file : {&images, &labels}) {
      hash_.add(file->bytes.data(), file->bytes.view().size());
      examples_.facts.provenance.push_back(describe(*file));
    }
    if (!pair.note.empty()) examples_.facts.provenance.push_back(pair.note);
    return count;
  }

  DenseExamples finish() {
    examples_.facts.name = "idx";
    examples_.facts.classes = 1 + *std::max_element(examples_.labels.begin(), examples_.labels.end());
    examples_.facts.hash = hash_.hex();
    examples_.features = std::move(rows_);
    return std::move(examples_);
  }

 private:
  void set_image(const ImageShape& shape, const std::string& path) {
    DataFacts& facts = examples_.facts;
    if (facts.features > 0 && facts.image != shape) {
      throw ConfigError("the images differ in size from the training images", path,
                        "name a test set of the same kind with --data.test");
    }
    facts.image = shape;
    facts.features = shape.height * shape.width;
  }

  Switch mapping_;
  DenseExamples examples_;
  std::unique_ptr<ByteRows> rows_ = std::make_unique<ByteRows>();
  Fnv1a hash_;
};

IdxLayout read_header(const Bytes& bytes, Index dimensions) {
  const std::uint64_t magic = 0x800U + static_cast<std::uint64_t>(dimensions);  // 0x08: unsigned bytes
  const std::uint64_t found = bytes.big_endian(0, 4);
  if (found != magic) {
    bytes.refuse("bad magic " + hex(found) + ", expected " + hex(magic), 0,
                 "give --data.path images,labels in this order");
  }
  IdxLayout layout{.sizes = {}, .header = idx_header(dimensions)};
  bytes.need(layout.header);
  for (Index offset = 4; offset < layout.header; offset += 4) {
    layout.sizes.push_back(static_cast<Index>(bytes.big_endian(offset, 4)));
    if (layout.sizes.back() == 0) bytes.refuse("dimension " + std::to_string(offset / 4 - 1) + " is zero", offset);
  }
  return layout;
}

}  // namespace

Index idx_size(const Bytes& begin, Index dimensions) {
  const IdxLayout layout = read_header(begin, dimensions);
  return layout.header + dense_volume(layout.sizes, begin.name() + ", offset 4");
}

IdxLayout parse_idx(const Bytes& bytes, Index dimensions) {
  const Index end = idx_size(bytes, dimensions);
  bytes.need(end);
  bytes.expect_end(end);
  return read_header(bytes, dimensions);
}

std::unique_ptr<DataSource> make_idx(const DataConfig& config) {
  if (config.test.size() == 1 || config.test.size() > 2) {
    throw ConfigError("a test set is a pair of files", "--data.test", "give --data.test images,labels");
  }
  IdxReader reader(config.mapping);
  reader.add(find_idx_pair(config.paths));
  const Index test = config.test.empty() ? 0 : reader.add({config.test[0], config.test[1], ""});
  DenseExamples examples = reader.finish();
  examples.test = test;
  return make_dense(std::move(examples), config);
}

}  // namespace onebit::sim
