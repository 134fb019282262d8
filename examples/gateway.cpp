// A server for long connections, such as those of chats and devices. Each connection has a heartbeat deadline, which
// every complete line resets; the server closes a connection that has sent no complete line until then. A line that
// begins with "all " is sent to all connections.
//
// SIGINT or SIGTERM ends the server: it accepts no more connections, sends "bye" to all, and waits a second for them to
// close.
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/signal_set.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/statistics_socket.hpp>

#include "gateway_options.hpp"

namespace rt = foliot::runtime;
using namespace std::chrono_literals;

namespace {

constexpr const char* usage =
    "usage: gateway [--listen ADDRESS] [--silence MS] [--counters 0|1] [--processors N] [--statistics PATH]\n"
    "  --listen      127.0.0.1:7000 (the default), [::1]:7000, unix:/path or unix:@name; port 0: any that is free\n"
    "  --silence     close a connection that sends no line for so many milliseconds (default 3000)\n"
    "  --counters 1  prints the counters once a second\n"
    "  --processors  how many processors run it; 0: all (the default)\n"
    "  --statistics  shows its tasks and timers at this path, for foliot top\n"
    "Clients send lines. Each is a heartbeat; 'all TEXT' sends TEXT to all clients.\n";

constexpr std::size_t longest_line = 512;
constexpr std::size_t most_unsent = 65'536;  // a client that leaves more than that unread is too slow

struct counters {
  std::atomic<std::uint64_t> accepted{0}, lines{0}, broadcasts{0}, silent{0}, left{0}, failed{0};
  std::atomic<std::int64_t> latest_ns{0};  // the longest time from a deadline to the close of its connection
};

struct connection {
  explicit connection(rt::stream stream) : peer(std::move(stream)) {}

  rt::stream peer;
  std::mutex lock;  // guards the next two
  std::string unsent;
  bool is_sending = false;
};
using shared_connection = std::shared_ptr<connection>;

/// All connections.
class hub {
 public:
  void add(const shared_connection& added) {
    const std::lock_guard held(lock_);
    all_.insert(added);
  }
  void remove(const shared_connection& removed) {
    const std::lock_guard held(lock_);
    all_.erase(removed);
  }
  [[nodiscard]] std::size_t size() {
    const std::lock_guard held(lock_);
    return all_.size();
  }
  [[nodiscard]] std::vector<shared_connection> all() {
    const std::lock_guard held(lock_);
    return {all_.begin(), all_.end()};
  }

 private:
  std::mutex lock_;
  std::unordered_set<shared_connection> all_;
};

struct gateway {
  foliot::duration silence;
  hub connected;
  counters count;
};

/// Sends the unsent text, and text that is added meanwhile.
foliot::task<> send_all(shared_connection to) {
  std::string sending;
  for (;;) {
    {
      const std::lock_guard held(to->lock);
      sending.swap(to->unsent);
      to->unsent.clear();
      if (sending.empty()) {
        to->is_sending = false;
        co_return;
      }
    }
    to->peer.set_write_deadline(5s);
    const auto sent = co_await to->peer.write_all(sending);
    if (!sent) to->peer.close_read();  // the reading task gets the end of the stream
  }
}

void send(const shared_connection& to, std::string_view line) {
  const std::lock_guard held(to->lock);
  if (to->unsent.size() + line.size() > most_unsent) {
    to->peer.close_read();
    return;
  }
  to->unsent += line;
  if (to->is_sending) return;
  rt::spawn(send_all(to), "sends");  // it waits for the lock
  to->is_sending = true;
}

void broadcast(gateway& self, std::string_view line) {
  for (const shared_connection& each : self.connected.all()) send(each, line);
  ++self.count.broadcasts;
}

/// Removes the complete lines from the beginning of `text`, and handles them. Returns whether there was one.
bool take_lines(gateway& self, std::string& text) {
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++self.count.lines;
    const std::string_view line(text.data() + begin, end + 1 - begin);
    if (line.starts_with("all ")) broadcast(self, line.substr(4));
  }
  text.erase(0, begin);
  return begin != 0;
}

void note_lateness(gateway& self, foliot::instant deadline) {
  const std::int64_t late = (rt::now() - deadline).count();
  std::int64_t latest = self.count.latest_ns;
  while (late > latest && !self.count.latest_ns.compare_exchange_weak(latest, late)) {
  }
}

