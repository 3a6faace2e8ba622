// Dense steps whose state, gradients or weights are sharded, and the memory of a GPU. Hand-computed.

#include "device/base/error.hpp"
#include "netmodel/cost/link_load.hpp"
#include "netmodel/step/memory.hpp"
#include "tests/catch.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

constexpr Index kParameters = 50'000'000;

StepTraffic dense(const Fabric& fabric) {
  Traffic traffic;
  traffic.type = WireType::fp32;
  traffic.group_size = fabric.ranks();
  traffic.payload_bytes = 4 * kParameters;
  return {{traffic}, 0};
}

/// Four micro-batches of 10 ms forward and 20 ms backward.
StepEstimate step(const Fabric& fabric, Sharding sharding, Overlap overlap) {
  const ComputeTimes compute{Seconds(0.04), Seconds(0.08), Seconds(0.016), Seconds(0.02), ""};
  return estimate_step(compute, dense(fabric), fabric, LinkLoad(),
                       {.overlap = overlap, .stretch = 0, .sharding = sharding});
}

double seconds(Collective collective, double payload, const Fabric& fabric) {
  return price(collective, Bytes(payload), fabric, LinkLoad()).estimate.total.value;
}

}  // namespace

TEST_CASE("sharding: the exchanges of every stage, without overlap") {
  const Fabric fabric(find_cluster("dgx-h100"), 32);
  const double vector = 2.0 * kParameters;
  const double reduce = seconds(Collective::reduce_scatter, vector, fabric),
               gather = seconds(Collective::all_gather, vector / 32, fabric);
  const auto communication = [&](Sharding sharding) {
    const StepEstimate estimate = step(fabric, sharding, Overlap::none);
    CHECK(estimate.communication.value == Approx(estimate.all_communication.value).epsilon(1e-12));
    CHECK(estimate.forward.value + estimate.backward.value == Approx(0.12));
    CHECK(estimate.optimizer.value == Approx(sharding == Sharding::none ? 0.016 : 0.0005));
    return estimate.communication.value;
  };
  CHECK(communication(Sharding::none) == Approx(seconds(Collective::all_reduce, vector, fabric)));
  CHECK(communication(Sharding::zero1) == Approx(reduce + gather));
  CHECK(communication(Sharding::zero2) == Approx(reduce + gather));
  CHECK(communication(Sharding::zero3) == Approx(4 * (2 * gather + reduce)));
}

TEST_CASE("sharding: ZeRO++ gathers int8 weights between nodes, and its gradients travel as int4 in two hops") {
  const Fabric fabric(find_cluster("dgx-h100"), 32);
  const StepEstimate estimate = step(fabric, Sharding::zeropp, Overlap::none);
  const auto scoped = [&](Collective collective, double payload, Scope scope) {
    return price(collective, Bytes(payload), fabric, LinkLoad(), scope).estimate.total.value;
  };
  const double per_batch = seconds(Collective::all_gather, 1.0 * kParameters / 32, fabric) +
                           scoped(Collective::all_gather, 2.0 * kParameters / 8, Scope::local) +
                           scoped(Collective::all_to_all, 0.5 * kParameters, Scope::local) +
                           scoped(Collective::all_to_all, 0.5 * kParameters / 8, Scope::rail);
  CHECK(estimate.all_communication.value == Approx(4 * per_batch));
  // Per element: 3/32 + 3 + 2/8 for the weights, 2.5 + (0.5 + 2/8) + 2.5/8 + (0.5/8 + 2/32) for the gradients
  CHECK(estimate.codec.value == Approx(4 * 7.03125 * kParameters / 2.6e12));
  // On one node there is no copy and no second hop: 3/8 + 3 and 2.5 + (0.5 + 2/8)
  const Fabric node(find_cluster("dgx-h100"), 8), one(find_cluster("dgx-h100"), 1);
  CHECK(step(node, Sharding::zeropp, Overlap::none).codec.value == Approx(4 * 6.625 * kParameters / 2.6e12));
  CHECK(step(one, Sharding::zeropp, Overlap::none).codec.value == 0);
  CHECK(estimate.optimizer.value == Approx(0.0005));
  // Bytes that leave a node: with ZeRO-3, three times 2 bytes for 31/32 of the elements, one eighth of them on each
  // rail; with ZeRO++, int8 weights once, and int4 gradients once
  const StepEstimate third = step(fabric, Sharding::zero3, Overlap::none);
  CHECK(third.exchange.nic_bytes.value == Approx(4 * 3 * 2.0 * kParameters * 31 / 32));
  CHECK(estimate.exchange.nic_bytes.value == Approx(4 * (1.0 * kParameters * 31 / 32 + 0.5 * kParameters * 3 / 4)));
  CHECK(step(fabric, Sharding::zeropp, Overlap::buckets).step <= estimate.step);
}

