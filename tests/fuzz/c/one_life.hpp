// One input of the fuzzer of the C interface: its bytes are calls, with right and wrong arguments, on a service and on
// the timers of a loop, both on one virtual clock. A model of each handle says what the answers must be.
//
// Looked at: each answer and each status; a timer fires once for each start, for the deadline that it had, and not
// early; ticks keep to their grid; what is due has fired when time has moved on; pending(), the counters and the number
// of dropped timers; and each context is released once, after its last callback.
//
// Aborts at the first thing that is not so.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <span>
#include <utility>
#include <vector>

#include <foliot/foliot.h>

namespace foliot::fuzzed_c {

/// What is fuzzed; a canary replaces a function.
struct sound_interface {
  static foliot_status reset_with_slack(foliot_timer* timer, std::int64_t delay, std::int64_t slack,
                                        foliot_reset_result* result) {
    return foliot_timer_reset_with_slack(timer, delay, slack, result);
  }
};

/// The bytes of an input; zeros behind its end.
class bytes_of_input {
 public:
  explicit bytes_of_input(std::span<const std::uint8_t> all) noexcept : left_(all) {}
  [[nodiscard]] bool has_ended() const noexcept { return left_.empty(); }

  std::size_t below(std::size_t bound) noexcept { return next() % bound; }
  bool coin() noexcept { return next() % 2 == 1; }
  std::uint8_t next() noexcept {
    if (left_.empty()) return 0;
    const std::uint8_t first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }
  /// An instant or a length: often near zero, near a second, or at the ends of the range.
  std::int64_t time() noexcept {
    static constexpr std::array<std::int64_t, 12> usual{0,
                                                        1,
                                                        -1,
                                                        1'000,
                                                        FOLIOT_MILLISECOND,
                                                        FOLIOT_SECOND,
                                                        3'600 * FOLIOT_SECOND,
                                                        FOLIOT_NEVER,
                                                        FOLIOT_NEVER - 1,
                                                        INT64_MIN,
                                                        INT64_MIN + 1,
                                                        -FOLIOT_SECOND};
    const std::uint8_t how = next();
    if (how < 64) return usual.at(how % usual.size());
    const auto low = static_cast<std::int64_t>(next());
    const auto high = static_cast<std::int64_t>(next());
    return (high << 8 | low) << (how % 40);
  }

 private:
  std::span<const std::uint8_t> left_;
};

inline void expect(bool is_so, const char* what) {
  if (is_so) return;
  std::cerr << "not so: " << what << '\n' << std::flush;
  std::abort();
}

/// a + b, at most FOLIOT_NEVER and at least the earliest instant; never, if one of them is.
inline std::int64_t saturating_sum(std::int64_t a, std::int64_t b) noexcept {
  if (a == FOLIOT_NEVER || b == FOLIOT_NEVER) return FOLIOT_NEVER;
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? FOLIOT_NEVER : INT64_MIN;
}

enum class kind : std::uint8_t { timer, ticker, loop_timer, loop_ticker };

template <class Interface>
class life;

/// A handle, as the model sees it. It is the context of the handle's callback, and lives as long as the model.
template <class Interface>
struct modelled {
  life<Interface>* in = nullptr;
  kind what = kind::timer;
  void* handle = nullptr;  // null: destroyed or detached
  bool is_pending = false;
  bool is_closed = false;   // by stop_and_wait: starts nothing any more
  bool is_running = false;  // its callback
  bool destroys_itself = false;
  int restarts = 0;  // how often its callback starts it again
  std::int64_t restart_after = 0;
  std::int64_t earliest = 0;  // of the deadline; for a ticker the next tick
  std::int64_t latest = 0;
  std::int64_t period = 0;
  int released = 0;
};

template <class Interface>
class life {
  using one = modelled<Interface>;

 public:
  explicit life(std::span<const std::uint8_t> input) noexcept : input_(input) {}
  life(const life&) = delete;
  life& operator=(const life&) = delete;

  void run() {
    begin();
    for (int calls = 0; calls < 200 && !input_.has_ended(); ++calls) {
      call();
      look();
    }
    end();
  }

