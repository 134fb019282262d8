// How many webhooks a second one core delivers, and what targets that are down cost the others.
//
//   webhook-bench [--deliveries N] [--at-once N] [--targets N] [--dead N] [--body BYTES]
//   webhook-bench --sink BYTES     the receiver alone, of bodies of this length, for bench/deliver_webhooks.py
//
// A process of its own is the receiver, on the last core; the engine runs on the first one. Deliveries are signed, and
// go by plain HTTP over connections that are kept alive. `--dead N` adds N targets whose receiver accepts connections
// and never answers, each with deliveries under way all the time. Prints one line of JSON for each run: deliveries a
// second, and microseconds of the engine's process for a delivery, those of the kernel among them.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/poller.hpp>
#include <foliot/runtime.hpp>

#include "server/webhooks/delivery_engine.hpp"

namespace foliot::bench {
namespace {

using namespace program::webhooks;
using runtime::task;

struct bench_options {
  std::size_t deliveries = 200'000;
  std::size_t at_once = 64;
  std::size_t targets = 4;
  std::size_t dead = 0;
  std::size_t body = 200;
  std::size_t sink = 0;  ///< not 0: only the receiver
};

void pin_to(std::size_t core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ::sched_setaffinity(0, sizeof one, &one);  // without it the numbers are another machine's, and still numbers
}

/// A socket that listens at a free port of the loopback interface.
struct gate {
  int fd = -1;
  std::uint16_t port = 0;
};

gate listen_anywhere() {
  gate made;
  made.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const any = reinterpret_cast<sockaddr*>(&at);
  if (made.fd < 0 || ::bind(made.fd, any, size) != 0 || ::listen(made.fd, 4096) != 0 ||
      ::getsockname(made.fd, any, &size) != 0)
    throw std::runtime_error("cannot listen at the loopback interface");
  made.port = ntohs(at.sin_port);
  return made;
}

/// Answers each request with 204. The bodies all have the same length.
class receiver {
 public:
  receiver(int gate_fd, std::size_t body) : gate_(gate_fd), body_(body) { add(gate_); }

  [[noreturn]] void run() {
    std::array<seam::poll_event, seam::poller::most_events> events;
    for (;;) {
      const seam::polled found = poller_.wait(instant::never(), events);
      for (std::size_t i = 0; i < found.events; ++i) {
        const auto fd = static_cast<int>(events[i].token);
        fd == gate_ ? accept_all() : read(fd);
      }
    }
  }

