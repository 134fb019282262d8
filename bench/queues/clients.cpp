// Clients of a beanstalk server for bench/compare_queues.py: they put jobs and work them off. One thread waits for all
// connections with epoll, so a command costs a few microseconds of the processor.
//
// usage: queue_clients NODES WORKLOAD JOBS RATE SECONDS WORKERS AT-ONCE
//
// NODES, with commas, are unix:PATH, or a port on 127.0.0.1; the connections are divided among them. Each worker is a
// connection. The other arguments are those of load.hpp.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load.hpp"

namespace {

using bench::joined;
using bench::number_in;

constexpr std::size_t puts_in_flight = 256;  // of one connection
constexpr int producers_of_node = 4;

struct options {
  std::vector<std::string> nodes;
  bench::queue_load load;

  explicit options(const std::vector<std::string_view>& words) : load(std::span(words).subspan(words.empty() ? 0 : 1)) {
    for (std::string_view rest = words[0]; !rest.empty();) {
      const std::size_t comma = rest.find(',');
      nodes.emplace_back(rest.substr(0, comma));
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
  }
};

class connection {
 public:
  explicit connection(const std::string& node) : socket_(connected_to(node)) {}
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  virtual ~connection() { ::close(socket_); }

  [[nodiscard]] int socket() const { return socket_; }

  /// Reads what has come, and takes each complete reply.
  void read() {
    std::array<char, 1U << 16U> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv() fills it
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (got <= 0) throw std::runtime_error("the server has closed a connection");
    received_.append(bytes.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = received_.find("\r\n", begin)) != std::string::npos;) {
      const std::string_view line = std::string_view(received_).substr(begin, end - begin);
      std::size_t next = end + 2;
      std::string_view body;
      if (line.starts_with("RESERVED ")) {
        const auto size = static_cast<std::size_t>(number_in(line.substr(line.rfind(' ') + 1)));
        if (received_.size() < next + size + 2) break;
        body = std::string_view(received_).substr(next, size);
        next += size + 2;
      }
      take(line, body);
      begin = next;
    }
    received_.erase(0, begin);
    flush();
  }

  void flush() {
    std::string_view rest = to_send_;
    while (!rest.empty()) {
      const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0) throw std::runtime_error("the server has closed a connection");
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    to_send_.clear();
  }

 protected:
  virtual void take(std::string_view line, std::string_view body) = 0;
  void send_later(std::string_view bytes) { to_send_ += bytes; }

 private:
  template <class Address>
  static int connected(const Address& address) {
    const int made = ::socket(address.first, SOCK_STREAM, 0);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
    const auto* const where = reinterpret_cast<const sockaddr*>(&address.second);
    if (::connect(made, where, sizeof address.second) == 0) return made;
    ::close(made);
    return -1;
  }
  static int connected_to(const std::string& node) {
    int made = -1;
    if (node.starts_with("unix:")) {
      sockaddr_un local{};
      local.sun_family = AF_UNIX;
      if (node.size() - 5 >= sizeof local.sun_path) throw std::runtime_error(joined("the path is too long: ", node));
      std::ranges::copy(node.substr(5), std::begin(local.sun_path));
      made = connected(std::pair(AF_UNIX, local));
    } else {
      sockaddr_in port{};
      port.sin_family = AF_INET;
      port.sin_port = htons(static_cast<std::uint16_t>(number_in(node)));
      port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      made = connected(std::pair(AF_INET, port));
      const int on = 1;
      ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (made < 0) throw std::runtime_error(joined("cannot connect to ", node));
    return made;
  }

  int socket_;
  std::string received_;
  std::string to_send_;
};

class producer final : public connection {
 public:
  explicit producer(const std::string& node) : connection(node) {}

  [[nodiscard]] std::int64_t answered() const { return answered_; }
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

  /// `due` is in seconds since 1970, or 0.
  void put(double due) {
    const std::string body = bench::body_of(due);
    if (due > 0) {
      const auto due_ms = static_cast<std::int64_t>(due * 1000);
      send_later(joined("x-put keep - 0 @", due_ms, " 60000 ", body.size(), "\r\n", body, "\r\n"));
    } else {
      send_later(joined("put 0 0 60 ", body.size(), "\r\n", body, "\r\n"));
    }
    ++in_flight_;
  }

 private:
  void take(std::string_view line, std::string_view) override {
    if (!line.starts_with("INSERTED ")) throw std::runtime_error(joined("a put was answered by ", line));
    --in_flight_;
    ++answered_;
  }

