#include "netmodel/closed_form.hpp"

#include "device/error.hpp"

namespace onebit::netmodel {

Estimate ClosedForm::cost(const Traffic& traffic, const Cluster& cluster) const {
  const LinkSpec& link = cluster.link;
  if (!(link.effective.value > 0 && link.latency.value >= 0)) {
    throw ConfigError("the link has no positive bandwidth or a negative latency", "cluster " + cluster.name);
  }
  const auto steps = static_cast<double>(messages_sent(traffic.collective, traffic.group_size));
  Estimate estimate;
  estimate.latency = steps * link.latency;
  estimate.bandwidth = sent_bytes(traffic) / link.effective;
  estimate.total = estimate.latency + estimate.bandwidth;
  return estimate;
}

}  // namespace onebit::netmodel
