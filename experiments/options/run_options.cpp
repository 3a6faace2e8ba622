// Options of a run's size, log, model and data.

#include "experiments/options/option_fields.hpp"

namespace onebit::experiments {
namespace {

using device::Precision;
using Split = sim::DataSource::Split;

/// Returns the row of an option that lists the widths of layers.
RunOption widths(const std::string& name, const std::string& help, std::vector<Index> sim::ModelConfig::*place) {
  return holding<sim::RunConfig>(ValueKind::integers, {name, help,
                                                       [name, place](sim::RunConfig& config, const std::string& text) {
                                                         (config.model.*place).clear();
                                                         if (text.ends_with(','))
                                                           malformed(name, text, "widths separated by commas");
                                                         for (const std::string& width : split(text, ',')) {
                                                           (config.model.*place).push_back(parse_integer(name, width));
                                                         }
                                                       },
                                                       [place](const sim::RunConfig& config) {
                                                         std::vector<std::string> all;
                                                         for (Index width : config.model.*place)
                                                           all.push_back(std::to_string(width));
                                                         return join(all, ",");
                                                       }});
}

RunOption memory_option() {
  return holding<sim::RunConfig>(
      ValueKind::integer,
      {"memory", "memory that the run may use, e.g. 8GB or 512MB; 0: nine tenths of the free memory",
       [](sim::RunConfig& config, const std::string& text) { config.memory = parse_bytes("memory", text); },
       [](const sim::RunConfig& config) { return std::to_string(config.memory); }});
}

template <class Place>
RunOption automatic(const std::string& name, const std::string& help, Place place) {
  return choice(name, help, place,
                std::map<std::string, sim::Switch>{
                    {"auto", sim::Switch::automatic}, {"true", sim::Switch::yes}, {"false", sim::Switch::no}});
}

RunOption image_option() {
  return {"data.image", "synthetic: examples are images of channels x height x width, e.g. 3x32x32; empty: no images",
          [](sim::RunConfig& config, const std::string& text) {
            const std::vector<std::string> sizes = split(text, 'x');
            config.data.image = {};
            if (sizes.empty()) return;
            if (sizes.size() != 3) malformed("data.image", text, "channels x height x width, e.g. 3x32x32");
            config.data.image = {parse_integer("data.image", sizes[0]), parse_integer("data.image", sizes[1]),
                                 parse_integer("data.image", sizes[2])};
          },
          [](const sim::RunConfig& config) {
            const auto [channels, height, width] = config.data.image;
            if (config.data.image == sim::ImageShape{}) return std::string();
            return std::to_string(channels) + "x" + std::to_string(height) + "x" + std::to_string(width);
          }};
}

}  // namespace

std::vector<RunOption> model_options() {
  return {
      named(field("model", "benchmark model, see 'onebit list models'", ONEBIT_PLACE(model.name)),
            [] { return names_of(sim::models()); }),
      widths("model.layers", "mlp: widths from input to output, e.g. 784,256,10; empty: features,128,classes",
             &sim::ModelConfig::layers),
      field("model.init", "file of initial weights, as --weights-out writes it; empty: drawn from the seed",
            ONEBIT_PLACE(model.init)),
      choice("model.precision", "format that the operands of matrix products are rounded to",
             ONEBIT_PLACE(model.precision),
             std::map<std::string, Precision>{
                 {"fp32", Precision::fp32}, {"tf32", Precision::tf32}, {"bf16", Precision::bf16}}),
      field("model.activation", "mlp, ngram: activation, relu or gelu", ONEBIT_PLACE(model.activation)),
      field("model.context", "tokens per example; 0: the model's own number", ONEBIT_PLACE(model.context)),
      field("model.embedding", "ngram: size of a byte's embedding", ONEBIT_PLACE(model.embedding)),
      field("model.cut", "mlp, transformers: layers or blocks before a boundary between two groups of workers; 0: none",
            ONEBIT_PLACE(model.cut)),
      field("model.hidden", "ngram: width of the hidden layer; des-deepfm: of the first deep layer",
            ONEBIT_PLACE(model.hidden)),
      widths("model.bottom", "dlrm: widths of all bottom layers except the last, e.g. 512,256; empty: the model's own",
             &sim::ModelConfig::bottom),
      widths("model.top",
             "dlrm, des-deepfm: widths of all top layers except the last, e.g. 512,256; empty: the model's own",
             &sim::ModelConfig::top),
      word("model.interaction", "dlrm: features are combined by products of pairs, or by concatenation",
           ONEBIT_PLACE(model.interaction), {"dot", "cat"}),
      field("model.dimension", "quadratic: number of coordinates", ONEBIT_PLACE(model.dimension)),
      field("model.blocks", "quadratic: number of tensors; their sizes differ by at most one element",
            ONEBIT_PLACE(model.blocks)),
      field("model.spectrum", "quadratic: spectrum of eigenvalues, linear, log, power:P or flat",
            ONEBIT_PLACE(model.spectrum)),
      field("model.condition", "quadratic: largest eigenvalue divided by the smallest", ONEBIT_PLACE(model.condition)),
      field("model.rotate", "quadratic: rotate the eigenvectors away from the coordinate axes",
            ONEBIT_PLACE(model.rotate)),
      field("model.noise", "quadratic: root mean square norm of an example's noise", ONEBIT_PLACE(model.noise)),
      field("model.heterogeneity", "quadratic: root mean square norm of the workers' gradients at the optimum",
            ONEBIT_PLACE(model.heterogeneity)),
      field("model.depth", "transformers: number of blocks; 0: the model's own", ONEBIT_PLACE(model.depth)),
      field("model.width", "transformers: width of the hidden state; 0: the model's own", ONEBIT_PLACE(model.width)),
      field("model.heads", "transformers: number of attention heads; 0: the model's own", ONEBIT_PLACE(model.heads)),
      field("model.layer-norm",
            "transformers: position of layer norms, pre or post; empty: post for bert-*, pre for gpt*",
            ONEBIT_PLACE(model.layer_norm)),
      field("model.dropout", "transformers: share of values dropped in training; -1: the model's own",
            ONEBIT_PLACE(model.dropout)),
      field("model.tied", "transformers: tie the output layer to the embedding table", ONEBIT_PLACE(model.tied)),
      word("model.regulariser", "logistic: regulariser", ONEBIT_PLACE(model.regulariser), {"l2", "nonconvex", "none"}),
      field("model.lambda", "logistic: factor of the regulariser", ONEBIT_PLACE(model.lambda)),
      field("model.bias", "logistic: add a feature that is always 1", ONEBIT_PLACE(model.bias)),
      field("model.norm", "resnet: normalisation, group (GroupNorm) or batch (BatchNorm per worker)",
            ONEBIT_PLACE(model.norm)),
      field("model.groups", "resnet: number of groups of GroupNorm", ONEBIT_PLACE(model.groups)),
      field("model.command", "external: shell command of the worker program, e.g. 'python3 worker.py'",
            ONEBIT_PLACE(model.command)),
      field("model.timeout", "external: seconds within which the worker program has to answer",
            ONEBIT_PLACE(model.timeout)),
  };
}

std::vector<RunOption> data_options() {
  return {
      named(field("data", "data source, see 'onebit list data'", ONEBIT_PLACE(data.name)),
            [] { return names_of(sim::data_sources()); }),
      list("data.path", "files or folders with the data, separated by commas", "files or folders",
           ONEBIT_PLACE(data.paths)),
      list("data.test", "files of the held-out split; empty: hold out a share of the examples", "files",
           ONEBIT_PLACE(data.test)),
      field("data.holdout", "share of the examples held out for evaluation", ONEBIT_PLACE(data.holdout)),
      field("data.split", "how training examples are split among workers: iid, label, dirichlet:A, size or size:P",
            ONEBIT_PLACE(data.split)),
      automatic("data.mmap", "map plain files instead of reading them; auto: from 64 MiB", ONEBIT_PLACE(data.mapping)),
      automatic("data.standardise",
                "scale features to mean 0 and standard deviation 1; auto: true except for libsvm, clicks* and criteo",
                ONEBIT_PLACE(data.standardise)),
      field("data.vocabulary", "text: file of word pieces, one per line; empty: bytes", ONEBIT_PLACE(data.vocabulary)),
      field("data.lowercase", "text with word pieces: convert ASCII letters to lower case",
            ONEBIT_PLACE(data.lowercase)),
      bounded("data.token-bytes", "tokens: bytes per token in files without a header: 1, 2 or 4", 4,
              ONEBIT_PLACE(data.token_bytes)),
      field("data.features",
            "features per example; 0: 32 (synthetic) or 13 (clicks*); libsvm: minimum number of features",
            ONEBIT_PLACE(data.features)),
      image_option(),
      field("data.classes", "synthetic: number of classes", ONEBIT_PLACE(data.classes)),
      field("data.examples",
            "synthetic, clicks*: total number of examples in both splits (default of clicks: 200000); criteo: largest "
            "number of training examples to read (default: 0, all)",
            ONEBIT_PLACE(data.examples)),
      field("data.tables", "clicks*: number of tables; 0: 26, or as many as --data.rows lists",
            ONEBIT_PLACE(data.tables)),
      field("data.rows", "clicks*: rows of the tables: kaggle, one number for all, or a list such as 1000,50,3",
            ONEBIT_PLACE(data.rows)),
      field("data.max-rows",
            "clicks* with --data.rows kaggle: largest number of rows in a table; criteo: number of rows in every table",
            ONEBIT_PLACE(data.max_rows)),
      field("data.zipf", "clicks: exponent a, 0 to 3; the id of rank r occurs in proportion to (r + 1)^-a",
            ONEBIT_PLACE(data.zipf)),
      field("data.drift", "clicks: share of the ranks whose ids change each day, over seven days, 0 to 1",
            ONEBIT_PLACE(data.drift)),
      field("data.bag",
            "clicks: number of ids drawn for a bag; clicks-random: the largest number; 0: 1 or, for clicks-random, 10",
            ONEBIT_PLACE(data.bag)),
      field("data.fixed-bag", "clicks-random: draw exactly data.bag ids for every bag", ONEBIT_PLACE(data.fixed_bag)),
  };
}

std::vector<RunOption> run_size_options() {
  return {
      field("workers", "virtual data-parallel workers", ONEBIT_PLACE(workers)),
      field("batch", "examples per worker and pass", ONEBIT_PLACE(batch)),
      field("accumulation", "passes whose gradients are averaged for one step", ONEBIT_PLACE(accumulation)),
      field("steps", "number of steps; 0: from --epochs, else 1000", ONEBIT_PLACE(steps)),
      field("epochs", "number of passes over the training split; 0: from --steps", ONEBIT_PLACE(epochs)),
      bounded("seed", "seed of initial weights, sampling, dropout, noise and codecs", 0xFFFFFFFF, ONEBIT_PLACE(seed)),
  };
}

std::vector<RunOption> place_options() {
  return {
      named(field("devices", "where to compute, see 'onebit list devices'", ONEBIT_PLACE(device)),
            [] {
              std::vector<std::string> names;
              for (const auto& [name, doc] : device::list_devices()) names.push_back(name);
              return names;
            }),
      bounded("threads", "OpenMP threads; 0: OMP_NUM_THREADS, or else one per core", 4096, ONEBIT_PLACE(threads)),
      field("graphs", "GPUs: record a repeated pass as a CUDA graph and replay it", ONEBIT_PLACE(graphs)),
      field(
          "worker-group",
          "workers per device whose gradients are held at the same time; 0: chosen for speed, within the memory limit",
          ONEBIT_PLACE(worker_group)),
      memory_option(),
  };
}

std::vector<RunOption> log_options() {
  return {
      field("label", "name of the run's arm in comparisons and reports", ONEBIT_PLACE(label)),
      field("log.every", "steps between rows of /steps", ONEBIT_PLACE(log.every)),
      field("log.workers-every", "steps between rows of /workers; 0: none", ONEBIT_PLACE(log.workers_every)),
      field("log.tensors-every", "steps between rows of /tensors; 0: none", ONEBIT_PLACE(log.tensors_every)),
      field("log.flush", "longest time between flushes, in seconds", ONEBIT_PLACE(log.flush_seconds)),
      field("log.flush-every", "largest number of steps between flushes; 0: no limit", ONEBIT_PLACE(log.flush_every)),
      field("log.compression", "deflate level of a finished run's log, 1 to 9; 0: no compression",
            ONEBIT_PLACE(log.compression)),
      field("probe.every", "steps between probes of the theory's quantities, see docs/analyze.md; 0: none",
            ONEBIT_PLACE(probe.every)),
      field("probe.curvature", "gradients per probe for a power iteration that finds the largest curvature; 0: none",
            ONEBIT_PLACE(probe.curvature)),
      field("probe.moved", "relative change of sqrt(v) above which a coordinate counts as moved",
            ONEBIT_PLACE(probe.moved)),
      field("checkpoint.every", "steps between checkpoints; 0: only when a signal stops the run",
            ONEBIT_PLACE(checkpoint.every)),
      field("checkpoint.keep", "how many of the newest checkpoints to keep", ONEBIT_PLACE(checkpoint.keep)),
      field("eval.every",
            "steps between evaluations; 0: a twentieth of the run, or more if evaluations would cost more than a fifth "
            "of it",
            ONEBIT_PLACE(eval.every)),
      field(
          "eval.examples",
          "examples per evaluation, evenly spread over the split; 0: 8192, or fewer to stay within a fifth of the run",
          ONEBIT_PLACE(eval.examples)),
      choice("eval.split", "split on which to evaluate: held-out or training examples", ONEBIT_PLACE(eval.split),
             std::map<std::string, Split>{{"holdout", Split::holdout}, {"train", Split::train}}),
  };
}

}  // namespace onebit::experiments
