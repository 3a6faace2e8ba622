#pragma once
// A small server for the few readers of a page: GET requests over HTTP/1.1.

#include <functional>
#include <string>

namespace onebit::experiments {

struct Response {
  int status = 200;
  std::string type = "text/html; charset=utf-8", body = {};
};

class Server {
 public:
  /// Listens on a numerical IPv4 address. port 0: a free one. Throws IoError if that is not possible, and
  /// ConfigError for anything other than such an address.
  Server(const std::string& address, int port);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  int port() const { return port_; }

  /// Answers requests until stop(), which is called several times a second, returns true. answer: the response to the
  /// path of a GET request; it is called by one thread at a time, but not always by the same. A slow client does not
  /// hold up others; at most eight are served at a time. A client that sends nothing, too much, or anything but a GET
  /// request is turned away.
  void serve(const std::function<Response(const std::string& path)>& answer, const std::function<bool()>& stop);

 private:
  int socket_ = -1, port_ = 0;
};

}  // namespace onebit::experiments
