// The broker's own functions: time, failure, and the end. See broker_core.hpp.
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "broker_core.hpp"

namespace foliot::jobs {

namespace detail {

using waits_for_event = runtime::detail::operation_awaiter<event_wait>;

broker_core::broker_core(job_store& store, const broker_limits& limits)
    : store_(store), others_(store.others()), limits_(limits), next_(store.next()) {
  failure_.reserve(room_for_failure);
}

broker_core::~broker_core() {
  FOLIOT_ASSERT(clients_ == 0, "a broker must outlive its clients");
  FOLIOT_ASSERT(queue_.empty(), "a broker must outlive the operations that are in flight");
}

/// Marks that a task is in run().
class broker_core::runner {
 public:
  explicit runner(broker_core& of) : core_(of) {
    const lock held(core_.lock_);
    if (core_.runs_) throw std::logic_error("foliot: the broker runs already: spawn run() once");
    core_.runs_ = true;
  }
  ~runner() {
    const lock held(core_.lock_);
    if (core_.others_ != nullptr) core_.drop_batch();
    core_.runs_ = false;
    core_.runner_wants_lead_ = false;
    core_.runner_leads_alone_ = false;
    core_.armed_.reset();
  }
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;

 private:
  broker_core& core_;
};

broker_core::step broker_core::run_once(bool is_alone, bool has_yielded, next_change& next) {
  const lock held(lock_);
  armed_.reset();
  runner_wants_lead_ = false;
  runner_leads_alone_ = is_alone;
  runner_event_.clear();
  if (failed_) throw store_failure(failure_);
  if (has_work() || is_due()) {
    if (led_) {
      runner_wants_lead_ = true;  // the leader sets the event when it ends its lead
      return step::wait_for_leader;
    }
    if (is_alone && !has_yielded) return step::let_others_run;
    lead();
    runner_event_.clear();
    return step::let_others_run;
  }
  if (closing_ && clients_ == 0 && !led_) return step::end;
  next = next_;
  armed_ = next_;
  return step::wait;
}

bool broker_core::is_due() const noexcept {
  const utc_time wall = std::chrono::floor<milliseconds>(runtime::wall_now());
  return next_.due <= wall || next_.expiry <= runtime::now();
}

task<> broker_core::run() {
  const runner here(*this);
  try {
    co_await run_until_end();
  } catch (const std::exception& why) {
    fail_with_run(why);
    throw;
  }
}

void broker_core::fail_with_run(const std::exception& why) noexcept {
  const lock held(lock_);
  if (failed_) return;
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&why) != nullptr;
  fail(is_memory ? lacks_memory : why.what());
}

task<> broker_core::run_until_end() {
  if (others_ != nullptr) {
    co_await run_shared();
    co_return;
  }
  bool has_yielded = false;
  for (;;) {
    next_change next;
    const bool is_alone = runtime::processors() == 1;
    const step what = run_once(is_alone, has_yielded, next);
    if (what == step::end) co_return;
    has_yielded = what == step::let_others_run;
    if (has_yielded) {
      co_await runtime::yield();  // the tasks that have their answers go first, and queue more for the next batch
    } else if (what == step::wait_for_leader) {
      co_await waits_for_event(lock_, runner_event_);
    } else {
      const bool has_due = next.due != utc_time::max();
      const bool has_expiry = next.expiry != instant::never();
      const duration until_expiry = next.expiry - runtime::now();
      co_await runtime::select(waits_for_event(lock_, runner_event_), runtime::when(has_due, runtime::at(next.due)),
                               runtime::when(has_expiry, runtime::after(until_expiry)));
    }
  }
}

void broker_core::wake_runner_for_work() noexcept {
  if (!led_ && has_work()) runner_event_.set();
}

void broker_core::close() noexcept {
  const lock held(lock_);
  closing_ = true;
  while (client_state* const each = waiting_.front()) {
    unlink(*each);  // no job is claimed for it any more
    each->now = client_state::phase::idle;
    each->event.set();
  }
  runner_event_.set();
}

std::string broker_core::failure() const {
  const lock held(lock_);
  return failure_;
}

check_result broker_core::check() const {
  const lock held(lock_);
  if (const check_result tubes = tubes_.check(); !tubes) return tubes;
  if (const check_result held_jobs = held_.check(); !held_jobs) return held_jobs;
  std::size_t waiting = 0;
  std::size_t untried = 0;
  for (const client_state* each = waiting_.front(); each != nullptr; each = waiting_.next(*each)) {
    ++waiting;
    if (each->untried) ++untried;
    if (each->now != client_state::phase::waiting) return std::unexpected("a client that does not wait is listed");
    if (!led_ && each->recipient != client_state::no_claim) return std::unexpected("a claim outlives its batch");
  }
  if (waiting != waiting_count_) return std::unexpected("the count of waiting clients is wrong");
  if (untried != untried_count_) return std::unexpected("the count of clients that were not tried is wrong");
  const bool is_left = !failed_ && !is_unavailable_ && (held_.has_to_give_back() || tubes_.has_tube_to_serve());
  if (runs_ && !led_ && is_left && !runner_event_.is_set()) return std::unexpected("run() does not know of the work");
  return {};
}

}  // namespace detail

broker::broker(job_store& store, const broker_limits& limits)
    : core_(std::make_unique<detail::broker_core>(store, limits)) {}
broker::~broker() = default;

task<> broker::run() { return core_->run(); }
void broker::close() noexcept { core_->close(); }
std::string broker::failure() const { return core_->failure(); }
bool broker::has_other_nodes() const noexcept { return core_->has_other_nodes(); }
broker_counters broker::counters() const noexcept { return core_->counters(); }
tube_clients broker::clients_of(std::string_view tube) const { return core_->clients_of(tube); }
std::vector<std::string> broker::tubes_in_use() const { return core_->tubes_in_use(); }
check_result broker::check() const { return core_->check(); }

runtime::detail::operation_awaiter<detail::event_wait> broker::failed() noexcept {
  return detail::waits_for_event(core_->guard(), core_->failed_event());
}

}  // namespace foliot::jobs
