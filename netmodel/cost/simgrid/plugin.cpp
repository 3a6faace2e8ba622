// The optional plugin that makes SimGrid a cost model. SimGrid is LGPL and is linked only here; the program loads this
// library at run time. SimGrid allows one platform per process, so every problem is solved in a child process.
//
// SimGrid's defaults do not describe these networks: its LV08 model multiplies latencies by 13 and adds cross-traffic.
// The CM02 model without cross-traffic and without TCP's window describes the flows of a collective on RDMA or many
// sockets.

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <set>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include "netmodel/cost/simgrid/abi.hpp"

namespace {

namespace sg4 = simgrid::s4u;
using Problem = OnebitSimgridProblem;

/// Every GPU, node and leaf switch has a link in each direction. Flows between nodes pass through the nodes' links;
/// those between leaf switches also pass through the uplinks. Latencies are pauses of the ranks, not of the links.
class Platform {
 public:
  explicit Platform(const Problem& problem) : problem_(problem), zone_(sg4::create_full_zone("cluster")) {
    for (long long rank = 0; rank < problem.ranks; ++rank) {
      hosts.push_back(zone_->create_host("gpu" + std::to_string(rank), 1e9));
      gpus_.push_back(link("gpulink" + std::to_string(rank), problem.gpu_rate));
    }
    for (long long node = 0; node < problem.ranks / problem.width; ++node) {
      nics_.push_back(link("nic" + std::to_string(node), problem.nic_rates[node]));
    }
    for (long long leaf = 0; leaf < leaves(); ++leaf) {
      leaves_.push_back(link("leaf" + std::to_string(leaf), problem.leaf_rate));
    }
    std::set<std::pair<long long, long long>> pairs;
    for (long long p = 0; p < problem.phases; ++p) {
      for (long long f = 0; f < problem.phase[p].flows; ++f) {
        const OnebitSimgridFlow& flow = problem.flow[problem.phase[p].first_flow + f];
        if (pairs.emplace(flow.from, flow.to).second) add_route(flow.from, flow.to);
      }
    }
    zone_->seal();
  }

  std::vector<sg4::Host*> hosts;

 private:
  struct Duplex {
    sg4::Link *out, *in;
  };

  Duplex link(const std::string& name, double rate) {
    return {zone_->create_link(name + "out", rate)->seal(), zone_->create_link(name + "in", rate)->seal()};
  }

  void add_route(long long from, long long to) {
    const long long source = from / problem_.width, target = to / problem_.width;
    std::vector<const sg4::Link*> links = {at(gpus_, from).out, at(gpus_, to).in};
    if (source != target) links.insert(links.end(), {at(nics_, source).out, at(nics_, target).in});
    if (!leaves_.empty() && source / problem_.nodes_per_leaf != target / problem_.nodes_per_leaf) {
      links.push_back(at(leaves_, source / problem_.nodes_per_leaf).out);
      links.push_back(at(leaves_, target / problem_.nodes_per_leaf).in);
    }
    zone_->add_route(at(hosts, from)->get_netpoint(), at(hosts, to)->get_netpoint(), nullptr, nullptr,
                     {links.begin(), links.end()}, false);
  }

  template <class T>
  static T& at(std::vector<T>& items, long long i) {
    return items[static_cast<std::size_t>(i)];
  }

  long long leaves() const {
    const long long nodes = problem_.ranks / problem_.width, each = problem_.nodes_per_leaf;
    return each == 0 ? 0 : (nodes + each - 1) / each;
  }