 private:
  static foliot_timer* timer_of(const one& it) noexcept { return static_cast<foliot_timer*>(it.handle); }
  static foliot_ticker* ticker_of(const one& it) noexcept { return static_cast<foliot_ticker*>(it.handle); }
  static foliot_loop_timer* loop_timer_of(const one& it) noexcept { return static_cast<foliot_loop_timer*>(it.handle); }
  static foliot_loop_ticker* loop_ticker_of(const one& it) noexcept {
    return static_cast<foliot_loop_ticker*>(it.handle);
  }
  [[nodiscard]] static bool is_of_loop(const one& it) noexcept {
    return it.what == kind::loop_timer || it.what == kind::loop_ticker;
  }
  [[nodiscard]] static bool ticks(const one& it) noexcept {
    return it.what == kind::ticker || it.what == kind::loop_ticker;
  }

  void begin() {
    std::int64_t start = input_.coin() ? input_.time() : 0;
    if (start < 0) {  // all instants of this life are less than 2^63 ns apart: a greater length saturates
      start /= 4;
      latest_ = FOLIOT_NEVER / 2;
    }
    const foliot_status made = foliot_virtual_clock_create(start, &clock_);
    expect((made == FOLIOT_OK) == (start != FOLIOT_NEVER), "a clock begins at every instant but never");
    if (made != FOLIOT_OK) expect(foliot_virtual_clock_create(0, &clock_) == FOLIOT_OK, "a clock begins at zero");
    foliot_service_options options = FOLIOT_SERVICE_OPTIONS_INIT;
    options.virtual_time = clock_;
    options.turn = input_.below(4);
    expect(foliot_service_create(&options, &service_) == FOLIOT_OK, "a service begins");
    foliot_loop_options of_loop = FOLIOT_LOOP_OPTIONS_INIT;
    of_loop.virtual_time = clock_;
    expect(foliot_loop_create(&of_loop, &loop_) == FOLIOT_OK, "a loop begins");
  }

  void call() {
    switch (input_.below(14)) {
      case 0:
      case 1: make(); break;
      case 2:
      case 3:
      case 4: reset(); break;
      case 5: stop(); break;
      case 6: stop_and_wait(); break;
      case 7:
      case 8: advance(); break;
      case 9: expire(); break;
      case 10: destroy(); break;
      case 11: refused(); break;
      case 12: reserve(); break;
      default: end_service(); break;
    }
  }

  // Handles.

  void make() {
    if (all_.size() >= 40) return;
    one& it = all_.emplace_back();
    it.in = this;
    it.what = static_cast<kind>(input_.below(4));
    it.destroys_itself = input_.below(8) == 0;
    it.restarts = static_cast<int>(input_.below(4));
    it.restart_after = input_.time();
    it.period = ticks(it) ? input_.time() : 1;
    const foliot_status made = create(it);
    if (it.period <= 0) {
      expect(made == FOLIOT_INVALID && it.handle == nullptr, "a period must be positive");
      expect(it.released == 0, "the context of what was not made is the caller's");
      all_.pop_back();
      return;
    }
    expect(made == FOLIOT_OK && it.handle != nullptr, "a handle is made");
    if (ticks(it) && !(it.what == kind::ticker && has_ended_)) start_grid(it, foliot_virtual_clock_now(clock_));
  }

  foliot_status create(one& it) {
    const auto made = [&it](foliot_status status, void* handle) {
      it.handle = handle;
      return status;
    };
    foliot_timer* timer = nullptr;
    foliot_ticker* ticker = nullptr;
    foliot_loop_timer* loop_timer = nullptr;
    foliot_loop_ticker* loop_ticker = nullptr;
    foliot_status status = FOLIOT_OK;
    switch (it.what) {
      case kind::timer:
        status = foliot_timer_create(service_, &fired, &it, &released, &timer);
        return made(status, timer);
      case kind::ticker:
        status = foliot_ticker_create(service_, it.period, &fired, &it, &released, &ticker);
        return made(status, ticker);
      case kind::loop_timer:
        status = foliot_loop_timer_create(loop_, &fired, &it, &released, &loop_timer);
        return made(status, loop_timer);
      default:
        status = foliot_loop_ticker_create(loop_, it.period, &fired, &it, &released, &loop_ticker);
        return made(status, loop_ticker);
    }
  }

