// Clients of a beanstalk server for bench/compare_queues.py: they put jobs and work them off. One thread waits for all
// connections with epoll, so a command costs a few microseconds of the processor.
//
// usage: queue_clients NODES WORKLOAD JOBS RATE SECONDS WORKERS IN_FLIGHT
//
//   NODES      with commas: unix:PATH, or a port on 127.0.0.1; the connections are divided among them
//   WORKLOAD   backlog: JOBS jobs are put; then workers begin, and finish them
//              flow: for SECONDS, the jobs that are not finished are kept between JOBS / 2 and JOBS
//              lateness: jobs are put that become due evenly, RATE a second for SECONDS; then workers finish them
//              far: JOBS jobs that are due in a day are put, and stay
//   WORKERS    connections that reserve and delete, one job at a time
//   IN_FLIGHT  1: a worker sends `reserve` when its `delete` was answered; 2: it sends both at once
//
// Each step is a line. The program writes {"ready": true} when the jobs are put, and the figures when all are finished;
// it waits for a line on standard input after each.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t puts_in_flight = 256;  // of one connection
constexpr int producers_of_node = 4;
constexpr double lead = 2;  // seconds between the last put and the first due time

/// Seconds since 1970.
double now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <class... Parts>
std::string joined(const Parts&... parts) {
  std::ostringstream text;
  text.precision(4);
  text << std::fixed;
  (text << ... << parts);
  return text.str();
}

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc{}) {
    throw std::runtime_error(joined("'", text, "' is not a number"));
  }
  return number;
}

struct options {
  std::vector<std::string> nodes;
  std::string workload;
  std::int64_t jobs = 0;
  std::int64_t rate = 0;
  std::int64_t seconds = 0;
  std::int64_t workers = 0;
  bool sends_both = false;

  explicit options(const std::vector<std::string_view>& words) {
    if (words.size() != 7) throw std::runtime_error("wrong arguments: see the head of queue_clients.cpp");
    for (std::string_view rest = words[0]; !rest.empty();) {
      const std::size_t comma = rest.find(',');
      nodes.emplace_back(rest.substr(0, comma));
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
    workload = words[1];
    jobs = number_in(words[2]);
    rate = number_in(words[3]);
    seconds = number_in(words[4]);
    workers = number_in(words[5]);
    sends_both = number_in(words[6]) > 1;
    if (workload == "lateness") jobs = rate * seconds;
  }
};

/// What all connections have done.
struct tally {
  std::int64_t put = 0;  // sent
  std::int64_t answered = 0;
  std::int64_t finished = 0;
  double first_start = 0;
  double last_finish = 0;
  std::vector<double> late_ms;
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
  producer(const std::string& node, tally& all) : connection(node), all_(all) {}

  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

  /// `due` is in seconds since 1970, or 0.
  void put(double due) {
    const auto due_ms = static_cast<std::int64_t>(due * 1000);
    const std::string body = joined("{\"due\":", due_ms, "}");
    if (due > 0) {
      send_later(joined("x-put keep - 0 @", due_ms, " 60000 ", body.size(), "\r\n", body, "\r\n"));
    } else {
      send_later(joined("put 0 0 60 ", body.size(), "\r\n", body, "\r\n"));
    }
    ++in_flight_;
    ++all_.put;
  }

 private:
  void take(std::string_view line, std::string_view) override {
    if (!line.starts_with("INSERTED ")) throw std::runtime_error(joined("a put was answered by ", line));
    --in_flight_;
    ++all_.answered;
  }

  tally& all_;
  std::size_t in_flight_ = 0;
};

class worker final : public connection {
 public:
  worker(const std::string& node, const options& given, tally& all) : connection(node), given_(given), all_(all) {}

  void begin() {
    send_later("reserve\r\n");
    flush();
  }

 private:
  void take(std::string_view line, std::string_view body) override {
    if (line.starts_with("RESERVED ")) {
      const double at = now();
      if (all_.first_start == 0) all_.first_start = at;
      if (given_.workload == "lateness") {
        all_.late_ms.push_back(at * 1000 - static_cast<double>(number_in(body.substr(body.find(':') + 1))));
      }
      const std::string_view id = line.substr(9, line.rfind(' ') - 9);
      send_later("delete ");
      send_later(id);
      send_later(given_.sends_both ? "\r\nreserve\r\n" : "\r\n");
    } else if (line == "DELETED") {
      ++all_.finished;
      all_.last_finish = now();
      if (!given_.sends_both) send_later("reserve\r\n");
    } else {
      throw std::runtime_error(joined("a worker was answered by ", line));
    }
  }

