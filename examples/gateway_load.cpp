// A load for the gateway: many connections, each with a heartbeat; some of them fall silent at different times. The
// gateway must close exactly those, and none before its time by the clock of this program. The exit status says whether
// it did.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "gateway_options.hpp"

namespace rt = foliot::runtime;
using namespace std::chrono_literals;

namespace {

constexpr const char* usage =
    "usage: gateway_load [--connect ADDRESS] [--connections N] [--silent N] [--beat MS] [--silence MS] [--run MS]\n"
    "                    [--patience MS] [--processors N]\n"
    "  --connect      where the gateway listens (default 127.0.0.1:7000)\n"
    "  --connections  how many (default 1000); as far as the limit of open files allows\n"
    "  --silent       how many of them fall silent during the run (default 50)\n"
    "  --beat         milliseconds between two heartbeats of one (default 1000)\n"
    "  --silence      what the gateway was given (default 3000)\n"
    "  --run          how many milliseconds they go on for when all are connected (default 10000)\n"
    "  --patience     how long the gateway may take to answer, or to hang up when it is time (default 30000)\n"
    "  --processors   how many processors run it; 0: all (the default)\n";

constexpr std::size_t connectors = 64;              // how many connect at once
constexpr std::size_t most_for_an_address = 5'000;  // an address has no more ports to spare
constexpr std::string_view beat = "beat\n";
constexpr std::string_view message = "all hello\n";
constexpr std::string_view heard = "hello\n";

struct plan {
  rt::address to;
  std::size_t connections = 0;
  std::size_t silent = 0;
  foliot::duration every;
  foliot::duration silence;
  foliot::duration length;
  foliot::duration patience;  // how long the gateway may take where nothing is measured
  bool spreads_addresses = false;

  [[nodiscard]] std::int64_t clients() const noexcept { return static_cast<std::int64_t>(connections); }
};

/// Begins the run when all are connected.
class progress {
 public:
  explicit progress(std::size_t connecting) : connecting_(connecting) {}

  [[nodiscard]] foliot::instant start() const { return foliot::instant::from_nanoseconds(start_); }
  void one_has_connected() {
    if (--connecting_ != 0) return;
    start_ = rt::now().nanoseconds();
    std::printf("connected in %.2f s\n", static_cast<double>((start() - begin_).count()) / 1e9);
    std::fflush(stdout);
  }
  [[nodiscard]] bool is_first_to_tell() { return !told_.exchange(true); }
  void note(std::error_code why_not) {
    if (!failed_.exchange(true)) std::fprintf(stderr, "cannot connect: %s\n", why_not.message().c_str());
  }

 private:
  const foliot::instant begin_ = rt::now();
  std::atomic<std::size_t> connecting_;
  std::atomic<std::int64_t> start_{foliot::instant::never().nanoseconds()};
  std::atomic<bool> told_{false};
  std::atomic<bool> failed_{false};
};

struct client {
  enum class end { none, not_connected, hung_up_on, left, failed };