  void start_grid(one& it, std::int64_t from) {
    it.is_pending = true;
    it.earliest = it.latest = saturating_sum(from, it.period);
  }

  /// One of those that have a handle; null if there is none.
  one* chosen() {
    std::vector<one*> there;
    for (one& each : all_) {
      if (each.handle != nullptr) there.push_back(&each);
    }
    return there.empty() ? nullptr : there[input_.below(there.size())];
  }

  void reset() {
    if (one* const it = chosen()) reset(*it, input_.time(), input_.coin());
  }

  /// Gives `it` the deadline `time` from now, or, with `at`, that instant; a ticker begins a grid with that period.
  void reset(one& it, std::int64_t time, bool at) {
    const bool closed = it.is_closed || (!is_of_loop(it) && has_ended_);
    const std::int64_t now = foliot_virtual_clock_now(clock_);
    const std::int64_t slack = it.what == kind::timer && !at && !it.is_running ? input_.time() : 0;
    foliot_reset_result found = FOLIOT_CLOSED;
    const foliot_status done = reset_by_c(it, time, slack, at, found);
    if (ticks(it) && time <= 0) {
      expect(done == FOLIOT_INVALID, "a period must be positive");
      return;
    }
    expect(done == FOLIOT_OK, "a reset is done");
    if (closed) {
      expect(found == FOLIOT_CLOSED, "a closed timer starts nothing");
      return;
    }
    expect(found != FOLIOT_CLOSED, "only a closed timer is closed");
    if (!it.is_running) expect((found == FOLIOT_SUPERSEDED) == it.is_pending, "a reset tells whether it was pending");
    if (ticks(it)) {
      it.period = time;
      start_grid(it, now);
      return;
    }
    it.is_pending = true;
    it.earliest = at ? time : saturating_sum(now, std::max<std::int64_t>(time, 0));
    it.latest = saturating_sum(std::max(it.earliest, at ? it.earliest : now), std::max<std::int64_t>(slack, 0));
  }

  static foliot_status reset_by_c(one& it, std::int64_t time, std::int64_t slack, bool at, foliot_reset_result& found) {
    switch (it.what) {
      case kind::timer:
        if (at) return foliot_timer_reset_at(timer_of(it), time, &found);
        return slack == 0 ? foliot_timer_reset(timer_of(it), time, &found)
                          : Interface::reset_with_slack(timer_of(it), time, slack, &found);
      case kind::ticker: return foliot_ticker_reset(ticker_of(it), time, &found);
      case kind::loop_timer:
        return at ? foliot_loop_timer_reset_at(loop_timer_of(it), time, &found)
                  : foliot_loop_timer_reset(loop_timer_of(it), time, &found);
      default: return foliot_loop_ticker_reset(loop_ticker_of(it), time, &found);
    }
  }

  void stop() {
    one* const it = chosen();
    if (it == nullptr) return;
    foliot_stop_result found = FOLIOT_STOP_RUNNING;
    foliot_status done = FOLIOT_OK;
    switch (it->what) {
      case kind::timer: done = foliot_timer_stop(timer_of(*it), &found); break;
      case kind::ticker: done = foliot_ticker_stop(ticker_of(*it), &found); break;
      case kind::loop_timer: done = foliot_loop_timer_stop(loop_timer_of(*it), &found); break;
      default: done = foliot_loop_ticker_stop(loop_ticker_of(*it), &found); break;
    }
    expect(done == FOLIOT_OK, "a stop is done");
    expect(found == (it->is_pending ? FOLIOT_STOPPED : FOLIOT_STOP_IDLE), "a stop tells whether it was pending");
    it->is_pending = false;
  }