  const options& given_;
  tally& all_;
};

class clients {
 public:
  explicit clients(const options& given) : given_(given), poll_(::epoll_create1(0)) {
    for (const std::string& node : given.nodes) {
      for (int i = 0; i < producers_of_node; ++i) producers_.push_back(add<producer>(node, all_));
    }
    for (std::int64_t i = 0; i < given.workers; ++i) {
      const std::size_t number = static_cast<std::size_t>(i) % given.nodes.size();
      workers_.push_back(add<worker>(given.nodes[number], given, all_));
    }
  }
  clients(const clients&) = delete;
  clients& operator=(const clients&) = delete;
  ~clients() { ::close(poll_); }

  void run() {
    if (given_.workload == "flow") {
      put_until(given_.jobs, 0);
    } else {
      put_all();
    }
    pass("{\"ready\": true}");
    if (given_.workload == "far") return;
    for (worker* each : workers_) each->begin();
    if (given_.workload == "flow") {
      flow();
      return;
    }
    while (all_.finished < given_.jobs) turn();
    report(all_.finished, all_.last_finish - all_.first_start);
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
      while (all_.put < until && each->in_flight() < puts_in_flight) each->put(due_of(all_.put));
      each->flush();
    }
  }

  void put_until(std::int64_t until, double due) {
    while (all_.answered < until) {
      send_puts(until, [due](std::int64_t) { return due; });
      turn();
    }
  }

  void put_all() {
    if (given_.workload == "far") {
      put_until(given_.jobs, now() + 86'400);
    } else if (given_.workload == "lateness") {
      // By what a put takes here at most, all have been put before the first is due.
      const double first = now() + lead + static_cast<double>(given_.jobs) / 1500;
      const auto due_of = [&](std::int64_t n) {
        return first + static_cast<double>(n) / static_cast<double>(given_.rate);
      };
      while (all_.answered < given_.jobs) {
        send_puts(given_.jobs, due_of);
        turn();
      }
      if (now() > first) throw std::runtime_error("jobs became due before all were put: take a lower rate");
    } else {
      put_until(given_.jobs, 0);
    }
  }

  void flow() {
    const double begin = now();
    double from = 0;
    std::int64_t before = 0;
    std::int64_t target = all_.put;
    while (true) {
      const double at = now();
      if (from == 0 && at >= begin + 1) {  // warmed up
        from = at;
        before = all_.finished;
      }
      if (from > 0 && at >= from + static_cast<double>(given_.seconds)) {
        report(all_.finished - before, at - from);
        return;
      }
      const std::int64_t open = all_.put - all_.finished;
      if (open < given_.jobs / 2) target = all_.put + given_.jobs - open;
      send_puts(target, [](std::int64_t) { return 0.0; });
      turn();
    }
  }

  void report(std::int64_t jobs, double seconds) {
    std::ranges::sort(all_.late_ms);
    std::string late;
    if (!all_.late_ms.empty()) {
      const auto at = [&](double part) {
        const auto last = all_.late_ms.size() - 1;
        return all_.late_ms[static_cast<std::size_t>(static_cast<double>(last) * part)];
      };
      const auto early = std::ranges::count_if(all_.late_ms, [](double each) { return each < 0; });
      late = joined(", \"early\": ", early, ", \"p50\": ", at(0.5), ", \"p99\": ", at(0.99), ", \"max\": ", at(1));
    }
    pass(joined("{\"jobs\": ", jobs, ", \"seconds\": ", seconds, late, "}"));
  }

  static void pass(const std::string& line) {
    std::cout << line << std::endl;
    std::string answer;
    std::getline(std::cin, answer);
  }

  const options& given_;
  int poll_;
  tally all_;
  std::vector<std::unique_ptr<connection>> connections_;
  std::vector<producer*> producers_;
  std::vector<worker*> workers_;
};

}  // namespace

int main(int count, char** words) {
  try {
    const options given(std::vector<std::string_view>(words + 1, words + count));
    clients(given).run();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "queue_clients: " << error.what() << '\n';
    return 1;
  }
}