  rt::stream stream;
  std::int64_t number = 0;
  bool falls_silent = false;
  end ended = end::none;
  foliot::instant last_beat;     // the time just before it was sent
  foliot::duration longest_gap;  // from just before one beat to just after the next
  foliot::instant ended_at;
  std::size_t bytes_heard = 0;
};

/// Spreads the connections over the addresses of 127.0.0.0/8.
rt::address source_of(const plan& by, std::size_t number) {
  if (!by.spreads_addresses) return rt::address();
  return rt::address::parse("127.0.0." + std::to_string(1 + number / most_for_an_address) + ":0")
      .value_or(rt::address());
}

foliot::task<bool> send_line(client& self, std::string_view line) {
  const foliot::instant previous = self.last_beat;
  self.last_beat = rt::now();
  const auto sent = co_await self.stream.write_all(line);
  self.longest_gap = std::max(self.longest_gap, rt::now() - previous);
  co_return sent.has_value();
}

/// Reads until that instant. Returns false if the connection has ended.
foliot::task<bool> listen_until(client& self, foliot::instant until) {
  std::array<char, 256> buffer;
  self.stream.set_read_deadline(until);
  for (;;) {
    const auto got = co_await self.stream.read_some(buffer);
    if (!got && got.error() == rt::io_errc::deadline_exceeded) co_return true;
    if (!got || *got == 0) {
      self.ended = got ? client::end::hung_up_on : client::end::failed;
      self.ended_at = rt::now();
      co_return false;
    }
    self.bytes_heard += *got;
  }
}

/// One connection: sends beats until its time, and then waits for the gateway to close it, or leaves.
foliot::task<> live(const plan& by, progress& run, client& self, foliot::duration phase) {
  foliot::instant next = rt::now() + phase;
  const auto goes_on = [&] {
    if (self.falls_silent) return next < run.start() + by.length / 4 + by.length / 2 * self.number / by.clients();
    const bool waits_to_hear = self.bytes_heard < heard.size() && next < run.start() + by.length + by.patience;
    return next < run.start() + by.length || waits_to_hear;
  };
  for (; goes_on(); next += by.every) {
    const bool is_there = co_await listen_until(self, next);
    if (!is_there) co_return;
    // In the middle of the run a connection that goes on sends a message to all.
    const bool tells = !self.falls_silent && next >= run.start() + by.length / 2 && run.is_first_to_tell();
    const bool sent = co_await send_line(self, tells ? message : beat);
    if (!sent) break;
  }
  if (self.falls_silent) {
    static_cast<void>(co_await listen_until(self, self.last_beat + by.silence + by.patience));
  } else if (self.ended == client::end::none) {
    self.ended = client::end::left;
  }
  self.stream.close();
}

/// Opens every n-th connection, one after the other, and then waits for their ends.
foliot::task<> connect_some(const plan& by, progress& run, std::vector<client>& all, std::size_t first) {
  std::vector<rt::join_handle<>> living;
  for (std::size_t i = first; i < all.size(); i += connectors) {
    client& self = all[i];
    auto connected = co_await rt::stream::connect(by.to, source_of(by, i), rt::now() + by.patience);
    if (!connected) {
      self.ended = client::end::not_connected;
      run.note(connected.error());
      continue;
    }
    self.stream = std::move(*connected);
    self.last_beat = rt::now();
    living.push_back(rt::spawn(live(by, run, self, by.every * self.number / by.clients()), "lives"));
  }
  run.one_has_connected();
  for (auto& each : living) co_await each.join();
}

struct findings {
  std::size_t connected = 0, left_alone = 0, hung_up_on = 0, early = 0, forgotten = 0, own_fault = 0;
  std::size_t heard_all = 0;
  std::vector<std::int64_t> late_ns;
};

findings judge(const plan& by, const std::vector<client>& all) {
  findings found;
  for (const client& each : all) {
    if (each.ended == client::end::not_connected) continue;
    ++found.connected;
    if (each.bytes_heard >= heard.size()) ++found.heard_all;
    const bool gone = each.ended == client::end::hung_up_on || each.ended == client::end::failed;
    if (!gone) {
      ++(each.falls_silent ? found.forgotten : found.left_alone);
      continue;
    }
    const foliot::duration after = each.ended_at - (each.last_beat + by.silence);
    if (each.longest_gap >= by.silence || (after >= foliot::duration::zero() && !each.falls_silent)) {
      ++found.own_fault;  // this program was late itself, by its own clock: the machine is too busy
    } else if (after < foliot::duration::zero()) {
      ++found.early;
    } else {
      ++found.hung_up_on;
      found.late_ns.push_back(after.count());
    }
  }
  std::ranges::sort(found.late_ns);
  return found;
}

int report(const plan& by, const findings& found) {
  const auto late = [&](double share) {
    if (found.late_ns.empty()) return 0.0;
    const auto last = static_cast<double>(found.late_ns.size() - 1);
    return static_cast<double>(found.late_ns[static_cast<std::size_t>(share * last)]) / 1e3;
  };
  std::printf("connected          %zu of %zu\n", found.connected, by.connections);
  std::printf("fell silent        %zu, and %zu of them were hung up on\n", by.silent, found.hung_up_on);
  std::printf("kept beating       %zu\n", found.left_alone);
  std::printf("heard the message  %zu\n", found.heard_all);
  std::printf("hung up on early   %zu\n", found.early);
  std::printf("never hung up on   %zu\n", found.forgotten);
  std::printf("late themselves    %zu\n", found.own_fault);
  std::printf("hung up on after the time by  median %.0f us, 99%% %.0f us, at most %.0f us\n", late(0.5), late(0.99),
              late(1));
  const std::size_t accounted_for = found.left_alone + found.hung_up_on + found.own_fault;
  const bool good =
      found.connected == by.connections && accounted_for == by.connections && found.heard_all >= found.left_alone;
  std::puts(good ? "as it must be" : "NOT as it must be");
  return good ? 0 : 1;
}

foliot::task<int> press(plan by) {
  std::vector<client> all(by.connections);
  for (std::size_t i = 0; i < all.size(); ++i) {
    // The silent connections are spread over all, and their last beats over the middle of the run.
    all[i].number = static_cast<std::int64_t>(i);
    all[i].falls_silent = (i + 1) * by.silent / all.size() != i * by.silent / all.size();
  }
  const std::size_t at_once = std::min(connectors, all.size());
  progress run(at_once);
  std::vector<rt::join_handle<>> connecting;
  for (std::size_t i = 0; i < at_once; ++i) connecting.push_back(rt::spawn(connect_some(by, run, all, i), "connects"));
  for (auto& each : connecting) co_await each.join();
  co_return report(by, judge(by, all));
}

}  // namespace

int main(int argc, char** argv) {
  const options given(argc, argv,
                      {{"connect", "127.0.0.1:7000"},
                       {"connections", "1000"},
                       {"silent", "50"},
                       {"beat", "1000"},
                       {"silence", "3000"},
                       {"run", "10000"},
                       {"patience", "30000"},
                       {"processors", "0"}},
                      usage);
  const auto to = rt::address::parse(given.text("connect"));
  if (!to) given.fail("not an address: '" + given.text("connect") + "'");
  plan by;
  by.to = *to;
  by.spreads_addresses = to->to_string().starts_with("127.");
  by.connections = given.number("connections", 1, 1'000'000);
  by.silent = given.number("silent", 0, by.connections);
  by.every = std::chrono::milliseconds(given.number("beat", 1, 86'400'000));
  by.silence = std::chrono::milliseconds(given.number("silence", 1, 86'400'000));
  by.length = std::chrono::milliseconds(given.number("run", 1, 86'400'000));
  rt::run_options how;
  by.patience = std::chrono::milliseconds(given.number("patience", 1, 86'400'000));
  how.processors = given.number("processors", 0, 256);

  constexpr std::size_t others = 64;  // descriptors that are no connections
  const std::size_t limit = raise_file_limit();
  const std::size_t room = limit > others ? limit - others : 0;
  std::printf("room for %zu connections\n", room);
  if (by.connections > room) {
    std::printf("not %zu connections then, but %zu\n", by.connections, room);
    by.connections = room;
    by.silent = std::min(by.silent, room);
  }
  return foliot::run(press(by), how);
}