  void stop_and_wait() {
    one* const it = chosen();
    if (it == nullptr || is_of_loop(*it)) return;
    foliot_stop_result found = FOLIOT_STOP_RUNNING;
    const foliot_status done = it->what == kind::timer ? foliot_timer_stop_and_wait(timer_of(*it), &found)
                                                       : foliot_ticker_stop_and_wait(ticker_of(*it), &found);
    expect(done == FOLIOT_OK, "a stop is done");
    expect(found == (it->is_pending ? FOLIOT_STOPPED : FOLIOT_STOP_IDLE), "a stop tells whether it was pending");
    expect(it->released == 1, "the context is released when stop_and_wait returns");
    it->is_pending = false;
    it->is_closed = true;
  }

  void destroy() {
    one* const it = chosen();
    if (it == nullptr) return;
    void* const handle = std::exchange(it->handle, nullptr);
    switch (it->what) {
      case kind::timer:
        if (input_.coin()) {
          foliot_timer_detach(static_cast<foliot_timer*>(handle));
          expect(it->is_pending == (it->released == 0), "a detached timer keeps its context until it has fired");
          return;
        }
        foliot_timer_destroy(static_cast<foliot_timer*>(handle));
        break;
      case kind::ticker: foliot_ticker_destroy(static_cast<foliot_ticker*>(handle)); break;
      case kind::loop_timer: foliot_loop_timer_destroy(static_cast<foliot_loop_timer*>(handle)); break;
      default: foliot_loop_ticker_destroy(static_cast<foliot_loop_ticker*>(handle)); break;
    }
    it->is_pending = false;
    expect(it->released == 1, "a destroyed handle has released its context");
  }

  // Time.

  void advance() {
    const std::int64_t before = foliot_virtual_clock_now(clock_);
    const std::int64_t wanted = input_.coin() ? input_.time() : saturating_sum(before, input_.time());
    const std::int64_t target = std::min(wanted, latest_);
    const std::size_t limit = 1 + input_.below(64);
    std::size_t fired = 0;
    calls_ = 0;
    expect(foliot_virtual_clock_advance_to(clock_, target, limit, &fired) == FOLIOT_OK, "time moves on");
    expect(fired == calls_ && fired <= limit, "an advance tells how many have fired");
    const std::int64_t now = foliot_virtual_clock_now(clock_);
    const std::int64_t last = std::max(before, target == FOLIOT_NEVER ? FOLIOT_NEVER - 1 : target);
    expect(now >= before && now <= last, "time moves on to the target at most");
    if (fired == limit) return;
    expect(now == last, "time has moved on to the target");
    for (const one& each : all_) {
      if (each.is_pending && !is_of_loop(each)) expect(each.latest > now, "what is due has fired");
    }
  }

  void expire() {
    const std::size_t limit = input_.below(8);
    const std::int64_t now = foliot_virtual_clock_now(clock_);
    std::size_t fired = 0;
    bool more = false;
    calls_ = 0;
    expect(foliot_loop_expire(loop_, limit, &fired, &more) == FOLIOT_OK, "a loop expires");
    expect(fired == calls_ && (limit == 0 || fired <= limit), "a turn tells how many have fired");
    if (more) {
      expect(foliot_loop_timeout_ms(loop_) == 0, "if there are more, the loop does not wait");
    } else if (!has_restarted_) {
      for (const one& each : all_) {
        if (each.is_pending && is_of_loop(each)) expect(each.latest > now, "what is due has fired");
      }
    }
    has_restarted_ = false;
  }

  /// A callback, of every handle.
  static void fired(void* context, const foliot_firing* due) {
    one& it = *static_cast<one*>(context);
    it.in->on_fire(it, *due);
  }
  static void released(void* context) { ++static_cast<one*>(context)->released; }

