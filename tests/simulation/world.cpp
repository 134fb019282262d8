#include "foliot_simulation/world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/seam/alarm.hpp>
#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/random.hpp>
#include <foliot/core/seam/system.hpp>

#include "foliot_simulation/alarms.hpp"
#include "support/fiber.hpp"
#include "support/leaks.hpp"

namespace foliot::simulation {
namespace {

using support::fiber;

/// One simulated thread.
struct thread {
  explicit thread(void (*begin)()) : stack(begin) {}

  std::string name;
  std::function<void()> body;
  fiber stack;
  seam::thread_state state{};

  enum class status { ready, asleep, joining, settling, done } now = status::ready;
  const void* word = nullptr;           // asleep: on which futex word
  instant deadline = instant::never();  // asleep: until when at most
  const seam::alarm* bell = nullptr;    // or until this alarm rings
  seam::alarm* hears = nullptr;         // the same; here the wait also takes the ring
  seam::wait_status woken_by{};         // why it woke
  std::size_t joins = 0;                // joining: which thread
};

class world {
 public:
  world(std::uint64_t seed, const faults& with) : random_(seed), faults_(with), eagerness_(2 + random_.below(30)) {}

  std::optional<std::string> run(const std::function<void()>& main) {
    current_ = this_world_;
    this_world_ = this;
    spawn("main", main);
    fiber::go(outside_, threads_[0]->stack);
    this_world_ = current_;
    if (failure_) abandon();
    return failure_;
  }

