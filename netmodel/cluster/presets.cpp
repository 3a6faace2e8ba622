// The tables of presets, with one row for each GPU, GPU link and cluster.

#include <array>

#include "netmodel/cluster/cluster.hpp"

namespace onebit::netmodel {
namespace {

constexpr LinkSpec link(double nominal_gigabytes, double effective_gigabytes, double latency_microseconds) {
  return {.nominal = gigabytes_per_second(nominal_gigabytes),
          .effective = gigabytes_per_second(effective_gigabytes),
          .latency = microseconds(latency_microseconds)};
}

/// A cluster with one A100 per node.
Cluster single(const char* name, const char* doc, Source source, const LinkSpec& nic) {
  return {.name = name, .doc = doc, .source = source, .nic = nic, .gpu_link = find_gpu_link("nvlink3").link};
}

/// A cluster as in a paper's measurements: gradients are exchanged after the backward pass.
Cluster of_paper(Cluster cluster) {
  cluster.overlaps = false;
  return cluster;
}

Cluster dense_nodes(Cluster cluster, Index gpus_per_node, const char* gpu_link, const char* gpu, Selection all_reduce) {
  const GpuLink& inside = find_gpu_link(gpu_link);
  cluster.gpus_per_node = gpus_per_node;
  cluster.gpu_link = inside.link;
  cluster.nvlink = inside.nvlink;
  cluster.nvls = inside.nvls;
  cluster.gpu = gpu;
  cluster.all_reduce = all_reduce;
  return cluster;
}

/// Nodes of eight or more GPUs, with a network link for every GPU or for every few GPUs. Their rates and latencies were
/// read off published times of nccl-tests (the rows of docs/measurements/collectives.csv that set a preset).
Cluster railed(const char* name, const char* doc, const LinkSpec& nic, Index gpus_per_nic, Index gpus_per_node,
               const char* gpu_link, const char* gpu) {
  Cluster cluster = single(name, doc, Source::fitted, nic);
  cluster.gpus_per_nic = gpus_per_nic;
  return dense_nodes(cluster, gpus_per_node, gpu_link, gpu, Selection::nccl);
}

/// A cluster whose GPUs have less memory than others of their model.
Cluster with_memory(Cluster cluster, Bytes of_each_gpu) {
  cluster.gpu_memory = of_each_gpu;
  return cluster;
}

}  // namespace

std::span<const Gpu> gpus() {
  // name, doc, source, generation, rate of the memory, speed, size of the memory (V100: also 16 GB; A100: also 40 GB;
  // H200: 141 GB), peak rate
  static constexpr auto table = std::to_array<Gpu>({
      // The memory rate of V100s comes from DeepSpeed's figures: the released 1-bit codec, at 176 bytes per element,
      // takes 99 ms for BERT-Large
      {"v100-pcie", "V100 on PCIe, as in paper-ethernet", Source::fitted, Generation::volta, gigabytes_per_second(600),
       0.95, Bytes(32e9), 112e12},
      {"v100", "V100 with NVLink, as in paper-infiniband", Source::fitted, Generation::volta, gigabytes_per_second(600),
       1, Bytes(32e9), 125e12},
      {"a100", "A100 with NVLink", Source::estimated, Generation::ampere, gigabytes_per_second(1400), 2.5, Bytes(80e9),
       312e12},
      {"h100", "H100 or H200 with NVLink", Source::estimated, Generation::hopper, gigabytes_per_second(2600), 6,
       Bytes(80e9), 989e12},
      {"b200", "B200 or GB200 with NVLink", Source::estimated, Generation::blackwell, gigabytes_per_second(6000), 12,
       Bytes(180e9), 2250e12},
  });
  return table;
}

std::span<const GpuLink> gpu_links() {
  static constexpr auto table = std::to_array<GpuLink>({
      // name, doc, source, link {nominal GB/s, effective GB/s, us per step}, whether it is NVLink, NVLS
      {"pcie3-paper", "PCIe 3, shared by 4 V100s in paper-ethernet", Source::fitted, link(15.75, 4.21, 5.7), false},
      {"pcie3", "PCIe 3 x16", Source::published, link(15.75, 12, 5.7), false},
      {"pcie4", "PCIe 4 x16, as reached by collectives of 4 to 8 GPUs", Source::estimated, link(31.5, 16, 5.7), false},
      {"pcie5", "PCIe 5 x16, as reached by collectives of 8 GPUs", Source::published, link(63, 28, 5.7), false},
      {"nvlink2-paper", "NVLink between 8 V100s in paper-infiniband", Source::fitted, link(150, 42, 3.4), true},
      // Bus bandwidths for 1 GB and more on one node of eight GPUs: 136 GB/s (OCI BM.GPU3.8), 232 (OCI BM.GPU4.8). 370
      // is NCCL's own constant for 18 links; 690 lies between those of all-gather and reduce-scatter on 8 B200s
      // (Vultr). NVLS: the all-reduce takes 275 GB/s from every GPU on 8 H200s, and 480 on 8 B200s.
      {"nvlink2", "NVLink of a V100", Source::published, link(150, 135, 3.4), true},
      {"nvlink3", "NVLink of an A100", Source::published, link(300, 232, 3.4), true},
      {"nvlink4", "NVLink of an H100 or H200", Source::published, link(450, 370, 3.4), true, 0.743},
      {"nvlink5", "NVLink of a B200 or GB200", Source::published, link(900, 690, 3.4), true, 0.696},
  });
  return table;
}

std::span<const Cluster> clusters() {
  static const auto table = std::to_array<Cluster>({
      single("eth1", "1 Gb/s Ethernet, TCP", Source::estimated, link(0.125, 0.117, 50)),
      // 40 GbE is nominally 5 GB/s; 0.607 is fitted to the dense all-reduces of BERT-Large in fp16, six rows of Table 1
      of_paper(dense_nodes(
          single("paper-ethernet", "40 Gb/s Ethernet, 4 V100s per node, as measured for 1-bit Adam (Table 1)",
                 Source::fitted, link(5, 0.607, 35)),
          4, "pcie3-paper", "v100-pcie", Selection::ring)),
      single("eth10", "10 Gb/s Ethernet, TCP", Source::estimated, link(1.25, 1.1, 35)),
      // NCCL users report 60% of line rate on TCP (NVIDIA/nccl issue 209); one stream may reach as little as 1.2 GB/s
      single("eth25", "25 Gb/s Ethernet, TCP", Source::estimated, link(3.125, 2.0, 35)),
      single("ib40", "40 Gb/s InfiniBand QDR", Source::published, link(4, 4, 14)),
      // The rate is far below 100 Gb/s: it was fitted to measurements of one cluster, and is not a model of EDR
      of_paper(dense_nodes(
          single("paper-infiniband", "100 Gb/s InfiniBand, 8 V100s per node, as measured for 1-bit Adam (Table 1)",
                 Source::fitted, link(12.5, 4.03, 14)),
          8, "nvlink2-paper", "v100", Selection::hierarchical)),
      single("eth100", "100 Gb/s Ethernet, TCP (NVIDIA/nccl issue 450)", Source::published, link(12.5, 4.5, 30)),
      single("roce100", "100 Gb/s Ethernet, RDMA", Source::estimated, link(12.5, 11.5, 14)),
      // Two p4de nodes reach 41.8 of 50 GB/s and take 165 us for 1 kB. AWS states 320 GB of GPU memory for a
      // p4d.24xlarge, and 640 GB for a p4de.24xlarge
      with_memory(railed("aws-p4d", "AWS p4d: 8 A100s of 40 GB (p4de: 80 GB), 4 x 100 Gb/s EFA", link(12.5, 11.5, 150),
                         2, 8, "nvlink3", "a100"),
                  Bytes(40e9)),
      // 12 GB/s is NCCL's own tuning constant for this network
      single("ib100", "100 Gb/s InfiniBand EDR", Source::published, link(12.5, 12.0, 14)),
      // An all-gather on two nodes reaches 50 GB/s and takes 0.8 ms for 8 MB
      railed("gcp-a3-high", "GCP A3 High: 8 H100s, 4 x 200 Gb/s with GPUDirect-TCPX", link(25, 12.5, 500), 2, 8,
             "nvlink4", "h100"),
      // Two nodes reach 181 of 200 GB/s and take 147 us for 1 kB
      railed("gcp-a3-mega", "GCP A3 Mega: 8 H100s, 8 x 200 Gb/s with GPUDirect-TCPXO", link(25, 23, 136), 1, 8,
             "nvlink4", "h100"),
      single("ib200", "200 Gb/s InfiniBand HDR", Source::published, link(25, 23.5, 14)),
      // The rate is that of ib200. With a latency of 20 us, the time priced for 1 kB lies among the times measured on
      // two H100 nodes of several clouds (30 to 45 us in all)
      railed("dgx-a100", "DGX or HGX A100: 8 A100s, 8 x 200 Gb/s InfiniBand or RoCE", link(25, 23.5, 20), 1, 8,
             "nvlink3", "a100"),
      // 366 GB/s is the bus bandwidth of rings on four nodes with eight such links (H100 VMs, NCCL 2.26)
      single("ib400", "400 Gb/s InfiniBand NDR", Source::published, link(50, 46.5, 14)),
      // Two nodes take 69 to 77 us for 1 kB
      railed("aws-p5", "AWS p5: 8 H100s or H200s, 32 x 100 Gb/s EFA", link(50, 46.5, 70), 1, 8, "nvlink4", "h100"),
      railed("dgx-h100", "DGX or HGX H100 or H200: 8 GPUs, 8 x 400 Gb/s InfiniBand or RoCE", link(50, 46.5, 20), 1, 8,
             "nvlink4", "h100"),
      railed("dgx-b200", "DGX or HGX B200: 8 GPUs, 8 x 400 Gb/s InfiniBand or RoCE", link(50, 46.5, 20), 1, 8,
             "nvlink5", "b200"),
      railed("gb200-nvl72", "GB200 NVL72: 72 GPUs in one NVLink domain, 72 x 400 Gb/s InfiniBand or RoCE",
             link(50, 46.5, 20), 1, 72, "nvlink5", "b200"),
  });
  return table;
}

}  // namespace onebit::netmodel