  const Problem& problem_;
  sg4::NetZone* zone_;
  std::vector<Duplex> gpus_, nics_, leaves_;
};

/// Flows that one rank sends and receives in a phase.
struct Part {
  std::vector<const OnebitSimgridFlow*> sends, receives;
};

/// Returns the maximum rate of a flow; 0 if there is none.
double cap_of(const Problem& problem, const OnebitSimgridFlow& flow) {
  const double inside = problem.gpu_stream_cap, between = problem.nic_stream_cap;
  if (flow.from / problem.width == flow.to / problem.width || between == 0) return inside;
  return inside == 0 ? between : std::min(inside, between);
}

/// Runs all phases of a rank in order. The rank waits only for its own flows.
void be_rank(const Problem& problem, const std::vector<Part>& parts) {
  for (long long p = 0; p < problem.phases; ++p) {
    const OnebitSimgridPhase& phase = problem.phase[p];
    const Part& part = parts[static_cast<std::size_t>(p)];
    for (long long run = 0; run < phase.repeat; ++run) {
      if (phase.latency > 0) sg4::this_actor::sleep_for(phase.latency);
      std::vector<sg4::CommPtr> all;
      const auto mailbox = [](const OnebitSimgridFlow* flow) {
        return sg4::Mailbox::by_name(std::to_string(flow->from) + ">" + std::to_string(flow->to));
      };
      static int message = 0;  // never read: only the time matters
      static int* received = nullptr;
      for (const auto* flow : part.receives) all.push_back(mailbox(flow)->get_async<int>(&received));
      for (const auto* flow : part.sends) {
        sg4::CommPtr send = mailbox(flow)->put_init(&message, static_cast<std::uint64_t>(std::llround(flow->bytes)));
        if (const double cap = cap_of(problem, *flow); cap > 0) send->set_rate(cap);
        all.push_back(send->start());
      }
      sg4::Comm::wait_all(all);
    }
  }
}

std::vector<std::vector<Part>> parts_of(const Problem& problem) {
  std::vector<std::vector<Part>> parts(static_cast<std::size_t>(problem.ranks),
                                       std::vector<Part>(static_cast<std::size_t>(problem.phases)));
  for (long long p = 0; p < problem.phases; ++p) {
    for (long long f = 0; f < problem.phase[p].flows; ++f) {
      const OnebitSimgridFlow& flow = problem.flow[problem.phase[p].first_flow + f];
      parts[static_cast<std::size_t>(flow.from)][static_cast<std::size_t>(p)].sends.push_back(&flow);
      parts[static_cast<std::size_t>(flow.to)][static_cast<std::size_t>(p)].receives.push_back(&flow);
    }
  }
  return parts;
}

double simulate(const Problem& problem) {
  const char* arguments[] = {"onebit",
                             "--cfg=network/model:CM02",
                             "--cfg=network/crosstraffic:0",
                             "--cfg=network/TCP-gamma:0",
                             "--cfg=contexts/stack-size:64",
                             "--cfg=contexts/guard-size:0",
                             "--cfg=surf/precision:1e-9",
                             "--cfg=maxmin/precision:1e-9",
                             "--log=root.thres:critical"};
  int count = static_cast<int>(std::size(arguments));
  sg4::Engine engine(&count, const_cast<char**>(arguments));
  Platform platform(problem);
  const std::vector<std::vector<Part>> parts = parts_of(problem);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    sg4::Actor::create("rank", platform.hosts[rank], [&, rank] { be_rank(problem, parts[rank]); });
  }
  engine.run();
  return sg4::Engine::get_clock();
}

/// The child's result: seconds, or a negative number and the reason.
struct Answer {
  double seconds = -1;
  char message[200] = "the simulation ended without a result";
};

[[noreturn]] void be_child(const Problem& problem, int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the child ends with the program
  Answer answer;
  try {
    answer.seconds = simulate(problem);
  } catch (const std::exception& error) {
    std::snprintf(answer.message, sizeof(answer.message), "%s", error.what());
  }
  const bool written = write(pipe, &answer, sizeof(answer)) == static_cast<ssize_t>(sizeof(answer));
  _exit(written ? 0 : 1);
}

}  // namespace

extern "C" int onebit_simgrid_run(const Problem* problem, double* seconds, char* message, unsigned long size) {
  int ends[2];
  if (pipe(ends) != 0) return std::snprintf(message, size, "cannot create a pipe"), 1;
  const pid_t child = fork();
  if (child < 0) return std::snprintf(message, size, "cannot start a process"), 1;
  if (child == 0) be_child(*problem, ends[1]);
  close(ends[1]);
  Answer answer;
  ssize_t bytes = 0;
  do {
    bytes = read(ends[0], &answer, sizeof(answer));
  } while (bytes < 0 && errno == EINTR);
  const bool complete = bytes == static_cast<ssize_t>(sizeof(answer));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!complete || answer.seconds < 0) {
    std::snprintf(message, size, "%s", complete ? answer.message : "SimGrid ended the process without a result");
    return 1;
  }
  *seconds = answer.seconds;
  return 0;
}
