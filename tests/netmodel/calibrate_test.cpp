#include "netmodel/measured/calibrate.hpp"

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

constexpr double kBert = 2.0 * 336'226'108;

/// The seven sizes of the Ethernet cluster of 1-bit Adam's Table 1, and the six of its InfiniBand cluster.
const std::vector<Measurement> kEthernet = {
    {16, 4, Bytes(kBert), Seconds(2.20586)}, {16, 4, Bytes(kBert), Seconds(2.27543)},
    {16, 4, Bytes(kBert), Seconds(2.25936)}, {8, 4, Bytes(kBert), Seconds(2.17335)},
    {4, 4, Bytes(kBert), Seconds(2.13324)},  {2, 4, Bytes(kBert), Seconds(1.89721)},
    {1, 4, Bytes(kBert), Seconds(0.23976)}};
const std::vector<Measurement> kInfiniband = {
    {8, 8, Bytes(kBert), Seconds(0.31618)}, {8, 8, Bytes(kBert), Seconds(0.33640)},
    {8, 8, Bytes(kBert), Seconds(0.33952)}, {4, 8, Bytes(kBert), Seconds(0.29728)},
    {2, 8, Bytes(kBert), Seconds(0.18374)}, {1, 8, Bytes(kBert), Seconds(0.02818)}};

Cluster start() {
  Cluster cluster = round_cluster(4);
  cluster.gpu = "v100";
  cluster.nic.latency = Seconds(2e-5);
  return cluster;
}

double predicted(const Cluster& cluster, const Measurement& row) {
  Cluster sized = cluster;
  sized.gpus_per_node = row.gpus_per_node;
  const Fabric fabric(sized, row.nodes * row.gpus_per_node);
  return price(Collective::all_reduce, row.bytes, fabric, *make_cost_model({})).estimate.total.value;
}

