#include <foliot/runtime/background_runtime.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "scheduler.hpp"

namespace foliot::runtime {

namespace {

/// For its life the runtime counts a wait that a thread outside of it ends, and so is not deadlocked.
class outside_wait {
 public:
  explicit outside_wait(detail::scheduler& owner) noexcept : owner_(owner) { detail::begin_outside_wait(owner_); }
  ~outside_wait() { detail::end_outside_wait(owner_); }
  outside_wait(const outside_wait&) = delete;
  outside_wait& operator=(const outside_wait&) = delete;

 private:
  detail::scheduler& owner_;
};

}  // namespace

class background_runtime::state final : private seam::fork_witness {
 public:
  explicit state(const run_options& options) : scheduler_(options), gate_(detail::gate_of(scheduler_.get())) {
    until_stop_.add();
    auto* const main = new detail::spawned<void>(scheduler_.get(), "background_runtime", run_until_stopped());
    main->retain();
    const detail::intrusive_ptr<detail::spawned<void>> keep(*main);
    try {
      thread_ = seam::thread("foliot-runtime", [this, keep] {
        own_thread_.store(&seam::this_thread(), seam::relaxed);
        work(*keep);
        own_thread_.store(nullptr, seam::relaxed);
        if (is_abandoned_) delete this;
      });
    } catch (...) {
      main->release();  // on behalf of the scheduler, which never gets it
      throw;
    }
    started_.sleep_until(instant::never());
    if (!runs_) {
      thread_.join();
      std::rethrow_exception(failure_);
    }
    witness_forks();
  }
  ~state() override { forget_forks(); }

  [[nodiscard]] const detail::intrusive_ptr<detail::runtime_gate>& gate() const noexcept { return gate_; }

  void request_stop() noexcept {
    if (lost_) return;
    // relaxed: the group's lock publishes everything else.
    if (!stop_requested_.exchange(true, seam::relaxed)) until_stop_.done();
  }
  void join() noexcept {
    if (lost_) return;
    const lock one_at_a_time(joining_);
    if (thread_.joinable()) thread_.join();
  }
  /// Whether the process has forked, and this is the child.
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }
  /// Whether the caller runs a task, a callback, a call by blocking(), or on_failure at the end of the runtime: the
  /// runtime cannot end before it returns.
  [[nodiscard]] bool runs_caller() const noexcept {
    if (lost_) return false;
    // relaxed: the caller finds its own address only if it has stored it itself.
    if (own_thread_.load(seam::relaxed) == &seam::this_thread()) return true;
    return gate_->runs_caller() || scheduler_.get().blocking().runs_caller();
  }
  /// Asks the runtime to stop. It ends, and destroys this object, when the caller has returned to it; in exit() the
  /// caller does not, and then no task is destroyed. Precondition: runs_caller().
  void abandon() noexcept {
    is_abandoned_ = true;
    if (is_only_thread_) return;  // other threads may have held any lock at the fork
    thread_.detach();
    request_stop();
  }

 private:
  /// The main task.
  task<> run_until_stopped() {
    const outside_wait waits(scheduler_.get());
    runs_ = true;
    started_.wake();
    co_await until_stop_.wait();
  }

  void work(detail::spawned<void>& main) noexcept {
    try {
      scheduler_.run(main, main.prepare());
      main.take();
    } catch (...) {
      failure_ = std::current_exception();
      // The constructor throws it, if it still waits.
      if (runs_) detail::report_failure(scheduler_.get(), "background_runtime", failure_);
    }
    started_.wake();
  }

  void before_fork() noexcept override { gate_->lock_for_fork(); }
  void after_fork_in_parent() noexcept override { gate_->unlock_after_fork(); }
  void after_fork_in_child() noexcept override {
    gate_->unlock_after_fork();
    if (gate_->runs_caller()) {  // the thread of a task: it is the only one that is left of the runtime
      is_only_thread_ = true;
      return;
    }
    gate_->end_in_child();
    thread_.forget();
    lost_ = true;
  }

  detail::own_scheduler scheduler_;
  const detail::intrusive_ptr<detail::runtime_gate> gate_;
  // One piece of work, which is done when the runtime is to stop.
  wait_group until_stop_;
  seam::atomic<bool> stop_requested_{false};  // by the threads that ask for a stop: only the first one counts
  // Woken when the main task has begun, or the runtime has ended before that; publishes the two fields below.
  note started_;
  bool runs_ = false;            // written by the main task
  std::exception_ptr failure_;   // written by the runtime's thread, when the main task has ended or will not begin
  bool lost_ = false;            // written in the child of a fork
  bool is_only_thread_ = false;  // the same
  // Written by a thread of the runtime; read by the runtime's thread, after the other one has ended.
  bool is_abandoned_ = false;
  mutex joining_{lock_rank::engine};
  /// The thread_state of the runtime's thread, while that thread works; else null. Written by that thread.
  seam::atomic<const void*> own_thread_{nullptr};
  seam::thread thread_;
};

background_runtime::background_runtime(const run_options& options) : state_(std::make_unique<state>(options)) {}

background_runtime::~background_runtime() {
  if (state_->runs_caller()) {
    state_.release()->abandon();
    return;
  }
  state_->request_stop();
  state_->join();
  if (state_->is_lost()) static_cast<void>(state_.release());  // its tasks and locks may be in any state
}

runtime_handle background_runtime::handle() const noexcept { return runtime_handle(state_->gate()); }

void background_runtime::request_stop() noexcept { state_->request_stop(); }

void background_runtime::stop() {
  if (state_->runs_caller()) {
    throw std::logic_error(
        "foliot: a task, a call by blocking() or on_failure must not stop the background_runtime that runs it: use "
        "request_stop()");
  }
  state_->request_stop();
  state_->join();
}

}  // namespace foliot::runtime
