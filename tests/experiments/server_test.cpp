// The server of `onebit watch`: several clients, slow ones among them.

#include "experiments/report/server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::experiments;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

/// A connection to a port of this machine. Threads use it, so it makes no assertions: where something fails, there is
/// no answer.
class Connection {
 public:
  explicit Connection(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(socket_); }

  void send(const std::string& text) const {
    if (connected_) ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// Returns what the server sends until it ends the connection.
  std::string rest() const {
    std::string text;
    char bytes[4096];
    for (ssize_t count = 0; connected_ && (count = recv(socket_, bytes, sizeof bytes, 0)) > 0;)
      text.append(bytes, static_cast<std::size_t>(count));
    return text;
  }
  /// Whether the server has ended the connection.
  bool is_over() const {
    char byte = 0;
    return recv(socket_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
  }

 private:
  int socket_;
  bool connected_ = false;
};

/// A server in a thread of its own, whose answers are the paths.
class Running {
 public:
  ~Running() {
    stop_ = true;
    thread_.join();
  }
  int port() const { return server_.port(); }
  int most_at_once() const { return most_; }

 private:
  Server server_{"127.0.0.1", 0};
  std::atomic<bool> stop_{false};
  std::atomic<int> now_{0}, most_{0};
  std::thread thread_{[this] {
    server_.serve(
        [this](const std::string& path) -> Response {
          most_ = std::max(most_.load(), ++now_);
          if (path == "/broken") {
            --now_;
            throw std::runtime_error("out of order");
          }
          --now_;
          return {200, "text/plain", path};
        },
        [this] { return stop_.load(); });
  }};
};

}  // namespace

TEST_CASE("server: clients that send nothing keep no other from its answer") {
  const Running server;
  const Connection silent(server.port()), half(server.port());
  half.send("GET /half");
  const Connection other(server.port());
  other.send("GET /page HTTP/1.1\r\n\r\n");
  CHECK_THAT(other.rest(), StartsWith("HTTP/1.1 200 OK\r\n") && EndsWith("\r\n\r\n/page"));
  CHECK_FALSE(silent.is_over());
  CHECK_FALSE(half.is_over());
  half.send(" HTTP/1.1\r\n\r\n");
  CHECK_THAT(half.rest(), EndsWith("\r\n\r\n/half"));
}

TEST_CASE("server: many clients at once, one answer at a time, and it ends while some are connected") {
  const Running server;
  const Connection silent(server.port());
  std::vector<std::thread> clients;
  std::atomic<int> answered{0};
  for (int c = 0; c < 20; ++c) {
    clients.emplace_back([&] {
      const Connection client(server.port());
      client.send("GET /page HTTP/1.1\r\n\r\n");
      answered += client.rest().ends_with("/page") ? 1 : 0;
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(answered == 20);
  CHECK(server.most_at_once() == 1);
}

TEST_CASE("server: what is no GET request is turned away, and an answer that fails is an error") {
  const Running server;
  const auto answer_to = [&](const std::string& request) {
    const Connection client(server.port());
    client.send(request);
    return client.rest();
  };
  CHECK_THAT(answer_to("POST /page HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  CHECK_THAT(answer_to("GET /broken HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 500 ") && EndsWith("out of order\n"));
  CHECK(answer_to(std::string(10000, 'x')).empty());
  CHECK_THAT(answer_to("GET /page HTTP/1.1\r\n\r\n"), EndsWith("/page"));
}