foliot::task<> serve(gateway& self, shared_connection with) {
  std::string text;
  std::array<char, longest_line> buffer;
  foliot::instant deadline;
  for (bool has_line = true;;) {
    if (has_line) {
      deadline = rt::now() + self.silence;
      with->peer.set_read_deadline(deadline);
    }
    const auto got = co_await with->peer.read_some(buffer);
    if (!got && got.error() == rt::io_errc::deadline_exceeded) {
      ++self.count.silent;
      note_lateness(self, deadline);
      break;
    }
    if (!got || *got == 0) {
      ++(got ? self.count.left : self.count.failed);
      break;
    }
    text.append(buffer.data(), *got);
    has_line = take_lines(self, text);
    if (text.size() >= longest_line) {
      ++self.count.failed;
      break;
    }
  }
  self.connected.remove(with);
  with->peer.close();
}

foliot::task<> accept_all(gateway& self, rt::listener& gate) {
  for (;;) {
    auto peer = co_await gate.accept();
    if (!peer && peer.error() == rt::io_errc::closed) co_return;
    if (!peer) {
      std::fprintf(stderr, "cannot accept: %s\n", peer.error().message().c_str());
      co_await rt::sleep(10ms);
      continue;
    }
    ++self.count.accepted;
    auto added = std::make_shared<connection>(std::move(*peer));
    self.connected.add(added);
    rt::spawn(serve(self, std::move(added)), "serves");
  }
}

void print_counters(gateway& self) {
  const auto number = [](const auto& counter) { return static_cast<long long>(counter.load()); };
  std::printf(
      "connections %zu accepted %lld lines %lld broadcasts %lld silent %lld left %lld failed %lld latest %lld us\n",
      self.connected.size(), number(self.count.accepted), number(self.count.lines), number(self.count.broadcasts),
      number(self.count.silent), number(self.count.left), number(self.count.failed),
      number(self.count.latest_ns) / 1000);
  std::fflush(stdout);
}

foliot::task<> print_each_second(gateway& self) {
  for (foliot::instant next = rt::now();;) {
    next += 1s;
    co_await rt::sleep_until(next);
    print_counters(self);
  }
}

foliot::task<> say_bye(gateway& self) {
  for (const shared_connection& each : self.connected.all()) send(each, "bye\n");
  const foliot::instant until = rt::now() + 1s;
  while (self.connected.size() != 0 && rt::now() < until) co_await rt::sleep(10ms);
}

foliot::task<int> serve_until_signal(gateway& self, rt::address at, bool prints, std::string statistics) {
  std::optional<foliot::runtime_statistics_socket> shown;
  if (!statistics.empty()) shown.emplace(foliot::this_runtime(), statistics);
  auto gate = rt::listener::listen(at);
  if (!gate) {
    std::fprintf(stderr, "cannot listen on %s: %s\n", at.to_string().c_str(), gate.error().message().c_str());
    co_return 1;
  }
  auto signals = rt::signal_set::watch({SIGINT, SIGTERM});
  if (!signals) {
    std::fprintf(stderr, "cannot wait for signals: %s\n", signals.error().message().c_str());
    co_return 1;
  }
  std::printf("listening on %s\n", gate->local_address().value_or(at).to_string().c_str());
  std::fflush(stdout);
  auto accepting = rt::spawn(accept_all(self, *gate), "accepts");
  if (prints) rt::spawn(print_each_second(self), "prints");
  const auto signalled = co_await signals->next();
  if (!signalled) co_return 1;
  gate->close();
  co_await accepting.join();
  co_await say_bye(self);
  print_counters(self);
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const options given(
      argc, argv,
      {{"listen", "127.0.0.1:7000"}, {"silence", "3000"}, {"counters", "0"}, {"processors", "0"}, {"statistics", ""}},
      usage);
  const auto at = rt::address::parse(given.text("listen"));
  if (!at) given.fail("not an address: '" + given.text("listen") + "'");
  gateway self{std::chrono::milliseconds(given.number("silence", 1, 86'400'000)), {}, {}};
  const bool prints = given.number("counters", 0, 1) == 1;
  rt::run_options how;
  how.processors = given.number("processors", 0, 256);
  how.measure = !given.text("statistics").empty();
  std::printf("room for %zu descriptors\n", raise_file_limit());
  return foliot::run(serve_until_signal(self, *at, prints, given.text("statistics")), how);
}
