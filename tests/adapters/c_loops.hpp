// The loops of libraries in C, for the tests that are the same for all of them. A build of c_loop_timers_test.cpp has
// one of them, as `tested_loop`:
//
//   tested_loop loop;
//   std::optional<tested_loop::timers_type> timers;
//   loop.make(timers);
//   loop.watch(descriptor, [] { … });            // called in each turn in which it is readable
//   loop.run(timers);                            // until no timer is pending. Throws the exceptions of callbacks
//   loop.turn(timers);                           // one turn, without waiting
//   loop.renew_in_child();                       // what the library wants in the child of a fork
//
// Thread safety: none.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <utility>

#include <foliot/core/expiry.hpp>

#if defined(FOLIOT_TEST_LIBEVENT)
#include <foliot/adapters/libevent_timers.hpp>
#elif defined(FOLIOT_TEST_EV)
#include <foliot/adapters/ev_timers.hpp>
#elif defined(FOLIOT_TEST_GLIB)
#include <foliot/adapters/glib_timers.hpp>
#else
#include <foliot/adapters/sd_event_timers.hpp>
#endif

namespace foliot::test {

#if defined(FOLIOT_TEST_LIBEVENT)

class tested_loop {
 public:
  using timers_type = libevent_timers;
  static constexpr bool ends_by_itself = true;
  static constexpr bool goes_on_in_child = true;

  tested_loop() : base_(event_base_new()) {}
  tested_loop(const tested_loop&) = delete;
  tested_loop& operator=(const tested_loop&) = delete;
  ~tested_loop() {
    for (watched& each : watched_) event_free(each.event);
    event_base_free(base_);
  }

  void make(std::optional<timers_type>& to, budget turn = 256) { to.emplace(base_, turn); }
  void watch(int descriptor, std::function<void()> what) {
    watched& made = watched_.emplace_back(std::move(what), nullptr);
    made.event = event_new(
        base_, descriptor, EV_READ | EV_PERSIST,
        [](evutil_socket_t, short, void* self) { static_cast<watched*>(self)->what(); }, &made);
    event_add(made.event, nullptr);
  }
  /// A timer of libevent's own.
  void after(int milliseconds, std::function<void()> what) {
    watched& made = watched_.emplace_back(std::move(what), nullptr);
    made.event =
        event_new(base_, -1, 0, [](evutil_socket_t, short, void* self) { static_cast<watched*>(self)->what(); }, &made);
    const timeval delay{0, milliseconds * 1000};
    event_add(made.event, &delay);
  }
  /// Until nothing is left, or no timer of ours is pending while descriptors are watched.
  void run(timers_type& timers) {
    if (watched_.empty()) {
      timers.run();
    } else {
      while (timers.size() > 0) timers.run(EVLOOP_ONCE);
    }
  }
  void turn(timers_type& timers) { timers.run(EVLOOP_ONCE | EVLOOP_NONBLOCK); }
  bool renew_in_child() { return event_reinit(base_) == 0; }

 private:
  struct watched {
    std::function<void()> what;
    ::event* event;
  };
  event_base* const base_;
  std::list<watched> watched_;
};

#elif defined(FOLIOT_TEST_EV)

class tested_loop {
 public:
  using timers_type = ev_timers;
  static constexpr bool ends_by_itself = true;
  static constexpr bool goes_on_in_child = true;

  tested_loop() : loop_(ev_loop_new(EVFLAG_AUTO)) {}
  tested_loop(const tested_loop&) = delete;
  tested_loop& operator=(const tested_loop&) = delete;
  ~tested_loop() {
    for (watched& each : watched_) {
      ev_io_stop(loop_, &each.readable);
      ev_timer_stop(loop_, &each.timer);
    }
    ev_loop_destroy(loop_);
  }

  void make(std::optional<timers_type>& to, budget turn = 256) { to.emplace(loop_, turn); }
  void watch(int descriptor, std::function<void()> what) {
    watched& made = watched_.emplace_back(std::move(what));
    const auto call = [](struct ev_loop*, ev_io* watcher, int) { static_cast<watched*>(watcher->data)->what(); };
    ev_io_init(&made.readable, call, descriptor, EV_READ);
    made.readable.data = &made;
    ev_io_start(loop_, &made.readable);
  }
  /// A timer of libev's own.
  void after(int milliseconds, std::function<void()> what) {
    watched& made = watched_.emplace_back(std::move(what));
    const auto call = [](struct ev_loop*, ev_timer* watcher, int) { static_cast<watched*>(watcher->data)->what(); };
    ev_timer_init(&made.timer, call, milliseconds / 1000.0, 0.);
    made.timer.data = &made;
    ev_timer_start(loop_, &made.timer);
  }
  void run(timers_type& timers) {
    if (watched_.empty()) {
      timers.run();
    } else {
      while (timers.size() > 0) timers.run(EVRUN_ONCE);
    }
  }
  void turn(timers_type& timers) { timers.run(EVRUN_NOWAIT); }
  bool renew_in_child() {
    ev_loop_fork(loop_);
    return true;
  }