  void on_fire(one& it, const foliot_firing& due) {
    ++calls_;
    expect(it.released == 0, "no callback runs after its context was released");
    expect(it.is_pending, "a timer fires once for each start");
    expect(due.now == foliot_virtual_clock_now(clock_), "a callback is told the time");
    expect(due.deadline <= due.now, "no timer is early");
    expect(due.deadline >= it.earliest && due.deadline <= it.latest, "a timer fires for its deadline");
    it.is_pending = false;
    if (ticks(it)) {
      const std::uint64_t late = static_cast<std::uint64_t>(due.now) - static_cast<std::uint64_t>(due.deadline);
      const auto period = static_cast<std::uint64_t>(it.period);
      const std::uint64_t passed = late / period;
      expect(due.skipped == passed, "a tick tells how many have passed");
      const std::int64_t next = it.period == FOLIOT_NEVER
                                    ? FOLIOT_NEVER
                                    : saturating_sum(due.now, static_cast<std::int64_t>(period - late % period));
      it.is_pending = true;
      it.earliest = it.latest = next;
    }
    it.is_running = true;
    act(it);
    it.is_running = false;
  }

  /// What a callback does: things that are not allowed there, and a start, or the end, of its own timer.
  void act(one& it) {
    const bool in_turn = is_of_loop(it);
    if (in_turn) {
      expect(foliot_loop_expire(loop_, 0, nullptr, nullptr) == FOLIOT_NOT_ALLOWED, "no turn inside of a turn");
    } else {
      expect(foliot_virtual_clock_advance(clock_, 1, nullptr) == FOLIOT_NOT_ALLOWED, "no advance inside of an advance");
      expect(foliot_sleep(service_, 1, nullptr) == FOLIOT_NOT_ALLOWED, "a callback does not sleep on its service");
    }
    if (it.handle == nullptr) return;  // detached
    if (it.restarts > 0) {
      --it.restarts;
      has_restarted_ = true;
      reset(it, it.restart_after, false);
    } else if (it.destroys_itself) {
      void* const handle = std::exchange(it.handle, nullptr);
      it.is_pending = false;
      switch (it.what) {
        case kind::timer: foliot_timer_destroy(static_cast<foliot_timer*>(handle)); break;
        case kind::ticker: foliot_ticker_destroy(static_cast<foliot_ticker*>(handle)); break;
        case kind::loop_timer: foliot_loop_timer_destroy(static_cast<foliot_loop_timer*>(handle)); break;
        default: foliot_loop_ticker_destroy(static_cast<foliot_loop_ticker*>(handle)); break;
      }
    }
  }

  // Arguments that are refused: nothing is changed, and there is a message.

  void refused() {
    foliot_service* service = nullptr;
    foliot_service_options options = FOLIOT_SERVICE_OPTIONS_INIT;
    options.virtual_time = clock_;
    foliot_timer* timer = nullptr;
    foliot_status done = FOLIOT_INVALID;
    foliot_status wanted = FOLIOT_INVALID;
    switch (input_.below(12)) {
      case 0: done = foliot_timer_reset(nullptr, input_.time(), nullptr); break;
      case 1: done = foliot_timer_create(service_, nullptr, this, &released, &timer); break;
      case 2: done = foliot_timer_create(nullptr, &fired, this, &released, &timer); break;
      case 3: done = foliot_timer_create(service_, &fired, this, &released, nullptr); break;
      case 4:
        options.size = 1 + input_.below(40);
        done = foliot_service_create(&options, &service);
        break;
      case 5:
        options.clock = 3 + static_cast<int>(input_.below(200));
        done = foliot_service_create(&options, &service);
        break;
      case 6:
        options.shards = 2 + input_.below(200);
        done = foliot_service_create(&options, &service);
        break;
      case 7: done = foliot_service_get_counters(service_, nullptr); break;
      case 8: done = foliot_virtual_clock_advance_to(nullptr, input_.time(), 0, nullptr); break;
      case 9: done = foliot_loop_ticker_reset_at(nullptr, input_.time(), input_.time(), nullptr); break;
      case 10:
        done = foliot_service_drain(service_, 0, nullptr);
        wanted = FOLIOT_NOT_ALLOWED;
        break;
      default: done = foliot_loop_create(nullptr, nullptr); break;
    }
    expect(done == wanted, "what is wrong is refused");
    expect(service == nullptr && timer == nullptr, "what is refused makes nothing");
    expect(*foliot_error_message() != '\0' && *foliot_strerror(done) != '\0', "what is refused is described");
  }

