#include "sim/data/tokens/token_store.hpp"

#include <algorithm>
#include <utility>

#include "device/base/error.hpp"
#include "sim/data/split.hpp"
#include "sim/data/tokens/objective.hpp"

namespace onebit::sim {
namespace {

class TokenSource final : public DataSource {
 public:
  TokenSource(DataFacts facts, WorkerSplit split, TokenStore tokens, Index boundary, const DataConfig& config)
      : DataSource(std::move(facts), config.seed, std::move(split)),
        tokens_(std::move(tokens)),
        boundary_(boundary),
        target_(config.target) {}

 private:
  void copy(Split split, Index example, Index row, Batch& out) const override {
    const Index first = example + (split == Split::holdout ? boundary_ : 0);
    const auto width = static_cast<std::size_t>(context());
    std::int32_t next = 0;
    tokens_.read(first, std::span(out.tokens).subspan(static_cast<std::size_t>(row) * width, width));
    tokens_.read(first + context(), {&next, 1});
    set_labels(target_, vocabulary(), next, row, out);
  }

  TokenStore tokens_;
  Index boundary_;  // number of the first held-out token
  Target target_;
};

void check_length(Index size, Index context, const std::string& split, const TokenData& data) {
  if (size > context) return;
  throw ConfigError("the " + split + " text has " + std::to_string(size) + " " + data.unit +
                        " and --model.context is " + std::to_string(context),
                    data.where, "a split must be longer than the context: give more text or change --data.holdout");
}

}  // namespace

void TokenStore::add(Bytes bytes, Index first) {
  const Index count = (bytes.size() - first) / width_;
  if (count > 0) pieces_.push_back({std::move(bytes), first, size() + count});
}

void TokenStore::read(Index first, std::span<std::int32_t> out) const {
  const auto after = [](Index place, const Piece& piece) { return place < piece.end; };
  auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), first, after);
  for (; !out.empty(); ++piece) {
    const Index begin = piece == pieces_.begin() ? 0 : std::prev(piece)->end;
    const auto count = std::min(out.size(), static_cast<std::size_t>(piece->end - first));
    unpack(piece->bytes.data() + piece->first + (first - begin) * width_, out.first(count));
    first += static_cast<Index>(count);
    out = out.subspan(count);
  }
}

void TokenStore::unpack(const std::uint8_t* from, std::span<std::int32_t> out) const {
  for (std::int32_t& token : out) {
    std::uint32_t value = 0;
    for (Index i = 0; i < width_; ++i) value |= static_cast<std::uint32_t>(*from++) << (8 * i);
    token = static_cast<std::int32_t>(value);
  }
}

std::unique_ptr<DataSource> make_token_source(TokenData data, const DataConfig& config) {
  if (config.context == 0) {
    throw ConfigError("the data are tokens, but the model reads none", "data " + data.facts.name,
                      "give another --data, see 'onebit list data'");
  }
  if (config.context < 0)
    throw ConfigError("the context must have at least one token", "--model.context " + std::to_string(config.context),
                      "give a number of at least 1");
  const Index total = data.tokens.size();
  const Index held_out =
      data.test > 0 ? data.test : holdout_count(total, config.holdout, data.unit + " of " + data.where);
  check_length(total - held_out, config.context, "training", data);
  if (held_out > 0) check_length(held_out, config.context, "held-out", data);
  DataFacts& facts = data.facts;
  facts.context = config.context;
  facts.vocabulary = data.has_mask ? data.vocabulary : vocabulary_of(config.target, data.vocabulary);
  facts.targets = targets_of(config.target, config.context);
  facts.classes = facts.vocabulary;
  facts.train = total - held_out - config.context;
  facts.holdout = held_out > 0 ? held_out - config.context : 0;
  WorkerSplit split = split_among(config.split, config.workers, facts.train, {});
  if (config.split != "iid") facts.provenance.push_back("split " + config.split + ": " + split.describe());
  return std::make_unique<TokenSource>(std::move(facts), std::move(split), std::move(data.tokens), total - held_out,
                                       config);
}

}  // namespace onebit::sim
