#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/seam/random.hpp>

#include "bench/serve/load_generator.hpp"
#include "queue_load.hpp"
#include "text/address_text.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_in_flight = 256;  // puts of one connection
constexpr std::size_t producers_of_node = 4;
constexpr std::int64_t most_unanswered = 4000;  // puts of a steady load
constexpr std::int64_t steady_puts = 20;        // at once, of one connection
constexpr std::size_t steady_body = 85;
constexpr double longest_drain = 600;
constexpr double most_spans = 1e9;
constexpr int keyed_puts = 8;  // at once, of one connection

std::vector<server_place> places_of(const std::vector<std::string>& nodes) {
  std::vector<server_place> places;
  for (const std::string& each : nodes) places.emplace_back(find_server("--nodes", each));
  return places;
}

/// The first clients put, the others are workers; of each kind each node has as many.
class queue_clients {
 public:
  explicit queue_clients(const queue_load& load)
      : load_(load),
        all_(load),
        producers_(producers_of_node * load.nodes.size()),
        clients_(places_of(load.nodes), producers_ + static_cast<std::size_t>(load.workers)) {}

  void run() {
    if (load_.shape == queue_shape::steady) return run_steadily();
    put_all();
    pass(ready_line);
    if (load_.shape == queue_shape::far) return;
    begin_work();
    if (load_.shape == queue_shape::flow) return flow();
    finish_all();
    pass(all_.figures());
  }

 private:
  /// The most seconds between two looks at the time.
  static constexpr duration patience = 20ms;

  void turn(duration at_most = patience) {
    clients_.turn([this](std::size_t client, const reply& got) { go_on(client, got); }, at_most);
  }

  void go_on(std::size_t client, const reply& got) {
    if (client < producers_) {
      expect_reply(got, reply_kind::inserted, "put");
      ++answered_;
      return;
    }
    switch (got.kind) {
      case reply_kind::reserved:
        all_.begin(got.body);
        clients_.send(client, clients_.protocol().finish(got));
        if (load_.asks_for_both) reserve(client);
        return;
      case reply_kind::deleted:
        all_.finish();
        if (!load_.asks_for_both) reserve(client);
        return;
      default: throw_unexpected(got, "reserve or delete");
    }
  }

  void reserve(std::size_t worker) { clients_.send(worker, "reserve\r\n"); }
  void begin_work() {
    for (std::size_t each = producers_; each < clients_.size(); ++each) reserve(each);
  }

  /// `due` is in seconds since 1970, or 0.
  void put(std::size_t producer, double due) {
    const std::string body = body_of(due);
    if (due > 0) {
      const auto due_ms = static_cast<std::int64_t>(due * 1000);
      clients_.send(producer, fmt::format("x-put keep - 0 @{} 60000 {}\r\n{}\r\n", due_ms, body.size(), body));
    } else {
      clients_.send(producer, fmt::format("put 0 0 60 {}\r\n{}\r\n", body.size(), body));
    }
    ++put_;
  }

  /// Sends puts up to the number `until`, without waiting for room.
  template <class DueOf>
  void send_puts(std::int64_t until, DueOf due_of) {
    for (std::size_t each = 0; each < producers_; ++each) {
      if (clients_.awaited(each) * 2 > most_in_flight) continue;
      while (put_ < until && clients_.awaited(each) < most_in_flight) put(each, due_of(put_));
    }
  }

  void put_all() {
    const due_times due(load_);
    while (answered_ < load_.first_jobs()) {
      send_puts(load_.first_jobs(), [&due](std::int64_t number) { return due.of(number); });
      turn();
    }
    due.check();
  }

  void flow() {
    flow_window window(load_, all_);
    std::int64_t target = put_;
    while (!window.is_over()) {
      const std::int64_t open = put_ - all_.finished();
      if (open < load_.jobs / 2) target = put_ + load_.jobs - open;
      send_puts(target, [](std::int64_t) { return 0.0; });
      turn();
    }
    pass(window.figures());
  }

  void finish_all() {
    begin_span();
    while (all_.finished() < load_.first_jobs()) {
      turn();
      if (load_.every > 0 && steady_seconds() >= span_began_ + load_.every) {
        end_span();
        begin_span();
      }
    }
  }

  /// Figures are counted from here.
  void begin_span(double now = steady_seconds()) {
    span_began_ = now;
    span_finished_ = all_.finished();
    span_answered_ = answered_;
  }
  /// Writes a line of figures since begin_span().
  void end_span() {
    pass(all_.figures(all_.finished() - span_finished_, steady_seconds() - span_began_,
                      fmt::format(R"(, "put": {}, "open": {})", answered_ - span_answered_, put_ - all_.finished())));
  }

  void put_steadily(std::size_t producer) {
    const bool is_delayed = static_cast<double>(put_ * 37 % 100) < load_.delayed * 100;
    const std::int64_t delay = is_delayed ? load_.delay : 0;
    const std::string body = body_of(wall_seconds() + static_cast<double>(delay), is_delayed, steady_body);
    clients_.send(producer, fmt::format("put 0 {} 60 {}\r\n{}\r\n", delay, body.size(), body));
    ++put_;
  }