  void reserve() {
    const bool is_absurd = input_.below(4) == 0;
    const std::size_t count = is_absurd ? SIZE_MAX - input_.below(9) : input_.next() * std::size_t{4};
    const foliot_status wanted = is_absurd ? FOLIOT_NO_MEMORY : FOLIOT_OK;
    const foliot_status done =
        input_.coin() ? foliot_service_reserve(service_, count) : foliot_loop_reserve(loop_, count);
    expect(done == wanted, "there is room for some timers, and not for all that a number can count");
  }

  void end_service() {
    if (input_.below(8) != 0) return;
    std::size_t dropped = 0;
    expect(foliot_service_shut_down(service_, &dropped) == FOLIOT_OK, "a service ends");
    expect(dropped == pending_of_service(), "an end tells how many timers it drops");
    has_ended_ = true;
    for (one& each : all_) {
      if (!is_of_loop(each)) each.is_pending = false;
    }
  }

  [[nodiscard]] std::size_t pending_of_service() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(all_, [](const one& each) { return each.is_pending && !is_of_loop(each); }));
  }

  /// Compares what can be seen from outside with the model.
  void look() {
    std::size_t of_loop = 0;
    for (const one& each : all_) {
      if (each.is_pending && is_of_loop(each)) ++of_loop;
      if (each.handle == nullptr) continue;
      bool is_pending = false;
      switch (each.what) {
        case kind::timer: is_pending = foliot_timer_pending(timer_of(each)); break;
        case kind::ticker: is_pending = foliot_ticker_pending(ticker_of(each)); break;
        case kind::loop_timer: is_pending = foliot_loop_timer_pending(loop_timer_of(each)); break;
        default: is_pending = foliot_loop_ticker_pending(loop_ticker_of(each)); break;
      }
      expect(is_pending == each.is_pending, "a handle tells whether it is pending");
    }
    foliot_service_counters counters{};
    expect(foliot_service_get_counters(service_, &counters) == FOLIOT_OK, "counters are told");
    expect(counters.pending == pending_of_service(), "the counters tell how many are pending");
    expect(foliot_loop_pending(loop_) == of_loop, "a loop tells how many are pending");
    expect(foliot_service_now(service_) == foliot_virtual_clock_now(clock_), "a service has its clock's time");
  }

  void end() {
    const bool owners_first = input_.coin();
    if (owners_first) destroy_owners();
    for (one& each : all_) {
      void* const handle = std::exchange(each.handle, nullptr);
      switch (each.what) {
        case kind::timer: foliot_timer_destroy(static_cast<foliot_timer*>(handle)); break;
        case kind::ticker: foliot_ticker_destroy(static_cast<foliot_ticker*>(handle)); break;
        case kind::loop_timer: foliot_loop_timer_destroy(static_cast<foliot_loop_timer*>(handle)); break;
        default: foliot_loop_ticker_destroy(static_cast<foliot_loop_ticker*>(handle)); break;
      }
    }
    if (!owners_first) destroy_owners();
    for (const one& each : all_) expect(each.released == 1, "each context is released once");
    foliot_virtual_clock_destroy(clock_);
  }

  void destroy_owners() {
    foliot_service_destroy(service_);
    foliot_loop_destroy(loop_);
  }

  bytes_of_input input_;
  foliot_virtual_clock* clock_ = nullptr;
  foliot_service* service_ = nullptr;
  foliot_loop* loop_ = nullptr;
  std::deque<one> all_;
  std::int64_t latest_ = FOLIOT_NEVER;  // that the clock is moved to
  std::size_t calls_ = 0;               // of callbacks, in an advance or a turn
  bool has_ended_ = false;              // the service
  bool has_restarted_ = false;          // a callback in this turn
};

template <class Interface>
void run_one_life(std::span<const std::uint8_t> bytes) {
  life<Interface>(bytes).run();
}

}  // namespace foliot::fuzzed_c
