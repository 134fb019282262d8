// The threads, the clock and the futexes of one exploration, and its scheduler.
//
// Threads are fibers. Before each visible operation (on an atomic, a futex, the clock, a fence) the running thread
// announces the operation, and the scheduler chooses the thread that goes on. Between two visible operations a thread
// runs alone. No thread can observe that unless there is a data race, and vector clocks find races. A thread that has
// been made or woken, or whose join has ended, runs at once to its next visible operation, so that the scheduler knows
// the next operation of every thread.
//
// Invariants, whenever the scheduler chooses:
//   1. Every ready thread is about to execute a visible operation, its `pending`.
//   2. A thread in the sleep set is ready, and the executions that begin with its operation have been explored: it
//      does not run until an operation that depends on its own has been executed. Sleep sets are used only without a
//      bound on preemptions, since the equal execution may need more preemptions.
//   3. A thread that paused goes on when a thread has stored since; or once without a store, which counts as a
//      preemption; or when no other thread can run. So loops that spin have an end.
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

/// Whether the order of the two threads' operations matters.
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
  model_thread* return_to = nullptr;  // the thread that lets it run to its next visible operation
  instant deadline = instant::never();
  seam::wait_status woken_by{};
  thread_id joins = 0;
  bool paused = false;
  std::uint64_t paused_at = 0;     // the number of stores at the pause
  std::uint64_t pause_number = 0;  // the order of the pauses
  bool went_on_early = false;      // it went on after a pause without a store since
  std::vector<store_index> at_last_pause;
};

/// A memory order in the source: file, line, column, whether it is that of a failure, the order, and whether the
/// operation may load and store.
using order_in_source = std::tuple<std::string, unsigned, unsigned, bool, order, bool, bool>;

class engine {
 public:
  explicit engine(const options& with) : options_(with) {}
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Runs one execution along `path`. Returns its failure, if any.
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
    bool early;  // it paused, and no thread has stored since
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
  /// Lets other threads run until it is the caller's turn.
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
  static inline std::uint64_t run_ = 0;  // the number of the run in the whole program: an object compares it to know
                                         // whether this run has registered it

  const options& options_;
  choices* path_ = nullptr;
  memory memory_;
  trace trace_;
  std::vector<std::unique_ptr<model_thread>> threads_;  // the threads past used_ are kept for later executions
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