/// Returns what a cluster with these constants would measure.
std::vector<Measurement> planted(const Cluster& truth, const std::vector<Index>& nodes,
                                 const std::vector<double>& sizes) {
  std::vector<Measurement> rows;
  for (const Index count : nodes) {
    for (const double bytes : sizes) {
      rows.push_back({count, 4, Bytes(bytes), {}});
      rows.back().seconds = Seconds(predicted(truth, rows.back()));
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("the published clusters come out of their own measurements") {
  const Fit ethernet = calibrate(kEthernet, start()).front();
  CHECK(ethernet.cluster.all_reduce == Selection::ring);  // on two nodes too, where NCCL would use a tree on NVLink
  CHECK(ethernet.worst < 0.04);
  CHECK(ethernet.worst_left_out < 0.06);
  CHECK(ethernet.cluster.gpu_link.effective.value == Approx(4.25e9).epsilon(0.02));
  const Fit infiniband = calibrate(kInfiniband, start()).front();
  CHECK(infiniband.worst < 0.085);
  CHECK(infiniband.cluster.all_reduce == Selection::nccl);  // a tree on two nodes, rings on more
  CHECK(fit_selection(kInfiniband, start(), Selection::ring).worst > 0.2);
  const Fit hierarchical = fit_selection(kInfiniband, start(), Selection::hierarchical);
  CHECK(hierarchical.worst < 0.08);
  CHECK(hierarchical.cluster.nic.effective.value == Approx(4.03e9).epsilon(0.03));
}

TEST_CASE("planted parameters are found again, by every algorithm") {
  Cluster truth = start();
  truth.nic.effective = BytesPerSecond(0.37e9);
  truth.nic.latency = Seconds(4.2e-4);
  truth.nic.scale_penalty = 0.03;
  truth.gpu_link.effective = BytesPerSecond(23e9);
  truth.gpu_link.nominal = BytesPerSecond(25e9);
  for (const Selection choice : {Selection::ring, Selection::hierarchical, Selection::halving, Selection::leader}) {
    truth.all_reduce = choice;
    CAPTURE(name(choice));
    const Fit fit = fit_selection(planted(truth, {1, 2, 4, 8, 16}, {1e5, 1e9}), start(), choice);
    CHECK(fit.worst < 1e-3);
    CHECK(fit.worst_left_out < 0.1);  // three numbers of nodes are too few for the penalty
    CHECK(fit.cluster.nic.effective.value == Approx(0.37e9).epsilon(5e-3));
    CHECK(fit.cluster.nic.latency.value == Approx(4.2e-4).epsilon(1e-2));
    CHECK(fit.cluster.nic.scale_penalty == Approx(0.03).epsilon(0.03));
    CHECK((fit.fits_nic_latency && fit.fits_penalty));
  }
}

TEST_CASE("latencies inside and between nodes are found from sweeps of small and large sizes") {
  Cluster truth = start();
  truth.all_reduce = Selection::nccl;
  truth.nic.effective = BytesPerSecond(0.37e9);
  truth.nic.latency = Seconds(4.2e-5);
  truth.gpu_link.effective = BytesPerSecond(13e9);
  truth.gpu_link.latency = Seconds(2.3e-5);
  std::vector<double> sizes;
  for (double bytes = 8; bytes <= 16e9; bytes *= 8) sizes.push_back(bytes);
  const auto rows = planted(truth, {1, 2, 4}, sizes);
  const Fit fit = fit_selection(rows, start(), Selection::nccl);
  CHECK((fit.fits_gpu_latency && fit.fits_nic_latency && !fit.fits_penalty));
  CHECK(fit.worst < 1e-2);
  CHECK(fit.cluster.gpu_link.latency.value == Approx(2.3e-5).epsilon(2e-2));
  CHECK(fit.cluster.nic.latency.value == Approx(4.2e-5).epsilon(2e-2));
  CHECK(fit.cluster.gpu_link.effective.value == Approx(13e9).epsilon(1e-2));
  CHECK(fit.cluster.nic.effective.value == Approx(0.37e9).epsilon(1e-2));
  // Without small sizes, the GPU link keeps the latency of the start
  const Fit large = fit_selection(planted(truth, {1, 2, 4}, {1e8, 1e9}), start(), Selection::nccl);
  CHECK_FALSE((large.fits_gpu_latency || large.fits_nic_latency));
  CHECK(large.cluster.gpu_link.latency == start().gpu_link.latency);
}

TEST_CASE("a calibration keeps the choice of its start unless another one is clearly better", "[once]") {
  Cluster truth = start();
  truth.nic.effective = BytesPerSecond(0.8e9);
  truth.gpu_link.effective = BytesPerSecond(15e9);
  for (const Selection choice : {Selection::nccl, Selection::cheapest, Selection::halving}) {
    truth.all_reduce = choice;
    Cluster from = start();
    from.all_reduce = choice;
    CAPTURE(name(choice));
    // Every algorithm fits two configurations of one size, and more configurations give no reason to choose another.
    const auto two = calibrate(planted(truth, {1, 2}, {1e9}), from);
    CHECK(two.front().cluster.all_reduce == choice);
    CHECK(two.front().worst < 1e-6);
    CHECK(calibrate(planted(truth, {1, 2, 4, 8}, {1e6, 1e9}), from).front().cluster.all_reduce == choice);
  }
  truth.all_reduce = Selection::leader;
  CHECK(calibrate(planted(truth, {1, 2, 4, 8}, {1e6, 1e9}), start()).front().cluster.all_reduce == Selection::leader);
}

TEST_CASE("measurements are read from CSV and from nccl-tests") {
  const Folder folder;
  write_file(folder / "rows.csv",
             "seconds, bytes,gpus,nodes,note\n0.5,1e9,8,2,first\n\n# a remark\n0.1,1e8,8,4,second\n");
  const auto rows = read_measurements(folder / "rows.csv");
  REQUIRE(rows.size() == 2);
  CHECK((rows[1].nodes == 4 && rows[1].gpus_per_node == 8 && rows[1].bytes.value == 1e8));
  CHECK(rows[0].seconds.value == 0.5);
  write_file(folder / "nccl.txt",
             "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152\n# Using devices\n"
             "#  Rank  0 Group  0 Pid   11 on     nodea device  0 [0x07] NVIDIA A100\n"
             "#  Rank  1 Group  0 Pid   12 on     nodea device  1 [0x08] NVIDIA A100\n"
             "#  Rank  2 Group  0 Pid   11 on     nodeb device  0 [0x07] NVIDIA A100\n"
             "#  Rank  3 Group  0 Pid   12 on     nodeb device  1 [0x08] NVIDIA A100\n"
             "#       size         count      type   redop    root     time   algbw   busbw #wrong     time\n"
             "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)\n"
             "     1048576        262144     float     sum      -1    120.5    8.70   13.05      0    119.9    8.75   "
             "13.1  0\n"
             "     2097152        524288     float     sum      -1    201.0   10.43   15.65      0    200.0   10.49   "
             "15.7  0\n"
             "# Avg bus bandwidth    : 14.3\n");
  const auto nccl = read_measurements(folder / "nccl.txt");
  REQUIRE(nccl.size() == 2);
  CHECK((nccl[0].nodes == 2 && nccl[0].gpus_per_node == 2));
  CHECK(nccl[1].seconds.value == Approx(201e-6));
}

TEST_CASE("malformed measurements are refused with file and line") {
  const Folder folder;
  for (const auto& [text, what] :
       std::vector<std::pair<std::string, std::string>>{{"", "no rows"},
                                                        {"nodes,gpus,bytes\n1,2,3\n", "no column seconds"},
                                                        {"nodes,gpus,bytes,seconds\n", "no rows"},
                                                        {"nodes,gpus,bytes,seconds\n1,2,3\n", "rows:2"},
                                                        {"nodes,gpus,bytes,seconds\n1,2,x,4\n", "not a number: x"},
                                                        {"nodes,gpus,bytes,seconds\n1.5,2,3,4\n", "not a whole number"},
                                                        {"nodes,gpus,bytes,seconds\n1,2,3,-4\n", "above 0"},
                                                        {"nodes,gpus,bytes,seconds\n1,2,nan,4\n", "not a number"},
                                                        {" 1024 256 float sum -1 12 3 4 0\n", "not listed"}}) {
    write_file(folder / "rows", text);
    CAPTURE(text);
    CHECK_THROWS_WITH(read_measurements(folder / "rows"), Contains(what));
  }
  CHECK_THROWS_AS(read_measurements(folder / "nothing"), ConfigError);
  CHECK_THROWS_AS(calibrate({}, round_cluster()), ConfigError);
  std::vector<Measurement> mixed = kEthernet;
  mixed.front().collective = Collective::all_gather;
  mixed.front().where = "rows:7";
  CHECK_THROWS_WITH(calibrate(mixed, round_cluster()), Contains("all_gather") && Contains("(rows:7)"));
  mixed.front() = {1, 1, Bytes(kBert), Seconds(1), Collective::all_reduce, "rows:8"};
  CHECK_THROWS_WITH(calibrate(mixed, round_cluster()), Contains("one GPU") && Contains("(rows:8)"));
}