  /// When the puts of a steady load are due: at its rate, from an instant on.
  struct put_schedule {
    std::int64_t first;  // the number of the first put
    double begin = steady_seconds();
  };

  /// Puts come at their rate until so many seconds of the schedule are over, as far as their answers do. Those that are
  /// due in these seconds are put also if this thread comes too late for them.
  void press(const put_schedule& from, double until) {
    for (bool is_over = false; !is_over;) {
      const double passed = std::min(steady_seconds() - from.begin, until);
      const std::int64_t due = from.first + static_cast<std::int64_t>(passed * static_cast<double>(load_.rate));
      while (put_ < due && put_ - answered_ < most_unanswered) {
        for (std::int64_t last = std::min(due, put_ + steady_puts); put_ < last;) put_steadily(turn_of_);
        turn_of_ = (turn_of_ + 1) % producers_;
      }
      is_over = passed >= until;
      if (!is_over) turn(2ms);
    }
  }

  /// How many lines of figures a steady load has. The last span may be shorter than the others, but is not what
  /// rounding has left.
  [[nodiscard]] std::int64_t spans() const noexcept {
    constexpr double rounding = 1e-6;
    if (!(load_.seconds > 0)) return 0;
    if (!(load_.every > 0)) return 1;
    const double number = std::ceil(load_.seconds / load_.every - rounding);
    return static_cast<std::int64_t>(std::clamp(number, 1.0, most_spans));
  }

  void run_steadily() {
    begin_work();
    press({.first = put_}, load_.warm_up);
    static_cast<void>(all_.figures());  // the warm-up does not count
    pass(ready_line);
    // One schedule for all spans: what would be due between two of them is not lost.
    const put_schedule schedule{.first = put_};
    begin_span(schedule.begin);
    for (std::int64_t span = 1, last = spans(); span <= last; ++span) {
      press(schedule, span == last ? load_.seconds : load_.every * static_cast<double>(span));
      const double now = steady_seconds();
      end_span();
      begin_span(now);
    }
    const double last_put = steady_seconds();
    while (all_.finished() < put_ && steady_seconds() < last_put + longest_drain) turn();
    pass(fmt::format(R"({{"jobs": {}, "unfinished": {}, "seconds": {:.1f}}})", put_, put_ - all_.finished(),
                     steady_seconds() - last_put));
  }

  const queue_load load_;
  queue_tally all_;
  const std::size_t producers_;
  load_generator clients_;
  std::int64_t put_ = 0;  // sent
  std::int64_t answered_ = 0;
  std::size_t turn_of_ = 0;
  double span_began_ = 0;
  std::int64_t span_finished_ = 0;
  std::int64_t span_answered_ = 0;
};

/// Connections that put jobs with few keys, eight at a time, and now and then reserve one and delete it. Those that are
/// idle stand evenly among them, so that each session of the node has as many of both.
class keyed_clients {
 public:
  explicit keyed_clients(const queue_load& load)
      : load_(load), clients_(places_of(load.nodes), static_cast<std::size_t>(load.workers + load.idle)) {}

  void run() {
    for (std::size_t each = 0; each < clients_.size(); ++each) {
      clients_.expect(each, "list-tube-used\r\n", 1, reply_kind::used);  // now it has its session
    }
    pass(ready_line);
    const double begin = steady_seconds();
    const auto workers = static_cast<std::size_t>(load_.workers);
    for (std::size_t each = 0; each < workers; ++each) ask(each * clients_.size() / workers);
    while (steady_seconds() < begin + load_.seconds) turn();
    is_over_ = true;
    while (clients_.awaited() > 0) turn();
    pass(fmt::format(R"({{"commands": {}, "refused": {}, "seconds": {:.4f}}})", commands_, refused_,
                     steady_seconds() - begin));
  }

 private:
  void turn() {
    clients_.turn([this](std::size_t client, const reply& got) { go_on(client, got); }, 20ms);
  }

  void ask(std::size_t client) {
    for (int i = 0; i < keyed_puts; ++i) {
      const auto key = random_.below(static_cast<std::uint64_t>(load_.keys));
      clients_.send(client, fmt::format("x-put replace k{} 0 {} 60000 1\r\nx\r\n", key, 50 * random_.below(2)));
    }
    if (random_.below(10) < 3) clients_.send(client, "reserve-with-timeout 0\r\n");
  }

  void go_on(std::size_t client, const reply& got) {
    ++commands_;
    if (got.line == "INTERNAL_ERROR") ++refused_;
    if (got.kind == reply_kind::reserved) clients_.send(client, clients_.protocol().finish(got));
    if (clients_.awaited(client) == 0 && !is_over_) ask(client);
  }

  const queue_load load_;
  load_generator clients_;
  random_stream random_{1};
  std::int64_t commands_ = 0;
  std::int64_t refused_ = 0;
  bool is_over_ = false;
};

}  // namespace

void run_queue_clients(const queue_load& asked) {
  if (asked.shape == queue_shape::keys) {
    keyed_clients(asked).run();
  } else {
    queue_clients(asked).run();
  }
}

}  // namespace foliot::program::bench