  std::size_t spawn(const char* name, std::function<void()> body) {
    if (++threads_made_ == faults_.refuse_thread + 1 && faults_.refuse_thread != 0) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again), "simulated");
    }
    auto& made = *threads_.emplace_back(std::make_unique<thread>(&world::begin));
    made.name = name;
    made.body = std::move(body);
    return threads_.size() - 1;
  }

  void point() {
    if (++points_ > most_points) fail(describe_threads("it does not end:"));
    if (random_.below(eagerness_) != 0) return;
    if (faults_.drift > duration::zero()) {
      time_ += duration::nanoseconds(
          static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(faults_.drift.count()))));
      expire_sleepers();
    }
    switch_to_any();
  }

  /// If there is a bell, its ring ends the wait too.
  seam::wait_status sleep_on(const seam::atomic<std::uint32_t>& word, std::uint32_t expected, instant deadline,
                             const seam::alarm* bell = nullptr) {
    if (word.load() != expected) return seam::wait_status::changed;
    // From the comparison to the sleep no other thread runs: a futex guarantees that.
    if (deadline <= time_) return seam::wait_status::timed_out;
    if (faults_.interrupts && random_.below(8) == 0) {
      return random_.below(2) == 0 ? seam::wait_status::interrupted : seam::wait_status::woken;
    }
    if (faults_.early_timeouts && !deadline.is_never() && random_.below(8) == 0) return seam::wait_status::timed_out;
    thread& self = me();
    self.word = &word;
    self.deadline = deadline;
    self.bell = bell;
    if (wakes_at(self) > time_) block(thread::status::asleep);
    self.bell = nullptr;
    return self.woken_by;
  }

  seam::wait_status wait_for(seam::alarm& bell) {
    const seam::wait_status ended = listen(bell);
    ++rings_;
    return ended;
  }
  [[nodiscard]] std::uint64_t rings() const { return rings_; }

  seam::wait_status listen(seam::alarm& bell) {
    if (faults_.interrupts && random_.below(8) == 0) return seam::wait_status::interrupted;
    if (faults_.early_timeouts && random_.below(8) == 0) return seam::wait_status::timed_out;
    thread& self = me();
    self.bell = &bell;
    self.word = nullptr;
    self.deadline = instant::never();
    self.hears = &bell;
    if (wakes_at(self) > time_) {
      block(thread::status::asleep);
    } else {
      hear(self);
    }
    self.bell = nullptr;
    return seam::wait_status::timed_out;
  }

  bool tell_of_ring(const seam::alarm& bell) {
    if (rings_at(bell) > time_) return false;
    seam::alarms::tell(bell);
    return true;
  }

  void set(seam::alarm& bell, instant at) {
    seam::alarms::set(bell, at);
    expire_sleepers();
  }

  /// How far the clock is ahead of the monotonic one.
  duration& ahead(seam::clock_id clock) { return clock == seam::clock_id::wall ? wall_ahead_ : boottime_ahead_; }

  instant show(seam::clock_id clock) {
    const instant now = look_at_clock();
    return clock == seam::clock_id::monotonic ? now : now + ahead(clock);
  }

  void move_clock(seam::clock_id clock, duration by) {
    ahead(clock) += by;
    expire_sleepers();
  }

  void wake(const void* word, int count) {
    std::vector<thread*> sleepers;
    for (const auto& each : threads_) {
      if (each->now == thread::status::asleep && each->word == word) sleepers.push_back(each.get());
    }
    if (sleepers.empty()) return;
    if (++wakes_ == faults_.drop_wake) return;
    for (; count > 0 && !sleepers.empty(); --count) {
      const auto chosen = sleepers.begin() + static_cast<std::ptrdiff_t>(random_.below(sleepers.size()));
      make_ready(**chosen, seam::wait_status::woken);
      sleepers.erase(chosen);
    }
  }

  void join(std::size_t thread) {
    if (threads_[thread]->now == thread::status::done) return;
    me().joins = thread;
    block(thread::status::joining);
  }

  /// The number of threads that have not ended.
  [[nodiscard]] std::size_t living() const { return threads_.size() - those(thread::status::done).size(); }

  void settle() { block(thread::status::settling); }

  instant look_at_clock() {
    point();
    time_ += duration::nanoseconds(static_cast<std::int64_t>(random_.below(3)));
    expire_sleepers();
    return time_;
  }

  [[noreturn]] void fail(std::string what) {
    if (!failure_) failure_ = std::move(what);
    leave();
  }

  thread& me() { return *threads_[running_]; }
  [[nodiscard]] std::size_t my_index() const { return running_; }
  std::uint64_t choose(std::uint64_t bound) { return random_.below(bound); }

  static world* current() { return this_world_; }

 private:
  static void begin() {
    world& w = *this_world_;
    try {
      w.me().body();
    } catch (const std::exception& error) {
      w.fail(w.me().name + " ended with an exception: " + error.what());
    }
    w.me().body = nullptr;
    w.me().now = thread::status::done;
    for (const auto& each : w.threads_) {
      if (each->now == thread::status::joining && each->joins == w.running_) each->now = thread::status::ready;
    }
    w.switch_to_any();
    std::abort();  // no thread switches to a fiber that is done
  }

  void block(thread::status how) {
    me().now = how;
    switch_to_any();
  }

  void make_ready(thread& f, seam::wait_status why) {
    f.now = thread::status::ready;
    f.word = nullptr;
    f.woken_by = why;
  }

  /// When the bell rings, on the monotonic clock.
  instant wakes_at(const thread& f) { return f.bell == nullptr ? f.deadline : std::min(f.deadline, rings_at(*f.bell)); }

  /// The same; never, once a poller has reported the ring.
  instant rings_at(const seam::alarm& bell) {
    if (seam::alarms::told(bell)) return instant::never();
    const instant at = seam::alarms::at(bell);
    const seam::clock_id clock = seam::alarms::clock_of(bell);
    return clock == seam::clock_id::monotonic ? at : at - ahead(clock);
  }

  void expire_sleepers() {
    for (const auto& each : threads_) {
      if (each->now != thread::status::asleep || wakes_at(*each) > time_) continue;
      hear(*each);
      make_ready(*each, seam::wait_status::timed_out);
    }
  }

  /// A ring ends one wait: the next wait is for another ring.
  static void hear(thread& who) {
    if (who.hears != nullptr) seam::alarms::set(*std::exchange(who.hears, nullptr), instant::never());
  }

  [[nodiscard]] std::vector<std::size_t> those(thread::status status) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i]->now == status) found.push_back(i);
    }
    return found;
  }

  /// Switches to any thread that can run. A thread that is done does not return from here, so this function holds no
  /// object that must be destroyed.
  void switch_to_any() {
    const std::optional<std::size_t> next = choose_next();
    if (!next) leave();
    switch_to(*next);
  }

  std::optional<std::size_t> choose_next() {
    std::vector<std::size_t> ready = those(thread::status::ready);
    if (ready.empty()) {
      for (const std::size_t i : those(thread::status::settling)) threads_[i]->now = thread::status::ready;
      ready = those(thread::status::ready);
    }
    if (ready.empty()) {
      jump();
      ready = those(thread::status::ready);
    }
    if (!ready.empty()) return ready[random_.below(ready.size())];
    if (those(thread::status::done).size() != threads_.size()) failure_ = describe_threads("deadlock:");
    return std::nullopt;
  }

  /// All threads are blocked: time jumps to the first deadline.
  void jump() {
    instant first = instant::never();
    for (const auto& each : threads_) {
      if (each->now == thread::status::asleep) first = std::min(first, wakes_at(*each));
    }
    if (first.is_never()) return;
    time_ = std::max(time_, first);
    expire_sleepers();
  }

  void switch_to(std::size_t next) {
    if (next == running_) return;
    thread& from = me();
    running_ = next;
    if (from.now == thread::status::done) fiber::leave(from.stack, me().stack);
    fiber::go(from.stack, me().stack);
  }

  [[noreturn]] void leave() { fiber::leave(me().stack, outside_); }

  std::string describe_threads(std::string text) const {
    for (const auto& each : threads_) {
      if (each->now == thread::status::asleep) text += " " + each->name + " waits for a wake-up;";
      if (each->now == thread::status::joining)
        text += " " + each->name + " waits for the end of " + threads_[each->joins]->name + ";";
    }
    return text;
  }

  /// The stacks of a world that failed hold objects in the middle of their lives: they stay as they are.
  void abandon() {
    for (auto& each : threads_) {
      support::ignore_leak(each.get());
      static_cast<void>(each.release());
    }
    threads_.clear();
  }

  /// A world with more switches than this is taken for one that never ends.
  static constexpr std::uint64_t most_points = 20'000'000;

  static inline world* this_world_ = nullptr;

  random_stream random_;
  faults faults_;
  std::uint64_t eagerness_;  // one point in so many switches; differs from seed to seed
  world* current_ = nullptr;
  std::uint64_t rings_ = 0;
  instant time_ = instant::from_nanoseconds(1'000'000'000);
  duration boottime_ahead_{};
  duration wall_ahead_ = duration::nanoseconds(1'700'000'000'000'000'000);
  std::vector<std::unique_ptr<thread>> threads_;
  std::size_t running_ = 0;
  fiber outside_;
  std::optional<std::string> failure_;
  std::uint64_t wakes_ = 0;
  std::uint64_t threads_made_ = 0;
  std::uint64_t points_ = 0;
};

}  // namespace