 private:
  void add(int fd) { poller_.add(fd, readiness::readable, static_cast<std::uint64_t>(fd)); }
  void end(int fd) {
    pending_.erase(fd);
    poller_.remove(fd);
    ::close(fd);
  }
  void accept_all() {
    for (int fd = 0; (fd = ::accept4(gate_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0; add(fd)) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
  }
  void read(int fd) {
    std::array<char, 65'536> buffer;
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size <= 0) return end(fd);
    std::string& text = pending_[fd];
    text.append(buffer.data(), static_cast<std::size_t>(size));
    std::string answers;
    for (std::size_t head = 0;
         (head = text.find("\r\n\r\n")) != std::string::npos && text.size() >= head + 4 + body_;) {
      text.erase(0, head + 4 + body_);
      answers += "HTTP/1.1 204 No Content\r\n\r\n";
    }
    if (!answers.empty() && ::write(fd, answers.data(), answers.size()) < 0) end(fd);
  }

  int gate_;
  std::size_t body_;
  seam::poller poller_;
  std::map<int, std::string> pending_;
};

/// A process that receives until it is killed.
class receiving_process {
 public:
  receiving_process(const gate& at, std::size_t body) : pid_(::fork()) {
    if (pid_ != 0) return;
    pin_to(static_cast<std::size_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L)) - 1);
    receiver(at.fd, body).run();
  }
  receiving_process(const receiving_process&) = delete;
  receiving_process& operator=(const receiving_process&) = delete;
  ~receiving_process() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

struct target {
  target_url url;
  std::shared_ptr<target_turns> turns;
  std::shared_ptr<const signing_secrets> secrets;
};

struct counts {
  std::size_t left;
  std::size_t failed = 0;
};

task<> deliver_until_done(delivery_engine& engine, const target& to, std::size_t body, counts& all) {
  while (all.left > 0) {
    const std::string id = fmt::format("msg_{}", all.left--);
    auto entering = target_turns::enter(to.turns);
    auto turn = co_await std::move(entering);
    if (!turn) co_return;
    delivery_request request{.url = to.url,
                             .id = id,
                             .body = std::string(body, 'x'),
                             .headers = {{"foliot-attempt", "1"}, {"foliot-tube", "mail"}},
                             .secrets = to.secrets};
    auto delivering = engine.deliver(std::move(request), *std::move(turn));
    const delivery_answer answer = co_await std::move(delivering);
    all.failed += answer.what == outcome::delivered ? 0U : 1U;
  }
}

target target_at(std::uint16_t port, std::size_t at_once, delivery_engine& engine) {
  auto url = target_url::parse(fmt::format("http://127.0.0.1:{}/in", port), {.allows_http = true});
  const auto secret = signing_secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  return {.url = std::move(url).value(),
          .turns = std::make_shared<target_turns>(target_limits{.most_at_once = at_once, .failures_to_open = 0},
                                                  engine.room()),
          .secrets = std::make_shared<signing_secrets>(secret.value())};
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// One run: its deliveries a second.
double measure(const bench_options& options, std::uint16_t port, const std::vector<gate>& dead) {
  std::vector<std::string> allow{fmt::format("127.0.0.1:{}", port)};
  for (const gate& each : dead) allow.push_back(fmt::format("127.0.0.1:{}", each.port));
  delivery_engine engine({.most_at_once = 100'000, .most_idle = 4096},
                         address_rules::make({.allow = allow, .nat64 = {}, .allows_http = true}).value());
  counts all{options.deliveries}, of_dead{dead.size() * 10};
  double took = 0;
  rusage before{}, after{};
  runtime::run(
      [&]() -> task<> {
        const auto serving = runtime::spawn(engine.run(), "webhooks");
        std::vector<target> targets, dead_targets;
        const std::size_t at_once = std::max<std::size_t>(options.at_once / options.targets, 1);
        for (std::size_t i = 0; i < options.targets; ++i) targets.push_back(target_at(port, at_once, engine));
        for (const gate& each : dead) dead_targets.push_back(target_at(each.port, 10, engine));
        for (std::size_t i = 0; i < of_dead.left + dead.size() * 10; ++i) {
          if (!dead.empty())
            runtime::spawn(deliver_until_done(engine, dead_targets[i % dead.size()], options.body, of_dead));
        }
        std::vector<runtime::join_handle<void>> workers;
        ::getrusage(RUSAGE_SELF, &before);
        const instant start = monotonic_clock::instance().now();
        for (std::size_t i = 0; i < options.targets * at_once; ++i)
          workers.push_back(
              runtime::spawn(deliver_until_done(engine, targets[i % options.targets], options.body, all)));
        for (auto& each : workers) co_await each.join();
        took = static_cast<double>((monotonic_clock::instance().now() - start).count()) / 1e9;
        ::getrusage(RUSAGE_SELF, &after);
      },
      {.processors = 1});
  const double user = seconds_of(after.ru_utime) - seconds_of(before.ru_utime);
  const double kernel = seconds_of(after.ru_stime) - seconds_of(before.ru_stime);
  const auto count = static_cast<double>(options.deliveries);
  const engine_metrics metrics = engine.metrics();
  fmt::print(
      "{{\"deliveries\": {}, \"failed\": {}, \"at_once\": {}, \"targets\": {}, \"dead\": {}, \"per_second\": {:.0f}, "
      "\"microseconds\": {:.2f}, \"kernel_microseconds\": {:.2f}, \"connects\": {}, \"turns\": {}}}\n",
      options.deliveries, all.failed, options.at_once, options.targets, dead.size(), count / took,
      (user + kernel) / count * 1e6, kernel / count * 1e6, metrics.connects, metrics.turns);
  return count / took;
}

std::size_t number_of(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::runtime_error(fmt::format("'{}' is no number", text));
  return value;
}

bench_options parse(int count, char** arguments) {
  bench_options options;
  const std::map<std::string_view, std::size_t*> known{{"--deliveries", &options.deliveries},
                                                       {"--at-once", &options.at_once},
                                                       {"--targets", &options.targets},
                                                       {"--dead", &options.dead},
                                                       {"--body", &options.body},
                                                       {"--sink", &options.sink}};
  for (int i = 1; i < count; i += 2) {
    const auto found = known.find(arguments[i]);
    if (found == known.end() || i + 1 == count)
      throw std::runtime_error(
          "usage: webhook-bench [--deliveries N] [--at-once N] [--targets N] [--dead N] [--body BYTES] | --sink BYTES");
    *found->second = number_of(arguments[i + 1]);
  }
  if (options.targets == 0) throw std::runtime_error("there must be at least one target");
  return options;
}

void run_all(const bench_options& options) {
  const gate at = listen_anywhere();
  if (options.sink != 0) {
    fmt::print("{}\n", at.port);
    std::fflush(stdout);
    receiver(at.fd, options.sink).run();
  }
  const receiving_process receiving(at, options.body);
  pin_to(0);
  const double alone = measure(options, at.port, {});
  if (options.dead == 0) return;
  std::vector<gate> dead;
  for (std::size_t i = 0; i < options.dead; ++i) dead.push_back(listen_anywhere());
  const double beside = measure(options, at.port, dead);
  const double again = measure(options, at.port, {});
  fmt::print("beside {} dead targets: {:.3f} of the mean without\n", dead.size(), beside / ((alone + again) / 2));
}

}  // namespace
}  // namespace foliot::bench

int main(int count, char** arguments) {
  try {
    foliot::bench::run_all(foliot::bench::parse(count, arguments));
  } catch (const std::exception& error) {
    fmt::print(stderr, "webhook-bench: {}\n", error.what());
    return 2;
  }
}
