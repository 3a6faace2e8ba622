// Steps with embedding tables: volumes, the split of the tables, and the stages of a step. Hand-computed.

#include "netmodel/step/hybrid.hpp"

#include <algorithm>

#include "device/base/error.hpp"
#include "netmodel/cost/link_load.hpp"
#include "netmodel/step/recommenders.hpp"
#include "tests/catch.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

// On round_cluster a call takes 8.4 us and a step between nodes 1 ms; a100 touches 1.4 TB of memory per second.
constexpr double kCall = 8.4e-6 + 1e-3, kMemory = 1.4e12;

StepTraffic dense(const Fabric& fabric, Index parameters) {
  Traffic traffic;
  traffic.group_size = fabric.ranks();
  traffic.payload_bytes = 4 * parameters;
  return {{traffic}, 0};
}

/// Three tables of 100 columns on two GPUs, of which the first holds two; bags of two rows, 1,000 samples for each GPU.
HybridWork three_tables(TableSplit split = TableSplit::table_wise) {
  return {.tables = {.count = 3, .width = 100, .ids = 2, .bottom_share = 0.25}, .split = split, .batch = 1000};
}

/// 4 ms forward, 8 ms backward, 1 ms update.
ComputeTimes passes() {
  return {Seconds(4e-3), Seconds(8e-3), Seconds(1e-3), Seconds(8e-3), ""};
}

HybridEstimate estimate(const HybridWork& work, const Fabric& fabric, Overlap overlap, Index parameters = 0,
                        double stretch = 0) {
  const StepTraffic traffic = parameters > 0 ? dense(fabric, parameters) : StepTraffic{};
  return estimate_hybrid(work, passes(), traffic, fabric, LinkLoad(), {.overlap = overlap, .stretch = stretch});
}

const Stage* find(const HybridEstimate& estimate, const std::string& name) {
  const auto found = std::ranges::find(estimate.stages, name, &Stage::name);
  return found == estimate.stages.end() ? nullptr : &*found;
}

const Stage& stage(const HybridEstimate& estimate, const std::string& name) {
  CAPTURE(name);
  REQUIRE(find(estimate, name) != nullptr);
  return *find(estimate, name);
}

