#pragma once
// SGD and its compressed relatives on rows of gradients: sequential, in double, written from the papers. A compressor
// is any function of a vector; exchanges are the plainest ones: lossless, or 1-bit Adam's with signs both ways.

#include <algorithm>
#include <functional>
#include <memory>

#include "tests/oracle/adam.hpp"

namespace onebit::oracle {

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double clip = 0;  ///< bound of the norm; 0: off
};

/// torch.optim.SGD (buf = mu buf + g) with decoupled weight decay.
class Sgd {
 public:
  Sgd(const SgdOptions& sgd_options, Vector x0)
      : options(sgd_options), x(std::move(x0)), m(x.size(), 0.0), decays(x.size(), sgd_options.weight_decay) {}

  void step(double lr, const Rows& gradients) { move(lr, clipped(mean(gradients), options.clip)); }

  SgdOptions options;
  Vector x, m;
  Vector decays;  ///< weight decay of every element

 protected:
  void move(double lr, const Vector& g) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      m[i] = options.momentum * m[i] + g[i];
      const double direction = options.nesterov ? g[i] + options.momentum * m[i] : m[i];
      x[i] -= lr * (direction + decays[i] * x[i]);
    }
  }
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual Vector operator()(const Rows& rows) { return mean(rows); }
  virtual void scale_errors(double) {}
};

/// Signs both ways with feedback, all of x as one vector.
class SignExchange final : public Exchange {
 public:
  SignExchange(std::size_t workers, std::size_t size, Norm norm) : channel_(workers, size, norm, false) {}
  Vector operator()(const Rows& rows) override { return channel_(rows); }
  void scale_errors(double factor) override {
    for (Vector& errors : channel_.worker_errors) {
      for (double& e : errors) e *= factor;
    }
    for (double& e : channel_.server_errors) e *= factor;
  }

 private:
  CompressedMean channel_;
};

/// EF-SGD (Karimireddy et al. 2019, Algorithm 2) over an exchange with feedback. The options' momentum acts on the
/// result (PowerSGD), `worker_momentum` is at the workers: Nesterov's (dist-EF-blockSGDM, Zheng et al. 2019) or the
/// heavy ball.
class EfSgd : public Sgd {
 public:
  EfSgd(const SgdOptions& sgd_options, Vector x0, std::shared_ptr<Exchange> between, bool rescale_errors,
        double momentum_of_workers = 0, bool nesterov_of_workers = true)
      : Sgd(sgd_options, std::move(x0)),
        exchange(std::move(between)),
        rescale(rescale_errors),
        worker_momentum(momentum_of_workers),
        worker_nesterov(nesterov_of_workers) {}

  void step(double lr, const Rows& gradients) {
    if (rescale && last_lr > 0) exchange->scale_errors(last_lr / lr);
    last_lr = lr;
    if (own.empty()) own.assign(gradients.size(), Vector(x.size(), 0.0));
    Rows sent;
    for (std::size_t w = 0; w < gradients.size(); ++w) {
      const Vector g = clipped(gradients[w], options.clip);
      Vector p = g;
      for (std::size_t i = 0; i < g.size() && worker_momentum > 0; ++i) {
        own[w][i] = worker_momentum * own[w][i] + g[i];
        p[i] = worker_nesterov ? worker_momentum * own[w][i] + g[i] : own[w][i];
      }
      sent.push_back(p);
    }
    move(lr, (*exchange)(sent));
  }

  std::shared_ptr<Exchange> exchange;
  bool rescale;
  double worker_momentum;
  bool worker_nesterov;
  double last_lr = 0;
  Rows own;  ///< the workers' momenta
};

/// signSGD and Signum with majority vote (Bernstein et al. 2019); beta 0 is signSGD. sign(0) = +1.
class MajorityVote : public Sgd {
 public:
  MajorityVote(const SgdOptions& sgd_options, Vector x0, double momentum_decay)
      : Sgd(sgd_options, std::move(x0)), beta(momentum_decay) {}

  void step(double lr, const Rows& gradients) {
    if (own.empty()) own.assign(gradients.size(), Vector(x.size(), 0.0));
    Vector votes(x.size(), 0.0);
    for (std::size_t w = 0; w < gradients.size(); ++w) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        own[w][i] = beta * own[w][i] + (1 - beta) * gradients[w][i];
        votes[i] += own[w][i] >= 0 ? 1 : -1;
      }
    }
    for (double& vote : votes) vote = vote >= 0 ? 1 : -1;
    move(lr, votes);
  }

  double beta;
  Rows own;
};

using Compressor = std::function<Vector(const Vector&)>;

/// ||y||_1 / d sign(y)
inline Vector sign_l1(const Vector& y) {
  double sum = 0;
  for (const double value : y) sum += std::fabs(value);
  Vector result;
  for (const double value : y) result.push_back((value >= 0 ? sum : -sum) / static_cast<double>(y.size()));
  return result;
}

/// The k largest magnitudes.
inline Vector top_k(const Vector& y, std::size_t k) {
  std::vector<std::size_t> order(y.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::fabs(y[a]) > std::fabs(y[b]); });
  Vector result(y.size(), 0.0);
  for (std::size_t i = 0; i < k; ++i) result[order[i]] = y[order[i]];
  return result;
}

/// EF21 (Richtarik et al. 2021, Algorithm 1) with estimates h_i of their own; eta < 1: EF21-SGDM, from v = g at first.
class Ef21 : public Sgd {
 public:
  Ef21(const SgdOptions& sgd_options, Vector x0, Compressor codec, double share)
      : Sgd(sgd_options, std::move(x0)), compress(std::move(codec)), eta(share) {}

  void step(double lr, const Rows& gradients) {
    const bool first = v.empty();
    if (first) v.assign(gradients.size(), Vector(x.size(), 0.0));
    if (first) h = v;
    const double share = first ? 1 : eta;
    for (std::size_t w = 0; w < gradients.size(); ++w) {
      const Vector g = clipped(gradients[w], options.clip);
      Vector difference(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        v[w][i] = (1 - share) * v[w][i] + share * g[i];
        difference[i] = v[w][i] - h[w][i];
      }
      const Vector sent = compress(difference);
      for (std::size_t i = 0; i < x.size(); ++i) h[w][i] += sent[i];
    }
    move(lr, mean(h));
  }

  Compressor compress;
  double eta;
  Rows v, h;
};

/// DGC (Lin et al. 2018): momentum correction, accumulation, masking, local clipping.
class Dgc : public Sgd {
 public:
  Dgc(const SgdOptions& sgd_options, Vector x0, double worker_momentum, bool worker_nesterov)
      : Sgd(sgd_options, std::move(x0)), mu(worker_momentum), nesterov(worker_nesterov) {}

  void step(double lr, const Rows& gradients, std::size_t k) {
    if (u.empty()) u.assign(gradients.size(), Vector(x.size(), 0.0));
    if (v.empty()) v = u;
    Rows sent;
    for (std::size_t w = 0; w < gradients.size(); ++w) {
      const Vector g = clipped(gradients[w], options.clip / std::sqrt(static_cast<double>(gradients.size())));
      for (std::size_t i = 0; i < x.size(); ++i) {
        u[w][i] = mu * u[w][i] + g[i];
        v[w][i] += nesterov ? mu * u[w][i] + g[i] : u[w][i];
      }
      sent.push_back(top_k(v[w], k));
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (sent[w][i] == 0) continue;
        u[w][i] = 0;
        v[w][i] = 0;
      }
    }
    move(lr, mean(sent));
  }

  double mu;
  bool nesterov;
  Rows u, v;
};

}  // namespace onebit::oracle
