#include "experiments/report/server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "device/base/error.hpp"

namespace onebit::experiments {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestRequest = 8192;
constexpr std::size_t kMostClients = 8;        ///< clients that are served at the same time
constexpr std::chrono::seconds kPatience{10};  ///< time that a client has for its request
constexpr std::chrono::seconds kPause{5};      ///< longest time for which a client may read nothing of the answer
constexpr std::chrono::seconds kLongest{120};  ///< time that a client has for the whole answer

/// Waits until the socket can be read or written. Returns whether it can before the deadline.
bool ready(int socket, short events, Clock::time_point deadline) {
  pollfd waiting{socket, events, 0};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left > 0 && poll(&waiting, 1, static_cast<int>(left)) == 1;
}

/// Returns the head of a request; nothing if it is too long, too late or incomplete.
std::optional<std::string> request_of(int client) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  std::string head;
  char bytes[2048];
  while (head.find("\r\n\r\n") == std::string::npos) {
    if (head.size() > kLongestRequest || !ready(client, POLLIN, deadline)) return {};
    const ssize_t count = recv(client, bytes, sizeof bytes, 0);
    if (count <= 0) return {};
    head.append(bytes, static_cast<std::size_t>(count));
  }
  return head;
}

void send_all(int client, const std::string& text) {
  const Clock::time_point end = Clock::now() + kLongest;
  std::size_t sent = 0;
  while (sent < text.size()) {
    if (!ready(client, POLLOUT, std::min(end, Clock::now() + kPause))) return;
    const ssize_t count = send(client, text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
}

std::string text_of(const Response& response) {
  static const std::map<int, std::string> reasons = {
      {200, "OK"}, {400, "Bad Request"}, {404, "Not Found"}, {500, "Internal Server Error"}};
  return "HTTP/1.1 " + std::to_string(response.status) + " " + reasons.at(response.status) +
         "\r\nContent-Type: " + response.type + "\r\nContent-Length: " + std::to_string(response.body.size()) +
         "\r\nConnection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
         "X-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
         "script-src 'unsafe-inline'; img-src data:; connect-src 'self'\r\n\r\n" +
         response.body;
}

using Answer = std::function<Response(const std::string&)>;

void answer_client(int client, const Answer& answer) {
  const std::optional<std::string> head = request_of(client);
  if (!head) return;
  const std::size_t end = head->find(' ', 4);
  const bool is_get = head->starts_with("GET ") && end != std::string::npos;
  send_all(client, text_of(is_get ? answer(head->substr(4, end - 4)) : Response{400, "text/plain", "GET only\n"}));
}

/// The clients that are being served, each by a thread.
class Clients {
 public:
  explicit Clients(const Answer& answer)
      : answer_([this, &answer](const std::string& path) {
          const std::lock_guard lock(answering_);
          try {
            return answer(path);
          } catch (const std::exception& error) {
            return Response{500, "text/plain", std::string(error.what()) + "\n"};
          }
        }) {}
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;
  /// Ends all connections.
  ~Clients() {
    for (Client& client : clients_) shutdown(client.socket, SHUT_RDWR);
    for (Client& client : clients_) part_with(client);
  }

  /// Forgets the clients that have been served. Returns whether there is room for another.
  bool has_room() {
    for (auto client = clients_.begin(); client != clients_.end();) {
      if (!client->served) {
        ++client;
        continue;
      }
      part_with(*client);
      client = clients_.erase(client);
    }
    return clients_.size() < kMostClients;
  }

  void serve(int socket) {
    Client& client = clients_.emplace_back();
    client.socket = socket;
    try {
      client.thread = std::thread([this, &client] {
        answer_or_leave(client.socket);
        shutdown(client.socket, SHUT_RDWR);
        client.served = true;
      });
    } catch (const std::system_error&) {  // no thread is available: this client is turned away
      client.served = true;
    }
  }

 private:
  struct Client {
    int socket = -1;
    std::atomic<bool> served{false};
    std::thread thread;
  };

  /// Answers a client. If that fails, for example because memory is short, the client gets no answer, and the others
  /// are not affected.
  void answer_or_leave(int socket) const {
    try {
      answer_client(socket, answer_);
    } catch (const std::exception&) {
      return;
    }
  }

  static void part_with(Client& client) {
    if (client.thread.joinable()) client.thread.join();
    close(client.socket);
  }

  std::mutex answering_;
  Answer answer_;
  std::list<Client> clients_;
};

}  // namespace

Server::Server(const std::string& address, int port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &place.sin_addr) != 1)
    throw ConfigError("not an IPv4 address", "address " + address, "e.g. 127.0.0.1, or 0.0.0.0 for all networks");
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  socklen_t size = sizeof place;
  if (socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&place), size) != 0 || listen(socket_, 16) != 0 ||
      getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &size) != 0) {
    const std::string reason = std::strerror(errno);
    if (socket_ >= 0) close(socket_);
    throw IoError("cannot serve: " + reason, address + ":" + std::to_string(port), "try another --port or --address");
  }
  port_ = ntohs(place.sin_port);
}

Server::~Server() {
  close(socket_);
}

void Server::serve(const std::function<Response(const std::string& path)>& answer, const std::function<bool()>& stop) {
  Clients clients(answer);
  while (!stop()) {
    if (!clients.has_room()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    if (!ready(socket_, POLLIN, Clock::now() + std::chrono::milliseconds(200))) continue;
    const int client = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) clients.serve(client);
  }
}

}  // namespace onebit::experiments
