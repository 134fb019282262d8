#include <foliot/runtime/detail/runtime_gate.hpp>

#include <stdexcept>

#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/runtime_ended.hpp>

#include "scheduler.hpp"
#include "this_thread.hpp"

namespace foliot::runtime::detail {

waiting_call::waiting_call(runtime_gate& gate) noexcept : gate_(gate) { gate.add(*this); }
waiting_call::~waiting_call() { gate_.remove(*this); }

runtime_gate::runtime_gate(scheduler& owner) noexcept
    : life_(owner.ref()), is_on_virtual_time_(owner.virtual_time() != nullptr), scheduler_(&owner) {}

/// On virtual time the driver waits in the poller while there are handles.
void runtime_gate::drop_handle() noexcept {
  // acq_rel: pairs with has_handles(), and orders the ends of handles one after the other.
  if (handles_.fetch_sub(1, seam::acq_rel) != 1 || !is_on_virtual_time_ || runs_caller()) return;
  if (const guest inside{*this}) inside->descriptors().break_wait();
}

scheduler* runtime_gate::enter() noexcept {
  const lock held(lock_);
  if (scheduler_ != nullptr) ++guests_;
  return scheduler_;
}

void runtime_gate::leave() noexcept {
  const lock held(lock_);
  if (--guests_ == 0) guests_left_.notify_all();
}

bool runtime_gate::is_ending() const noexcept {
  const lock held(lock_);
  return scheduler_ == nullptr || scheduler_->is_ending();
}

// noinline: as this_scheduler_or_null().
[[gnu::noinline]] bool runtime_gate::runs_caller() const noexcept {
  scheduler* const here = life_.living();
  return here != nullptr && (here->this_processor() != nullptr || this_monitored() == here);
}

void runtime_gate::report(const char* name, const std::exception_ptr& failure, bool was_stopped) noexcept {
  // A task that is destroyed at the end of the runtime finds the gate closed, but its runtime still exists.
  if (runs_caller()) return life_.living()->report(name, failure, was_stopped);
  if (const guest inside{*this}) inside->report(name, failure, was_stopped);
}

void runtime_gate::close() noexcept {
  const lock held(lock_);
  scheduler_ = nullptr;
  while (guests_ != 0) guests_left_.wait(lock_);
}

void runtime_gate::release_calls() noexcept {
  const lock held(lock_);
  calls_released_ = true;
  for (waiting_call* each = calls_.front(); each != nullptr; each = calls_.next(*each)) each->woken_.wake();
}

void runtime_gate::end_in_child() noexcept {
  const lock held(lock_);
  scheduler_ = nullptr;
  guests_ = 0;  // those threads do not exist here
}

void runtime_gate::add(waiting_call& call) noexcept {
  const lock held(lock_);
  calls_.push_back(call);
  if (calls_released_) call.woken_.wake();
}

void runtime_gate::remove(waiting_call& call) noexcept {
  const lock held(lock_);
  calls_.erase(call);
}

bool takes_tasks(const scheduler& owner) noexcept { return !owner.is_ending(); }

intrusive_ptr<runtime_gate> gate_of(const scheduler& which) noexcept { return which.gate(); }

void refuse_guest() { throw runtime_ended("foliot: the runtime of this handle has ended, and takes no more tasks"); }
void fail_call() { throw runtime_ended("foliot: the call has no result: its runtime ended before it did"); }

void check_may_wait(const runtime_gate& gate) {
  if (!gate.runs_caller()) return;
  throw std::logic_error(
      "foliot: call() would block the runtime that is to run the call: a task awaits the function itself, or joins "
      "what it has spawned");
}

void refuse_empty_handle() {
  throw std::logic_error(
      "foliot: this runtime_handle is empty (default-constructed or moved from): use one of this_runtime()");
}

}  // namespace foliot::runtime::detail