std::string refusal(const HybridWork& work, Index gpus, const StepOptions& options = {}) {
  try {
    check(work, gpus, options);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("hybrid: the dense parameters of DLRM's three shapes") {
  CHECK(dlrm_kaggle().bottom_parameters() == 155'984);
  CHECK(dlrm_kaggle().parameters() == 475'985);
  CHECK(dlrm_terabyte().bottom_parameters() == 154'944);
  CHECK(dlrm_terabyte().parameters() == 154'944 + 607'233);
  CHECK(dlrm_mlperf().bottom_parameters() == 171'392);
  CHECK(dlrm_mlperf().parameters() == 2'368'897);
  CHECK(dlrm_kaggle().top_inputs() == 367);
  CHECK(dlrm_terabyte().top_inputs() == 415);
  CHECK(dlrm_mlperf().top_inputs() == 479);
  CHECK(find_workload("dlrm-kaggle").tables.total_rows() == 33'762'577);
  CHECK(find_workload("dlrm-mlperf").tables.total_rows() == 204'184'588);
  for (const char* name : {"dlrm-kaggle", "dlrm-terabyte", "dlrm-mlperf"}) {
    CHECK(find_workload(name).tables.rows.size() == 26);
  }
}

TEST_CASE("hybrid: what crosses the network, all GPUs together and by the busiest") {
  const auto volumes = [](const char* name, Index samples, Index gpus) {
    const HybridWork work{.tables = find_workload(name).tables, .batch = samples / gpus};
    const HybridEstimate step = estimate(work, Fabric(round_cluster(), gpus), Overlap::none);
    // An eighth of the numbers stay where they are
    return std::pair(step.pooled.value / (1 - 1.0 / static_cast<double>(gpus)), step.most_pooled.value);
  };
  CHECK(volumes("dlrm-kaggle", 128, 8).first == Approx(212'992));        // 4 * 128 * 26 * 16
  CHECK(volumes("dlrm-terabyte", 2048, 8).first == Approx(13'631'488));  // 4 * 2048 * 26 * 64
  const auto [all, busiest] = volumes("dlrm-mlperf", 65'536, 8);
  CHECK(all == Approx(872'415'232));                           // 4 * 65536 * 26 * 128
  CHECK(all / 8 * 7 / 8 == Approx(95.4e6).epsilon(1e-3));      // the mean of what leaves a GPU
  CHECK(busiest == Approx(4.0 / 26 * 872'415'232 * 7 / 8));    // two GPUs hold four tables
  CHECK(busiest / (all / 8 * 7 / 8) == Approx(4 * 8 / 26.0));  // 1.23
}

TEST_CASE("hybrid: a table-wise split is uneven, others are as even as their parts") {
  const EmbeddingTables tables{.count = 26, .width = 128, .ids = 1, .rows = std::vector<Index>(26, 1000)};
  const std::vector<TableShare> whole = shares_of(tables, TableSplit::table_wise, 8);
  REQUIRE(whole.size() == 8);
  for (std::size_t gpu = 0; gpu < 8; ++gpu) {
    const double own = gpu < 2 ? 4 : 3;
    CHECK(whole[gpu].values == own * 128);
    CHECK(whole[gpu].ids == own);
    CHECK(whole[gpu].row_bytes == 512);
    CHECK(whole[gpu].held_bytes == own * 1000 * 512);
  }
  CHECK(imbalance(whole) == Approx(1.2308).epsilon(1e-4));
  CHECK(imbalance(shares_of(tables, TableSplit::table_wise, 13)) == Approx(1));
  const std::vector<TableShare> rows = shares_of(tables, TableSplit::row_wise, 3);
  CHECK(rows[0].held_bytes == 26 * 334 * 512.0);
  CHECK(rows[2].held_bytes == 26 * 333 * 512.0);
  CHECK(rows[1].ids == Approx(26 / 3.0));
  CHECK(rows[1].values == 26 * 128);
  const std::vector<TableShare> columns = shares_of(tables, TableSplit::column_wise, 3);
  CHECK(columns[0].values == 26 * 43);
  CHECK(columns[2].values == 26 * 42);
  CHECK(columns[0].ids == 26);
  CHECK(columns[0].row_bytes == 43 * 4);
  CHECK(columns[0].held_bytes == 26'000 * 43 * 4);
  CHECK(imbalance(columns) == Approx(43 * 3 / 128.0));
}

TEST_CASE("hybrid: more GPUs than parts are refused by name, and sharded dense layers") {
  const HybridWork kaggle{.tables = find_workload("dlrm-kaggle").tables};
  CHECK(refusal(kaggle, 26).empty());
  CHECK_THAT(refusal(kaggle, 27), Contains("more GPUs than tables") && Contains("27 GPUs, 26 tables") &&
                                      Contains("--tables.split row or column"));
  HybridWork other = kaggle;
  other.split = TableSplit::column_wise;
  CHECK(refusal(other, 16).empty());
  CHECK_THAT(refusal(other, 17), Contains("17 GPUs, 16 columns") && Contains("--tables.split row,"));
  other.split = TableSplit::row_wise;
  CHECK(refusal(other, 4096).empty());
  CHECK_THAT(refusal(other, 8, {.sharding = Sharding::zero1}), Contains("step.sharding"));
}

TEST_CASE("hybrid: every stage of a step without overlap, by hand") {
  const Fabric fabric(round_cluster(), 2);
  const HybridEstimate step = estimate(three_tables(), fabric, Overlap::none, 1'000'000);
  const auto takes = [&](const std::string& name, double seconds) {
    CHECK(stage(step, name).time.value == Approx(seconds));
    CHECK(stage(step, name).critical);
    CHECK(stage(step, name).hidden.value == 0);
    return seconds;
  };
  double sum = 0;
  sum += takes("indices to the tables", kCall + 1000 * 4 * 8 / 1e9);    // four ids, to the first GPU
  sum += takes("pooling", 2000 * (4 * (8 + 400) + 200 * 4) / kMemory);  // two bags of two rows, sums of two
  sum += takes("embeddings", kCall + 1000 * 200 * 4 / 1e9);             // from the first GPU
  sum += takes("bottom layers, forward", 1e-3) + takes("top layers, forward", 3e-3);
  sum += takes("top layers, backward", 6e-3) + takes("bottom layers, backward", 2e-3);
  sum += takes("gradients of embeddings", kCall + 1000 * 200 * 4 / 1e9);
  sum += takes("gradients of dense layers",
               price(Collective::all_reduce, Bytes(2e6), fabric, LinkLoad()).estimate.total.value);  // fp16
  sum += takes("update of tables", 2000 * 4 * (8 + 3 * 400) / kMemory) + takes("update of dense layers", 1e-3);
  CHECK(step.step.step.value == Approx(sum));
  const StepEstimate& parts = step.step;
  CHECK((parts.forward + parts.backward + parts.communication + parts.codec + parts.optimizer).value == Approx(sum));
  CHECK(parts.codec.value == 0);
  CHECK(step.model_parallel.value == Approx(3 * kCall + 1.632e-3));
  CHECK(step.stages.size() == 11);
  CHECK(step.imbalance == Approx(4 / 3.0));
  // 32,000 + 800,000 bytes of the busiest link's phases, and the ring's
  CHECK(parts.exchange.nic_bytes.value == Approx(32'000 + 800'000 + 800'000 + 2e6));
}

TEST_CASE("hybrid: the bottom layers hide the all-to-all, and decide the time if they take longer") {
  const Fabric fabric(round_cluster(), 2);
  const auto at = [&](double bottom) {
    HybridWork work = three_tables();
    work.tables.bottom_share = bottom;
    return estimate(work, fabric, Overlap::buckets);
  };
  const double exchange = kCall + 0.8e-3;  // 1.81 ms; the bottom layers take a share of 4 ms
  const HybridEstimate small = at(0.25), large = at(0.75);
  CHECK(stage(small, "embeddings").critical);
  CHECK_FALSE(stage(small, "bottom layers, forward").critical);
  CHECK(stage(small, "embeddings").hidden.value == Approx(1e-3));
  CHECK_FALSE(stage(large, "embeddings").critical);
  CHECK(stage(large, "bottom layers, forward").critical);
  CHECK(stage(large, "embeddings").hidden.value == Approx(exchange));
  // In the backward pass, the bottom layers' 2 ms are already enough to hide all of it
  CHECK(stage(small, "gradients of embeddings").hidden.value == Approx(exchange));
  CHECK(small.step.communication.value == Approx(kCall + 32e-6 + exchange - 1e-3));
  CHECK(large.step.communication.value == Approx(kCall + 32e-6));
  CHECK(small.model_parallel == small.step.communication);
  const double computed = (small.step.forward + small.step.backward + small.step.optimizer).value;
  CHECK(small.step.step.value == Approx(computed + small.step.communication.value));
  // While it overlaps, computing takes longer
  const HybridEstimate stretched = estimate(three_tables(), fabric, Overlap::buckets, 0, 0.05);
  CHECK(stretched.step.step.value == Approx(small.step.step.value + 0.05 * (1e-3 + exchange)));
}

TEST_CASE("hybrid: gradients of the top layers travel during the backward pass of the bottom layers") {
  const Fabric fabric(round_cluster(), 2);
  HybridWork work = three_tables();
  work.batch = 1;
  work.tables.bottom_share = 0.75;  // 6 ms backward
  const HybridEstimate step = estimate(work, fabric, Overlap::buckets, 10'000'000);
  const auto seconds = [&](double bytes) {
    return price(Collective::all_reduce, Bytes(bytes), fabric, LinkLoad()).estimate.total.value;
  };
  const Stage &top = stage(step, "gradients of top layers"), &bottom = stage(step, "gradients of bottom layers");
  CHECK(top.time.value == Approx(seconds(5e6)));
  CHECK(bottom.time.value == Approx(seconds(15e6)));
  CHECK(top.begin.value == Approx(stage(step, "top layers, backward").end().value));
  CHECK(top.hidden.value == Approx(6e-3));
  CHECK_FALSE(find(estimate(work, fabric, Overlap::none, 10'000'000), "gradients of top layers"));
  CHECK(step.step.step <= estimate(work, fabric, Overlap::none, 10'000'000).step.step);
  CHECK(step.data_parallel < step.step.all_communication);
}

TEST_CASE("hybrid: without bottom layers, gradients wait for the backward pass of the top layers") {
  HybridWork work = three_tables();
  work.tables.bottom_share = 0;
  const HybridEstimate step = estimate(work, Fabric(round_cluster(), 2), Overlap::buckets, 1'000'000);
  CHECK_FALSE(find(step, "bottom layers, backward"));
  CHECK(stage(step, "gradients of dense layers").begin >= stage(step, "top layers, backward").end());
}

TEST_CASE("hybrid: the fixed time of a DLRM's step stays fixed at large batches") {
  const auto both = [](Index batch) {
    const ComputeTimes times = compute_times(find_workload("dlrm-mlperf"), find_gpu("v100"), batch, 1);
    return (times.forward + times.backward).value;
  };
  // 14.7 MFLOP at 40% of 125 TFLOP/s, and 2 bytes of 7,520 numbers and their gradients moved three times at 600 GB/s
  constexpr double layers = 13 * 512 + 512 * 256 + 256 * 128 + 479 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256;
  constexpr double flops = 2 * (3 * (layers + 27 * 27 * 128) - 13 * 512);
  constexpr double numbers = 512 + 256 + 128 + 26 * 128 + 479 + 1024 + 1024 + 512 + 256 + 1;
  const double samples = 32768 * (flops / (0.4 * 125e12) + 2 * 6 * numbers / 600e9);  // 14.6 ms
  CHECK(both(32768) == Approx(7e-3 + samples));
  CHECK(both(65536) == Approx(7e-3 + 2 * samples));
  CHECK(both(327'680) == Approx(7e-3 + 10 * samples));
}

TEST_CASE("hybrid: one GPU sends nothing, and a codec takes no time there") {
  HybridWork work = three_tables();
  work.boundary = {.forward = 1, .backward = 1, .encode = 9, .decode = 5, .encode_back = 9, .decode_back = 5};
  for (const TableSplit split : {TableSplit::table_wise, TableSplit::row_wise, TableSplit::column_wise}) {
    work.split = split;
    const Fabric fabric(round_cluster(), 1);
    const HybridEstimate step = estimate(work, fabric, Overlap::buckets, 1'000'000);
    CHECK(step.step.all_communication.value == 0);
    CHECK(step.step.exchange.nic_bytes.value == 0);
    CHECK(step.step.codec.value == 0);
    CHECK(step.pooled.value == 0);
    CHECK(std::ranges::none_of(step.stages, [](const Stage& each) { return uses_network(each.kind); }));
    const double tables = 1000 * (6 * 408 + 300 * 4 + 6 * 1208) / kMemory;
    CHECK(step.step.step.value == Approx(13e-3 + tables));
  }
}

TEST_CASE("hybrid: rows are reduced and gathered if dense and sent to all otherwise, columns need the indices of all") {
  const Fabric fabric(round_cluster(), 4);
  const auto seconds = [&](Collective collective, double payload) {
    return price(collective, Bytes(payload), fabric, LinkLoad()).estimate.total.value;
  };
  const double pooled = 1000 * 300.0;
  HybridWork rows = three_tables(TableSplit::row_wise);
  const HybridEstimate plain = estimate(rows, fabric, Overlap::none);
  CHECK(stage(plain, "indices to the tables").time.value == Approx(seconds(Collective::all_to_all, 1000 * 6 * 8)));
  CHECK(stage(plain, "embeddings").time.value == Approx(seconds(Collective::reduce_scatter, 4 * pooled * 4)));
  CHECK(stage(plain, "gradients of embeddings").time.value == Approx(seconds(Collective::all_gather, pooled * 4)));
  CHECK(plain.most_pooled.value == 3 * 1000 * 300 * 4);
  CHECK(plain.imbalance == Approx(1));
  rows.boundary = {
      .forward = 0.4, .backward = 0.2, .encode = 3, .decode = 5, .encode_back = 2, .decode_back = 6, .masked = true};
  const HybridEstimate masked = estimate(rows, fabric, Overlap::none);
  CHECK(stage(masked, "embeddings").time.value == Approx(seconds(Collective::all_to_all, 4 * pooled * 0.4)));
  CHECK(stage(masked, "gradients of embeddings").time.value ==
        Approx(seconds(Collective::all_to_all, 4 * pooled * 0.2)));
  CHECK(stage(masked, "encoding of embeddings").time.value == Approx(3 * pooled * 3 / kMemory));
  CHECK(stage(masked, "decoding of embeddings").time.value == Approx(3 * pooled * 5 / kMemory));
  CHECK(stage(masked, "encoding of their gradients").time.value == Approx(3 * pooled * 2 / kMemory));
  CHECK(stage(masked, "decoding of gradients").time.value == Approx(3 * pooled * 6 / kMemory));
  rows.boundary.masked = false;
  CHECK(stage(estimate(rows, fabric, Overlap::none), "encoding of their gradients").time.value ==
        Approx(pooled * 2 / kMemory));  // one payload for all
  const HybridEstimate columns = estimate(three_tables(TableSplit::column_wise), fabric, Overlap::none);
  CHECK(stage(columns, "indices to the tables").time.value == Approx(seconds(Collective::all_gather, 1000 * 6 * 8)));
  CHECK(stage(columns, "embeddings").time.value == Approx(kCall + 3 * 1000 * 75 * 4 / 1e9));
}

TEST_CASE("hybrid: a codec at the boundary of whole tables is run on what leaves the GPU") {
  const Fabric fabric(round_cluster(), 2);
  HybridWork work = three_tables();
  work.boundary = {.forward = 2, .backward = 1, .encode = 6, .decode = 8, .encode_back = 5, .decode_back = 7};
  const HybridEstimate step = estimate(work, fabric, Overlap::none);
  CHECK(stage(step, "embeddings").time.value == Approx(kCall + 1000 * 200 * 2 / 1e9));
  CHECK(stage(step, "gradients of embeddings").time.value == Approx(kCall + 1000 * 200 * 1 / 1e9));
  CHECK(stage(step, "encoding of embeddings").time.value == Approx(1000 * 200 * 6 / kMemory));
  CHECK(stage(step, "decoding of embeddings").time.value == Approx(1000 * 200 * 8 / kMemory));  // on the second GPU
  CHECK(stage(step, "encoding of their gradients").time.value == Approx(1000 * 200 * 5 / kMemory));
  CHECK(stage(step, "decoding of gradients").time.value == Approx(1000 * 200 * 7 / kMemory));
  CHECK(step.step.codec.value == Approx(1000 * 200 * 26 / kMemory));
}

TEST_CASE("hybrid: stragglers slow passes and pooling down, and not the updates") {
  Cluster cluster = round_cluster();
  cluster.stragglers = {{1, 1.5}};
  const HybridEstimate slow = estimate(three_tables(), Fabric(cluster, 2), Overlap::none),
                       even = estimate(three_tables(), Fabric(round_cluster(), 2), Overlap::none);
  CHECK(slow.step.forward.value == Approx(1.5 * even.step.forward.value));
  CHECK(slow.step.backward.value == Approx(1.5 * even.step.backward.value));
  CHECK(slow.step.optimizer == even.step.optimizer);
}

TEST_CASE("hybrid: published training runs of MLPerf's shape") {
  // TorchRec's example on AWS p4d (facebookresearch/dlrm, torchrec_dlrm/README.MD) and NVIDIA's on one GPU. The first
  // of these rows sets the workload's fixed time; nothing is fitted to the others.
  const Workload& workload = find_workload("dlrm-mlperf");
  const auto predicted = [&](const char* gpu, Index gpus, Index batch) {
    Cluster cluster = find_cluster("aws-p4d");
    cluster.gpu = gpu;
    const Fabric fabric(cluster, gpus);
    const ComputeTimes compute = compute_times(workload, fabric.gpu(), batch, 1);
    const StepEstimate step =
        estimate_hybrid({.tables = workload.tables, .batch = batch}, compute, dense(fabric, workload.parameters),
                        fabric, LinkLoad(), {.gradient_bytes = 4})
            .step;
    return static_cast<double>(gpus * batch) / step.step.value;
  };
  CHECK(predicted("a100", 8, 256) == Approx(284'615).epsilon(0.01));
  // Measured / predicted rate: the predicted step over the measured one
  CHECK(1'671'168 / predicted("a100", 8, 2048) == Approx(0.77).epsilon(0.01));
  CHECK(1'458'176 / predicted("a100", 4, 4096) == Approx(0.72).epsilon(0.01));
  CHECK(5'373'952 / predicted("a100", 8, 8192) == Approx(0.78).epsilon(0.01));
  CHECK(875'000 / predicted("v100", 1, 32768) == Approx(0.68).epsilon(0.01));
  // The later example: TF32 and mixed precision on an A100, mixed precision on the V100 of a DGX-2
  CHECK(2'498'002 / predicted("a100", 1, 32768) == Approx(1.11).epsilon(0.01));
  CHECK(4'081'969 / predicted("a100", 1, 32768) == Approx(1.82).epsilon(0.01));
  CHECK(2'417'585 / predicted("v100", 1, 32768) == Approx(1.87).epsilon(0.01));
}