std::optional<std::string> run(std::uint64_t seed, const faults& with, const std::function<void()>& main) {
  world w(seed, with);
  return w.run(main);
}

void require(bool condition, const std::string& what) {
  if (!condition) world::current()->fail(what);
}
std::uint64_t choose(std::uint64_t bound) { return world::current()->choose(bound); }
void settle() { world::current()->settle(); }
seam::wait_status sleep_on(const seam::atomic<std::uint32_t>& word, std::uint32_t expected, instant deadline,
                           const seam::alarm* bell) {
  return world::current()->sleep_on(word, expected, deadline, bell);
}
bool tell_of_ring(const seam::alarm& bell) { return world::current()->tell_of_ring(bell); }
std::uint64_t rings() { return world::current()->rings(); }
void pass_time(duration length) {
  const seam::atomic<std::uint32_t> nobody_wakes{0};
  const instant until = world::current()->look_at_clock() + length;
  while (world::current()->look_at_clock() < until) world::current()->sleep_on(nobody_wakes, 0, until);
}

void point() {
  if (world* w = world::current()) w->point();
}
bool fails_weakly() { return world::current() != nullptr && choose(8) == 0; }
std::size_t spawn(const char* name, std::function<void()> body) {
  return world::current()->spawn(name, std::move(body));
}
void join(std::size_t thread) { world::current()->join(thread); }

void suspend(duration length) {
  world::current()->move_clock(seam::clock_id::boottime, length);
  world::current()->move_clock(seam::clock_id::wall, length);
}
void step_wall_clock(duration by) { world::current()->move_clock(seam::clock_id::wall, by); }

}  // namespace foliot::simulation

// The simulated sides of the seams.
namespace foliot::inline core {

std::uint64_t random_stream::entropy() { return simulation::choose(~std::uint64_t{0}); }

namespace seam {

thread_state& this_thread() noexcept {
  static thread_state outside;
  simulation::world* w = simulation::world::current();
  return w == nullptr ? outside : w->me().state;
}

std::size_t this_thread_number() noexcept {
  simulation::world* w = simulation::world::current();
  return w == nullptr ? shared_thread_number : std::min(w->my_index(), shared_thread_number);
}

std::size_t this_thread_home() noexcept {
  const std::size_t home = this_thread().home;  // the constructor of a service's thread has set it
  return home != 0 ? home - 1 : simulation::world::current()->my_index();
}

instant monotonic_now_or_later() noexcept { return monotonic_now(); }

// No process forks in a world.
void fork_witness::witness_forks() noexcept {}
void fork_witness::forget_forks() noexcept {}

std::size_t processors() noexcept { return 2; }

duration set_timer_slack(duration slack) noexcept { return slack; }

// On a real system a thread that is done may exist a while longer. Here it has ended at once.
other_threads threads_besides(std::size_t known) noexcept {
  simulation::point();
  const simulation::world& w = *simulation::world::current();
  if (w.living() > known) return other_threads::some;
  return simulation::choose(4) == 0 ? other_threads::ending : other_threads::none;
}

instant now(clock_id clock) noexcept { return simulation::world::current()->show(clock); }

alarm::alarm(clock_id clock) : clock_(clock) {}
alarm::~alarm() = default;
void alarm::set(instant at) noexcept {
  simulation::point();
  simulation::world::current()->set(*this, at);
}
wait_status alarm::wait() noexcept {
  simulation::point();
  return simulation::world::current()->wait_for(*this);
}

std::uint32_t this_thread_id() noexcept { return static_cast<std::uint32_t>(this_thread_number()); }

instant monotonic_now() noexcept { return simulation::world::current()->look_at_clock(); }

wait_status futex_wait(seam::atomic<std::uint32_t>& word, std::uint32_t expected, instant deadline) noexcept {
  return simulation::world::current()->sleep_on(word, expected, deadline);
}

void futex_wake(seam::atomic<std::uint32_t>& word, int count) noexcept {
  simulation::point();
  simulation::world::current()->wake(&word, count);
}

}  // namespace seam

}  // namespace foliot::inline core

namespace foliot::detail {

void contract_broken(const char* condition, const char* sentence, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: foliot: %s (%s)\n", file, line, sentence, condition);
  if (simulation::world* w = simulation::world::current()) w->fail(std::string("a contract is broken: ") + sentence);
  std::abort();
}

}  // namespace foliot::detail
