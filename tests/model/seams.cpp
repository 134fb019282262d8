// The model's side of the system-call seam, threads, and the clock.
#include <foliot/core/contract.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <foliot/core/seam/alarm.hpp>
#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/poller.hpp>

#include "engine.hpp"

namespace foliot::model {

using kind = operation::kind;
using status = model_thread::status;

std::size_t engine::spawn(const char* called, std::function<void()> body) {
  model_thread& self = me();
  model_thread& made = make_thread(called, std::move(body));
  // The new thread has its maker's knowledge. The maker's next event is a later one.
  made.view.now.happened.join(self.view.now.happened);
  made.view.now.join_floors(self.view.now.floor);
  self.view.tick();
  if (trace_.on()) say("starts " + made.name, nullptr);
  run_ahead(made);
  return made.id;
}

void engine::join(std::size_t thread, const site& where) {
  model_thread& self = me();
  self.last = where;
  if (threads_[thread]->now != status::done) {
    self.now = status::joining;
    self.joins = static_cast<thread_id>(thread);
    give_way();
  }
  self.view.now.join(threads_[thread]->view.now);
  if (trace_.on()) say("joins " + threads_[thread]->name, &where);
}

void engine::pause(const site& where) {
  model_thread& self = me();
  // As before any operation, other threads may run first; then the caller gives its turn away.
  visible({.what = kind::pause}, &where);
  if (trace_.on()) say("pauses", &where);
  memory_.arrive(self.view, self.at_last_pause);
  self.paused = true;
  self.paused_at = memory_.stores();
  self.pause_number = ++pauses_;
  give_way();
}

instant engine::look_at_clock() {
  visible({.what = kind::clock}, nullptr);
  if (trace_.on()) say("looks at the clock: " + std::to_string(time_.nanoseconds() - 1'000'000'000) + " ns", nullptr);
  return time_;
}

void engine::pass_time(duration length) {
  visible({.what = kind::clock}, nullptr);
  time_ += length;
  sleep_set_ = 0;
  if (trace_.on()) say("moves the clock to " + std::to_string(time_.nanoseconds() - 1'000'000'000) + " ns", nullptr);
}

// As in the kernel: compares the newest value and sleeps in one step, so that no wake comes between. Neither a sleep
// nor a wake-up publishes anything to the program.
seam::wait_status engine::sleep_on(const word& key, std::uint32_t expected, instant deadline) {
  model_thread& self = me();
  const location_id where = find(key);
  visible({.what = kind::wait, .where = where, .futex = &key}, nullptr);
  touch(where, self.last);
  const store_index newest = memory_.newest(where);
  const auto value = static_cast<std::uint32_t>(memory_.value(where, newest));
  self.view.now.raise(where, newest);
  self.view.tick();
  const auto answer = [&](seam::wait_status why, const char* text) {
    if (trace_.on()) trace_.result(text);
    return why;
  };
  if (trace_.on()) say("futex_wait " + name_of(where) + " while " + std::to_string(expected), nullptr);
  if (value != expected) return answer(seam::wait_status::changed, ": it has changed");
  if (deadline <= time_) return answer(seam::wait_status::timed_out, ": too late");
  if (interruptions_ < options_.interruptions && pick(2) == 1) {
    ++interruptions_;
    return answer(seam::wait_status::interrupted, ": interrupted");
  }
  answer({}, ": sleeps");
  self.now = status::asleep;
  self.deadline = deadline;
  give_way();
  if (trace_.on()) {
    say(self.woken_by == seam::wait_status::timed_out ? "its wait times out" : "is woken", nullptr);
  }
  return self.woken_by;
}

void engine::wake(const void* address, int count) {
  visible({.what = kind::wake, .futex = address}, nullptr);
  std::array<model_thread*, most_threads> sleepers{};
  unsigned found = 0;
  for (thread_id each = 0; each < used_; ++each) {
    model_thread& other = *threads_[each];
    if (other.now == status::asleep && other.pending.futex == address) sleepers[found++] = &other;
  }
  if (trace_.on()) say("futex_wake " + name_of(address) + (found == 0 ? ": no thread sleeps" : ""), nullptr);
  if (found == 0) return;
  if (++wakes_ == options_.drop_wake) {
    if (trace_.on()) trace_.result(": lost, on purpose");
    return;
  }
  // All threads are made ready first, and then run ahead: the operations of one must not affect the next wake.
  std::array<model_thread*, most_threads> woken{};
  unsigned chosen = 0;
  for (; count > 0 && found > 0; --count) {
    const unsigned who = static_cast<unsigned>(count) >= found ? 0 : pick(found);
    woken[chosen++] = sleepers[who];
    make_ready(*sleepers[who], seam::wait_status::woken);
    std::copy(sleepers.begin() + who + 1, sleepers.begin() + found, sleepers.begin() + who);
    --found;
  }
  for (unsigned i = 0; i < chosen; ++i) run_ahead(*woken[i]);
}

void engine::name(const void* object, std::size_t size, const char* called) {
  const char* begin = static_cast<const char*>(object);
  names_.push_back({begin, begin + size, called});
}

void require(bool condition, const std::string& what, site where) {
  if (condition) return;
  engine* const e = engine::current();
  if (e == nullptr) std::abort();
  e->fail(what + " (" + to_string(where) + ")");
}

std::uint64_t choose(std::uint64_t bound) {
  if (bound > choices::most) engine::current()->fail("choose() has at most " + std::to_string(choices::most));
  return engine::current()->choose(static_cast<unsigned>(bound));
}

void pass_time(duration length) { engine::current()->pass_time(length); }

void name(const void* object, std::size_t size, const char* called) {
  if (engine* e = engine::current()) e->name(object, size, called);
}

void pause(site where) noexcept {
  if (engine* e = engine::current()) e->pause(where);
}
std::size_t spawn(const char* name, std::function<void()> body) {
  return engine::current()->spawn(name, std::move(body));
}
void join(std::size_t thread, site where) { engine::current()->join(thread, where); }

}  // namespace foliot::model

namespace foliot::inline core::seam {

thread_state& this_thread() noexcept {
  static thread_state outside;
  model::engine* e = model::engine::current();
  return e == nullptr ? outside : e->me().state;
}

std::size_t this_thread_number() noexcept {
  model::engine* e = model::engine::current();
  return e == nullptr ? shared_thread_number : e->me().id;
}

std::size_t this_thread_home() noexcept {
  const std::size_t home = this_thread().home;  // a service's thread has its home already
  return home != 0 ? home - 1 : model::engine::current()->me().id;
}

instant monotonic_now_or_later() noexcept { return monotonic_now(); }

// No process forks here.
void fork_witness::witness_forks() noexcept {}
void fork_witness::forget_forks() noexcept {}

std::size_t processors() noexcept { return 1; }

duration set_timer_slack(duration slack) noexcept { return slack; }

// Services are modelled on the monotonic clock, whose threads sleep on notes.
instant now(clock_id) noexcept { return monotonic_now(); }
alarm::alarm(clock_id clock) : clock_(clock) { model::require(false, "alarms are not modelled"); }
alarm::~alarm() = default;
void alarm::set(instant at) noexcept { at_ = at; }
wait_status alarm::wait() noexcept { return wait_status::interrupted; }

// A poller without descriptors: a word that wake-ups count up, and its waiter sleeps on.
poller::poller() = default;
poller::~poller() = default;
void poller::add(int, interest, std::uint64_t) { model::require(false, "descriptors are not modelled"); }
void poller::modify(int, interest, std::uint64_t) { model::require(false, "descriptors are not modelled"); }
void poller::remove(int) noexcept {}
void poller::listen_to(const alarm&) { model::require(false, "alarms are not modelled"); }
void poller::ring() noexcept {
  changes_.fetch_add(1, seam::relaxed);  // the system publishes nothing to the program
  futex_wake(changes_, 1);
}
polled poller::wait_in_system(instant deadline, std::span<poll_event>) noexcept {
  polled result;
  result.interrupted = futex_wait(changes_, seen_, deadline) == wait_status::interrupted;
  const std::uint32_t now = changes_.fetch_add(0, seam::relaxed);  // the newest, as the system knows it
  result.woken = now != seen_;
  seen_ = now;
  return result;
}

std::uint32_t this_thread_id() noexcept { return static_cast<std::uint32_t>(this_thread_number()); }

instant monotonic_now() noexcept { return model::engine::current()->look_at_clock(); }

wait_status futex_wait(seam::atomic<std::uint32_t>& word, std::uint32_t expected, instant deadline) noexcept {
  return model::engine::current()->sleep_on(word.known(), expected, deadline);
}

void futex_wake(seam::atomic<std::uint32_t>& word, int count) noexcept { model::engine::current()->wake(&word, count); }

}  // namespace foliot::inline core::seam

namespace foliot::detail {

void contract_broken(const char* condition, const char* sentence, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: foliot: %s (%s)\n", file, line, sentence, condition);
  if (model::engine* e = model::engine::current()) e->fail(std::string("a contract is broken: ") + sentence);
  std::abort();
}

}  // namespace foliot::detail
