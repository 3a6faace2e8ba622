#include "netmodel/step/goal.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "device/base/error.hpp"

namespace onebit::netmodel {
namespace {

constexpr double kMostMessages = 10e6;
constexpr long long kJoined = 4;

long long whole(double value) {
  return std::max(1LL, std::llround(value));
}

/// One rank's block of labelled operations. The operations of a group require all operations of the previous group.
class Rank {
 public:
  Rank(std::ostream& out, Index number) : out_(out) { out_ << "\nrank " << number << " {\n"; }
  ~Rank() { out_ << "}\n"; }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void add(const std::string& operation) {
    const long long label = ++last_;
    out_ << "l" << label << ": " << operation << "\n";
    for (long long before = before_; before < begin_; ++before) out_ << "l" << label << " requires l" << before << "\n";
  }
  /// Ends a group: later operations wait for those added since the last call. A large group is first joined by a single
  /// operation, so that not every later operation has to name the whole group.
  void next_group() {
    if (last_ + 1 == begin_) return;
    close_group();
    if (begin_ - before_ <= kJoined) return;
    add("calc 1");
    close_group();
  }

 private:
  void close_group() {
    before_ = begin_;
    begin_ = last_ + 1;
  }

  std::ostream& out_;
  long long last_ = 0, before_ = 1, begin_ = 1;
};

struct Message {
  Index other;
  double bytes;
  bool sent;
};

using Messages = std::vector<std::vector<Message>>;  ///< [ranks]

Messages messages_of(const Phase& phase, const Fabric& fabric) {
  Messages messages(static_cast<std::size_t>(fabric.ranks()));
  for_each_flow(phase, fabric, [&](Index from, Index to, double bytes) {
    messages[static_cast<std::size_t>(from)].push_back({to, bytes, true});
    messages[static_cast<std::size_t>(to)].push_back({from, bytes, false});
  });
  return messages;
}

void write_phase(Rank& rank, const Phase& phase, const std::vector<Message>& messages, Index& tag) {
  for (Index run = 0; run < phase.repeat; ++run, ++tag) {
    for (const Message& each : messages) {
      rank.add((each.sent ? "send " : "recv ") + std::to_string(whole(each.bytes)) + (each.sent ? "b to " : "b from ") +
               std::to_string(each.other) + " tag " + std::to_string(tag));
    }
    rank.next_group();
  }
}

void write_calculation(Rank& rank, Seconds time) {
  if (time.value > 0) rank.add("calc " + std::to_string(whole(1e9 * time.value)));
  rank.next_group();
}

/// Returns the number of messages of one run of a phase, without visiting every message if they form a pattern.
double message_count(const Phase& phase, const Fabric& fabric) {
  const auto ranks = static_cast<double>(fabric.ranks()), n = static_cast<double>(members(fabric, phase.scope));
  switch (phase.pattern) {
    case Phase::Pattern::shift:
      return ranks;
    case Phase::Pattern::pairs:
      return ranks * (n - 1);
    case Phase::Pattern::fan_in:
      return ranks - ranks / n;
    case Phase::Pattern::list:
      break;
  }
  double count = 0;
  for_each_flow(phase, fabric, [&](Index, Index, double) { ++count; });
  return count;
}

}  // namespace

void write_goal(std::ostream& out, std::span<const Plan> plans, Seconds before, Seconds after, const Fabric& fabric) {
  std::vector<const Phase*> phases;
  std::vector<Messages> messages;
  double count = 0;
  for (const Plan& plan : plans) {
    for (const Phase& phase : plan.phases) {
      if (phase.repeat == 0) continue;
      count += static_cast<double>(phase.repeat) * message_count(phase, fabric);
      if (count > kMostMessages)
        throw ConfigError("the schedule has more than 10,000,000 messages", "", "use fewer GPUs");
      phases.push_back(&phase);
      messages.push_back(messages_of(phase, fabric));
    }
  }
  out << "num_ranks " << fabric.ranks() << "\n";
  for (Index slot = 0; slot < fabric.ranks(); ++slot) {
    Rank rank(out, slot);
    write_calculation(rank, before);
    Index tag = 0;
    for (std::size_t p = 0; p < phases.size(); ++p) {
      write_phase(rank, *phases[p], messages[p][static_cast<std::size_t>(slot)], tag);
    }
    write_calculation(rank, after);
  }
}

}  // namespace onebit::netmodel