  std::int64_t answered_ = 0;
  std::size_t in_flight_ = 0;
};

class worker final : public connection {
 public:
  worker(const std::string& node, bool asks_for_both, bench::tally& all)
      : connection(node), asks_for_both_(asks_for_both), all_(all) {}

  void begin() {
    send_later("reserve\r\n");
    flush();
  }

 private:
  void take(std::string_view line, std::string_view body) override {
    if (line.starts_with("RESERVED ")) {
      all_.begin(body);
      const std::string_view id = line.substr(9, line.rfind(' ') - 9);
      send_later("delete ");
      send_later(id);
      send_later(asks_for_both_ ? "\r\nreserve\r\n" : "\r\n");
    } else if (line == "DELETED") {
      all_.finish();
      if (!asks_for_both_) send_later("reserve\r\n");
    } else {
      throw std::runtime_error(joined("a worker was answered by ", line));
    }
  }

  bool asks_for_both_;
  bench::tally& all_;
};

class clients {
 public:
  explicit clients(const options& given) : load_(given.load), all_(load_), poll_(::epoll_create1(0)) {
    for (const std::string& node : given.nodes) {
      for (int i = 0; i < producers_of_node; ++i) producers_.push_back(add<producer>(node));
    }
    for (std::int64_t i = 0; i < load_.workers; ++i) {
      const std::size_t number = static_cast<std::size_t>(i) % given.nodes.size();
      workers_.push_back(add<worker>(given.nodes[number], load_.asks_for_both, all_));
    }
  }
  clients(const clients&) = delete;
  clients& operator=(const clients&) = delete;
  ~clients() { ::close(poll_); }

  void run() {
    if (load_.workload == "lateness") {
      const bench::due_times due(load_);
      put_all([&](std::int64_t number) { return due.of(number); });
      due.check();
    } else {
      const double due = load_.workload == "far" ? bench::now() + 86'400 : 0;
      put_all([due](std::int64_t) { return due; });
    }
    bench::pass(bench::ready_line);
    if (load_.workload == "far") return;
    for (worker* each : workers_) each->begin();
    if (load_.workload == "flow") {
      flow();
    } else {
      while (all_.finished() < load_.jobs) turn();
      bench::pass(all_.figures());
    }
  }

 private:
  template <class Kind, class... Arguments>
  Kind* add(const std::string& node, Arguments&&... arguments) {
    auto made = std::make_unique<Kind>(node, std::forward<Arguments>(arguments)...);
    Kind* const result = made.get();
    epoll_event event{.events = EPOLLIN, .data = {.ptr = static_cast<connection*>(result)}};
    if (::epoll_ctl(poll_, EPOLL_CTL_ADD, result->socket(), &event) != 0) throw std::runtime_error("epoll_ctl failed");
    connections_.push_back(std::move(made));
    return result;
  }

  /// Waits until something has come, at most 20 ms, and reads it.
  void turn() {
    std::array<epoll_event, 256> events{};
    const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 20);
    for (int i = 0; i < count; ++i) static_cast<connection*>(events.at(static_cast<std::size_t>(i)).data.ptr)->read();
  }

  /// Sends puts up to the number `until`, without waiting for room.
  template <class DueOf>
  void send_puts(std::int64_t until, DueOf due_of) {
    for (producer* each : producers_) {
      if (each->in_flight() * 2 > puts_in_flight) continue;
      for (; put_ < until && each->in_flight() < puts_in_flight; ++put_) each->put(due_of(put_));
      each->flush();
    }
  }

  template <class DueOf>
  void put_all(DueOf due_of) {
    std::int64_t answered = 0;
    while (answered < load_.jobs) {
      send_puts(load_.jobs, due_of);
      turn();
      answered = 0;
      for (const producer* each : producers_) answered += each->answered();
    }
  }

  void flow() {
    bench::flow_window window(load_, all_);
    std::int64_t target = put_;
    while (!window.is_over()) {
      const std::int64_t open = put_ - all_.finished();
      if (open < load_.jobs / 2) target = put_ + load_.jobs - open;
      send_puts(target, [](std::int64_t) { return 0.0; });
      turn();
    }
    bench::pass(window.figures());
  }

  bench::queue_load load_;
  bench::tally all_;
  int poll_;
  std::int64_t put_ = 0;  // sent
  std::vector<std::unique_ptr<connection>> connections_;
  std::vector<producer*> producers_;
  std::vector<worker*> workers_;
};

}  // namespace

int main(int count, char** words) {
  return bench::run_program("queue_clients", count, words,
                            [](const std::vector<std::string_view>& arguments) { clients(options(arguments)).run(); });
}