TEST_CASE("sharding: gathered weights hide behind both passes of FSDP, and with ZeRO-1 follow the update") {
  const Fabric fabric(find_cluster("dgx-h100"), 32);
  const double gather = seconds(Collective::all_gather, 2.0 * kParameters / 32, fabric);
  const StepEstimate first = step(fabric, Sharding::zero1, Overlap::buckets),
                     third = step(fabric, Sharding::zero3, Overlap::buckets);
  CHECK(first.communication.value > gather);
  CHECK(first.communication < first.all_communication);
  CHECK(third.communication < 0.6 * third.all_communication);
  CHECK(third.all_communication > 5.5 / 2 * first.all_communication);
  CHECK(third.step <= step(fabric, Sharding::zero3, Overlap::none).step);
  CHECK(first.step <= step(fabric, Sharding::zero1, Overlap::none).step);
}

TEST_CASE("sharding: compressed steps are not sharded, and no schedule is written of sharded ones") {
  const Fabric fabric(round_cluster(2), 8);
  StepTraffic packed = dense(fabric);
  packed.exchanges.front().type = WireType::bits;
  packed.exchanges.front().collective = Collective::all_to_all;
  packed.compressed = kParameters;
  packed.passes.encode = 20;
  const auto time = [&](Sharding sharding) {
    return estimate_step({}, packed, fabric, LinkLoad(), {.sharding = sharding}).step;
  };
  CHECK(time(Sharding::zero3) == time(Sharding::none));
  CHECK_THROWS_WITH(step_plans(dense(fabric), fabric, LinkLoad(), {.sharding = Sharding::zero1}),
                    Contains("--step.sharding"));
}

TEST_CASE("sharding: the memory of a GPU falls by stage, and with error feedback nothing is sharded") {
  Cluster cluster = find_cluster("dgx-h100");
  const Fabric fabric(cluster, 16);
  Workload workload;
  workload.parameters = 1'000'000'000;
  workload.activations = Bytes(3e8);
  const auto total = [&](Sharding sharding, bool compresses = false) {
    return memory_of(workload, 10, compresses, fabric, sharding).total().value;
  };
  CHECK(total(Sharding::none) == Approx(16e9 + 3e9));
  CHECK(total(Sharding::zero1) == Approx(4e9 + 0.75e9 + 3e9));
  CHECK(total(Sharding::zero2) == Approx(2e9 + 0.875e9 + 3e9));
  CHECK(total(Sharding::zero3) == Approx(1e9 + 3e9));
  CHECK(total(Sharding::zeropp) == Approx(1e9 + 2e9 / 8 + 3e9));
  CHECK(memory_of(workload, 10, false, Fabric(cluster, 8), Sharding::zeropp).total() ==
        memory_of(workload, 10, false, Fabric(cluster, 8), Sharding::zero3).total());
  CHECK(total(Sharding::zeropp, true) == Approx(16e9 + 4e9 + 0.25e9 + 3e9));
  CHECK(total(Sharding::zero3, true) == Approx(16e9 + 4e9 + 0.25e9 + 3e9));
  CHECK(memory_of(workload, 10, false, fabric, Sharding::none).fits());
  CHECK_FALSE(memory_of(workload, 300, false, fabric, Sharding::none).fits());
  cluster.gpu_memory = Bytes(19e9);
  CHECK(memory_of(workload, 10, false, Fabric(cluster, 16), Sharding::none).fits());
  cluster.gpu_memory = Bytes(18.9e9);
  CHECK_FALSE(memory_of(workload, 10, false, Fabric(cluster, 16), Sharding::none).fits());
}

TEST_CASE("sharding: the memory of ZeRO's Figure 1, 7.5 billion parameters on 64 GPUs") {
  const Fabric fabric(find_cluster("dgx-h100"), 64);
  Workload workload;
  workload.parameters = 7'500'000'000;
  const auto gigabytes = [&](Sharding sharding) {
    return memory_of(workload, 1, false, fabric, sharding).total().value / 1e9;
  };
  CHECK(gigabytes(Sharding::none) == Approx(120).margin(0.05));
  CHECK(gigabytes(Sharding::zero1) == Approx(31.4).margin(0.05));
  CHECK(gigabytes(Sharding::zero2) == Approx(16.6).margin(0.05));
  CHECK(gigabytes(Sharding::zero3) == Approx(1.9).margin(0.05));
}

TEST_CASE("sharding: language models keep the inputs of their layers") {
  // 48 layers of 1,600 for 1,024 tokens; 80 layers of 8,192 for 8,192 tokens; 2 bytes each
  CHECK(find_workload("gpt2-xl").activations.value == 2.0 * 48 * 1600 * 1024);
  CHECK(find_workload("llama3-70b").activations.value == 2.0 * 80 * 8192 * 8192);
  CHECK(find_workload("resnet50").activations.value == 0);
}
