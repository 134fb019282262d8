// One exploration's threads, clock and futexes, and who runs when.
//
// Threads are fibers. Before each visible operation (on an atomic, a futex, the clock, a fence) the running
// thread tells what it is about to do, and the scheduler chooses who goes on; from one visible operation to
// the next a thread runs alone, which nobody can tell as long as there is no data race, and races are found
// by vector clocks. A thread that is made, woken or done waiting for another's end runs at once to its next
// visible operation, so that the scheduler knows what everybody is about to do.
//
// Invariants, whenever the scheduler chooses:
//   1. Every thread that is ready stands before a visible operation, its `pending`.
//   2. A thread in the sleep set is ready, and what follows from running it now has been explored: it is
//      left alone until an operation that depends on its own has been executed. Used only without a bound
//      on preemptions, since the equal execution may need more of them.
//   3. A thread that paused goes on when somebody has stored something; or once without that, which counts
//      as a preemption; or when nobody else can run. So loops that spin have an end.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <foliot/core/seam/system.hpp>

#include "choices.hpp"
#include "foliot_model/model.hpp"
#include "memory.hpp"
#include "support/fiber.hpp"
#include "trace.hpp"

namespace foliot::model {

struct operation {
  enum class kind : std::uint8_t { load, store, modify, fence, clock, pause, wait, wake } what{};
  order with = order::relaxed;
  location_id where = 0;
  const void* futex = nullptr;
};

/// Whether it matters which of two threads' operations comes first.
bool dependent(const operation& a, const operation& b);

struct model_thread {
  explicit model_thread(std::function<void()> run) : stack(std::move(run)) {}

  enum class status : std::uint8_t { ready, asleep, joining, done } now = status::done;
  thread_id id = 0;
  std::string name;
  std::function<void()> body;
  support::fiber stack;
  seam::thread_state state{};
  thread_view view;
  operation pending;
  site last;                          // the place of its last operation that has one
  model_thread* return_to = nullptr;  // who lets it run to its next visible operation
  instant deadline = instant::never();
  seam::wait_status woken_by{};
  thread_id joins = 0;
  bool paused = false;
  std::uint64_t paused_at = 0;     // how many stores there were
  std::uint64_t pause_number = 0;  // whose pause came before whose
  bool went_on_early = false;      // after a pause, and nothing has been stored since
  std::vector<store_index> at_last_pause;
};

/// An order as it stands in the source: file, line, column, whether for failure, the order, whether the
/// operation may load and store.
using order_in_source = std::tuple<std::string, unsigned, unsigned, bool, order, bool, bool>;

class engine {
 public:
  explicit engine(const options& with) : options_(with) {}
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// One execution along `path`; what went wrong in it.
  std::optional<std::string> run(choices& path, const std::function<void()>& body, bool traced);
  [[nodiscard]] const trace& traced() const noexcept { return trace_; }
  /// Whether the last execution was found to be equal to an earlier one.
  [[nodiscard]] bool pruned() const noexcept { return pruned_; }
  void collect(std::set<order_in_source>* into) noexcept { orders_ = into; }

  /// The engine that runs now, or null.
  static engine* current() noexcept { return current_; }
  static std::uint64_t run_number() noexcept { return run_; }
  [[noreturn]] void fail(const std::string& what);
  model_thread& me() noexcept { return *threads_[running_]; }

  // The seams (seams.cpp).
  std::size_t spawn(const char* name, std::function<void()> body);
  void join(std::size_t thread, const site& where);
  void pause(const site& where);
  instant look_at_clock();
  seam::wait_status sleep_on(const word& key, std::uint32_t expected, instant deadline);
  void wake(const void* address, int count);
  unsigned choose(unsigned bound) { return pick(bound); }
  void pass_time(duration length);

  // Memory (operations.cpp).
  bits load(const word& from, order o, const site& where);
  void store(const word& to, bits value, order o, const site& where);
  bits modify(const word& of, bits (*change)(bits, bits), bits operand, order o, const site& where);
  bool compare_exchange(const word& of, bits& expected, bits wanted, bool weak, order success, order failure,
                        const site& where);
  void fence(order o, const site& where);
  void make(const word& made);
  void end(const word& ended) noexcept;
  void make(const shared_place& made);
  void end(const shared_place& ended) noexcept;
  void read(const shared_place& from, const site& where);
  void write(const shared_place& to, const site& where);
  void name(const void* object, std::size_t size, const char* called);

 private:
  struct candidate {
    model_thread* thread;
    bool by_timeout;
    bool early;  // it paused, and nothing has been stored since
  };
  struct candidates {
    std::array<candidate, 2 * most_threads> at;
    unsigned count = 0;
    void add(model_thread* thread) { at[count++] = {thread, false, false}; }
  };
  struct named {
    const char* begin;
    const char* end;
    std::string called;
  };

  unsigned pick(unsigned count) { return count < 2 ? 0 : path_->pick(count, (std::uint64_t{1} << count) - 1); }
  model_thread& make_thread(std::string name, std::function<void()> body);
  void run_thread(thread_id who);
  void finish();
  void visible(const operation& next, const site* where);
  /// The caller cannot go on, or should not: somebody else does, until it is the caller's turn.
  void give_way();
  void schedule();
  [[nodiscard]] candidates who_can_run();
  candidate choose_next(const candidates& all);
  void switch_to(model_thread& next);
  void run_ahead(model_thread& other);
  void make_ready(model_thread& sleeper, seam::wait_status why);
  [[noreturn]] void leave();
  [[nodiscard]] std::string describe_deadlock() const;

  location_id find(const word& known);
  location_id find(const shared_place& known);
  location& touch(location_id where, const site& at);
  void meet(const shared_place& place, const site& where, bool writes);
  void check_end(location& ended);
  [[noreturn]] void race(const location& where, thread_id other, const char* what);
  order effective(order o, const site& where, bool on_failure, bool loads, bool stores);
  bool compare_from(location_id from, store_index index, bits& expected, bits wanted, order success, order failure);
  void say(std::string what, const site* where);
  [[nodiscard]] std::string name_of(location_id where) const;
  [[nodiscard]] std::string name_of(const void* address) const;
  [[nodiscard]] std::string described(location_id where, store_index read);

  static inline engine* current_ = nullptr;
  static inline std::uint64_t run_ = 0;  // of the whole program: objects know by it whether they are known

  const options& options_;
  choices* path_ = nullptr;
  memory memory_;
  trace trace_;
  std::vector<std::unique_ptr<model_thread>> threads_;  // those past used_ are kept for later executions
  thread_id used_ = 0;
  thread_id running_ = 0;
  support::fiber outside_;
  std::optional<std::string> failure_;
  std::vector<named> names_;
  std::set<order_in_source>* orders_ = nullptr;

  instant time_;
  unsigned preemptions_ = 0;
  unsigned weak_failures_ = 0;
  unsigned interruptions_ = 0;
  unsigned wakes_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t pauses_ = 0;
  std::uint64_t idle_pauses_ = 0;
  std::uint64_t sleep_set_ = 0;  // a bit for each thread
  bool pruned_ = false;
};

}  // namespace foliot::model