 private:
  struct watched {
    explicit watched(std::function<void()> function) : what(std::move(function)) {}
    std::function<void()> what;
    ev_io readable{};
    ev_timer timer{};
  };
  struct ev_loop* const loop_;
  std::list<watched> watched_;
};

#elif defined(FOLIOT_TEST_GLIB)

class tested_loop {
 public:
  using timers_type = glib_timers;
  static constexpr bool ends_by_itself = false;
  static constexpr bool goes_on_in_child = true;

  tested_loop() : context_(g_main_context_new()) {}
  tested_loop(const tested_loop&) = delete;
  tested_loop& operator=(const tested_loop&) = delete;
  ~tested_loop() {
    for (watched& each : watched_) {
      g_source_destroy(each.source);
      g_source_unref(each.source);
    }
    g_main_context_unref(context_);
  }

  void make(std::optional<timers_type>& to, budget turn = 256) { to.emplace(context_, G_PRIORITY_DEFAULT, turn); }
  void watch(int descriptor, std::function<void()> what) {
    watched& made = watched_.emplace_back(std::move(what), g_unix_fd_source_new(descriptor, G_IO_IN));
    const GUnixFDSourceFunc call = [](gint, GIOCondition, gpointer self) -> gboolean {
      static_cast<watched*>(self)->what();
      return G_SOURCE_CONTINUE;
    };
    attach(made, reinterpret_cast<GSourceFunc>(reinterpret_cast<void (*)()>(call)));
  }
  /// A timer of GLib's own.
  void after(int milliseconds, std::function<void()> what) {
    watched& made = watched_.emplace_back(std::move(what), g_timeout_source_new(static_cast<guint>(milliseconds)));
    attach(made, [](gpointer self) -> gboolean {
      static_cast<watched*>(self)->what();
      return G_SOURCE_REMOVE;
    });
  }
  void run(timers_type& timers) {
    while (timers.size() > 0) timers.iterate(true);
  }
  void turn(timers_type& timers) { timers.iterate(false); }
  bool renew_in_child() { return true; }
  [[nodiscard]] GMainContext* context() const noexcept { return context_; }

 private:
  struct watched {
    std::function<void()> what;
    GSource* source;
  };
  void attach(watched& made, GSourceFunc call) {
    g_source_set_callback(made.source, call, &made, nullptr);
    g_source_attach(made.source, context_);
  }

  GMainContext* const context_;
  std::list<watched> watched_;
};

#else

class tested_loop {
 public:
  using timers_type = sd_event_timers;
  static constexpr bool ends_by_itself = false;
  static constexpr bool goes_on_in_child = false;

  tested_loop() { sd_event_new(&event_); }
  tested_loop(const tested_loop&) = delete;
  tested_loop& operator=(const tested_loop&) = delete;
  ~tested_loop() {
    for (watched& each : watched_) sd_event_source_disable_unref(each.source);
    sd_event_unref(event_);
  }

  void make(std::optional<timers_type>& to, budget turn = 256) { to.emplace(event_, SD_EVENT_PRIORITY_NORMAL, turn); }
  void watch(int descriptor, std::function<void()> what) {
    watched& made = watched_.emplace_back(std::move(what), nullptr);
    const auto call = [](sd_event_source*, int, std::uint32_t, void* self) {
      static_cast<watched*>(self)->what();
      return 0;
    };
    sd_event_add_io(event_, &made.source, descriptor, EPOLLIN, call, &made);
  }
  /// A timer of sd-event's own.
  void after(int milliseconds, std::function<void()> what) {
    watched& made = watched_.emplace_back(std::move(what), nullptr);
    const auto call = [](sd_event_source*, std::uint64_t, void* self) {
      static_cast<watched*>(self)->what();
      return 0;
    };
    const auto microseconds = static_cast<std::uint64_t>(milliseconds) * 1000;
    sd_event_add_time_relative(event_, &made.source, CLOCK_MONOTONIC, microseconds, 1, call, &made);
  }
  void run(timers_type& timers) {
    while (timers.size() > 0) timers.run();
  }
  void turn(timers_type& timers) { timers.run(0); }
  bool renew_in_child() { return true; }
  [[nodiscard]] sd_event* event() const noexcept { return event_; }

 private:
  struct watched {
    std::function<void()> what;
    sd_event_source* source;
  };
  sd_event* event_ = nullptr;
  std::list<watched> watched_;
};

#endif

}  // namespace foliot::test
