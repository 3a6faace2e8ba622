// Options of model parallelism: embedding tables that workers own, and what workers send each other.

#include "experiments/options/option_fields.hpp"

namespace onebit::experiments {
namespace {

RunOption capacity_option() {
  return holding<sim::RunConfig>(
      ValueKind::integer, {"tables.capacity", "bytes of tables that a worker can hold, e.g. 40GB; 0: no limit",
                           [](sim::RunConfig& config, const std::string& text) {
                             config.model.tables.capacity = parse_bytes("tables.capacity", text);
                           },
                           [](const sim::RunConfig& config) { return std::to_string(config.model.tables.capacity); }});
}

std::vector<std::string> boundary_codecs() {
  std::vector<std::string> names = names_of(compress::codecs());
  names.emplace_back("dct-mp");
  return names;
}

}  // namespace

std::vector<RunOption> hybrid_options() {
  return {
      field("tables.width", "dlrm, des-fm, des-deepfm: numbers in a row of a table; 0: the model's own",
            ONEBIT_PLACE(model.tables.width)),
      word("tables.split", "dlrm: workers own whole tables, or a range of rows or columns of every table",
           ONEBIT_PLACE(model.tables.split), {"table", "row", "column"}),
      word("tables.optimizer", "dlrm, des: optimizer of the tables' rows; adagrad is row-wise",
           ONEBIT_PLACE(model.tables.optimizer), {"sgd", "adagrad"}),
      field("tables.lr",
            "dlrm, des: learning rate of the tables, before the schedule; 0: the run's learning rate if --optimizer is "
            "a form of SGD, otherwise 1 (0.01 with --tables.optimizer adagrad)",
            ONEBIT_PLACE(model.tables.lr)),
      field("tables.eps", "dlrm, des: adagrad's eps, above 0", ONEBIT_PLACE(model.tables.eps)),
      capacity_option(),
      named(field("boundary.codec", "codec of activations sent between workers, or dct-mp; fp32: uncompressed",
                  ONEBIT_PLACE(model.boundary.codec.name)),
            boundary_codecs),
      field("boundary.k", "sparse boundary codecs: share of the elements to send (below 1) or their number",
            ONEBIT_PLACE(model.boundary.codec.k)),
      word("boundary.scope", "scope of a scale or threshold: a sender's batch, one sample of it, or one neuron",
           ONEBIT_PLACE(model.boundary.scope), {"batch", "sample", "neuron"}),
      field("boundary.renew", "dct, dct-mp: steps between two renewals of the boundary's threshold, at least 1",
            ONEBIT_PLACE(model.boundary.codec.renew)),
      word("boundary.forward", "how activations are sent: through the codec (codec), or uncompressed (dense)",
           ONEBIT_PLACE(model.boundary.forward), {"codec", "dense"}),
      word("boundary.backward",
           "how the gradients of activations return: through the codec (codec), only where values were sent (mask, "
           "default of dct-mp), or uncompressed (dense)",
           ONEBIT_PLACE(model.boundary.backward), {"codec", "mask", "dense"}),
      field("boundary.levels", "qsgd at the boundary: levels of one sign, at least 1",
            ONEBIT_PLACE(model.boundary.codec.levels)),
      field("boundary.block", "block-scaled codecs at the boundary: elements that share one scale",
            ONEBIT_PLACE(model.boundary.codec.block)),
      field("boundary.threshold", "threshold at the boundary: smallest magnitude that is sent",
            ONEBIT_PLACE(model.boundary.codec.threshold)),
      field("boundary.scaled", "random-k at the boundary: multiply the values by n/k",
            ONEBIT_PLACE(model.boundary.codec.scaled)),
      word("boundary.packing", "sparse codecs, qsgd at the boundary: lossless packing of the payload",
           ONEBIT_PLACE(model.boundary.codec.packing), {"none", "delta", "elias"}),
  };
}

}  // namespace onebit::experiments
