// A timer that lives in the user's object: nothing is allocated, and the object that is touched anyway brings its timer
// along.
//
//   struct connection {
//     struct close_idle {
//       connection* self;
//       void operator()() const { self->close(); }
//     };
//     explicit connection(foliot::timer_service& timers) : idle(timers, 30s, close_idle{this}) {}
//     void received() { idle.reset(30s); }
//     foliot::pinned_timer<close_idle> idle;
//   };
//
// It does what a timer does, with the same outcomes. The differences:
//   - It is neither copied nor moved, nor detached, and never empty.
//   - It has no memory of its own, whichever closure it has; only its queue allocates, unless the service has reserved
//     (timer_service::reserve). A closure of up to 32 bytes lies in the 96 bytes of the timer, a larger one behind
//     them. Its alignment must be at most 16.
//   - What a start, a reset and a stop touch of it lies on one cache line.
//   - It may be destroyed inside its own callback, and the object around it with it: the closure is moved to the stack
//     before it is called, and back afterwards, a large one too, at each firing. So the closure must be nothrow move
//     constructible, and fit on the stack of the shard's thread.
//   - It has no name, and the service does not store where it was armed: in reports it is a timer of line 0.
//   - It cannot be made in a service that has an executor or a log, nor with an engine whose queue has larger nodes:
//     `red-black-tree` and the wheels of the lineage. The constructor throws.
//
// Thread safety: as timer.hpp. No other thread may use the timer while it is destroyed. That holds for the callback,
// too: it may destroy the timer only if no start, reset or stop by another thread, nor the constructor, is still under
// way. Such a call may touch the timer after it has armed it, when the callback may already run. Calls under a lock
// that the callback takes before it destroys the timer, and calls by callbacks of the same shard, have returned by
// then.
//
// Lifetime: its destructor waits for its callback as stop_and_wait does, except inside the callback, where it returns
// at once; the thread must not hold a lock that the callback waits for. So the object is moved out of its table under
// the table's lock, and destroyed after it. It may outlive its service. Time: as timer.hpp.
//
// Put it at the end of a class if its callback uses the other members: it is destroyed first then.
// docs/decisions/0028-a-timer-in-the-users-object.md says why it is as it is.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/timer_deadline.hpp>
#include <foliot/service/detail/engine.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/timer_service.hpp>

namespace foliot::inline service {
class timer_ref;
}  // namespace foliot::inline service

namespace foliot::detail {

/// What all pinned timers have: the calls on the record in the object.
class pinned_timer_base {
 public:
  pinned_timer_base(const pinned_timer_base&) = delete;
  pinned_timer_base& operator=(const pinned_timer_base&) = delete;

  /// As timer::reset.
  reset_result reset(duration delay) { return reset(delay, duration::zero()); }
  /// The same, with some lateness allowed.
  reset_result reset(duration delay, duration slack) {
    timer_record& r = record();
    return r.owner().reset(r, delay, slack);
  }
  /// As timer::reset_at.
  reset_result reset_at(timer_deadline deadline) {
    timer_record& r = record();
    return r.owner().reset(r, deadline.on([&r]() -> const clock& { return r.owner().time(); }));
  }
  /// As timer::stop.
  stop_result stop() noexcept { return record().owner().stop(record()); }
  /// As timer::stop_and_wait.
  stop_result stop_and_wait() noexcept { return record().owner().stop_and_wait(record()); }
  /// Whether the timer will fire. Any thread.
  [[nodiscard]] bool pending() const noexcept { return record().owner().pending(record()); }
  /// As timer::prefetch.
  void prefetch() const noexcept { record().prefetch(); }

 protected:
  pinned_timer_base() noexcept {}  // NOLINT(modernize-use-equals-default): `= default` would write zeros to the place
  ~pinned_timer_base() = default;

  [[nodiscard]] static engine& home_of(timer_service& service) noexcept { return service.home(); }
  [[nodiscard]] pinned_layout place(bool closure_fits) noexcept { return {bytes_, closure_fits}; }
  [[nodiscard]] timer_record& record() const noexcept {
    std::byte* const at = pinned_layout(const_cast<std::byte*>(bytes_), true).timer();
    return *std::launder(reinterpret_cast<timer_record*>(at));
  }

 private:
  friend class service::timer_ref;

  alignas(pinned_layout::alignment) std::byte bytes_[pinned_layout::size];
};

/// The closure of a pinned timer, if it does not fit in the 96 bytes.
template <class Function, bool Fits>
class pinned_closure_bytes {};
template <class Function>
class pinned_closure_bytes<Function, false> {
  alignas(Function) std::byte bytes_[sizeof(Function)];
};

}  // namespace foliot::detail

namespace foliot::inline service {

/// A function or closure that a pinned timer can run.
template <class Function>
concept pinned_timer_function =
    timer_function<Function> && std::same_as<Function, std::decay_t<Function>> &&
    std::is_nothrow_move_constructible_v<Function> && alignof(Function) <= detail::pinned_layout::alignment;

/// A callback that runs once for each start, in the user's object: see the head of this file.
template <pinned_timer_function Function>
class pinned_timer
    : public detail::pinned_timer_base,
      private detail::pinned_closure_bytes<Function, sizeof(Function) <= detail::pinned_layout::closure_room> {
 public:
  /// Makes an idle timer, to be started later. Throws std::invalid_argument for a null function, for a service with an
  /// executor or a log, and for an engine whose records are too large.
  [[nodiscard("the timer ends with its object")]] pinned_timer(timer_service& service, Function function) {
    make(service, std::move(function), std::nullopt);
  }

  /// Makes a timer that fires `delay` from now. Throws as the constructor above and `reset` do; there is no timer then.
  [[nodiscard("the timer ends with its object")]] pinned_timer(timer_service& service, duration delay,
                                                               Function function)
      : pinned_timer(service, std::move(function)) {
    reset(delay);
  }

  /// Makes a timer that fires when the service's clock shows `deadline`. Throws as the constructors above and
  /// `reset_at` do; there is no timer then.
  [[nodiscard("the timer ends with its object")]] pinned_timer(timer_service& service, timer_deadline deadline,
                                                               Function function) {
    const auto time = [&service]() -> const clock& { return home_of(service).time(); };
    make(service, std::move(function), deadline.on(time));
  }

  /// As stop_and_wait. Inside the timer's own callback it returns at once, and the callback goes on.
  ~pinned_timer() {
    detail::timer_record& r = this->record();
    [[maybe_unused]] const bool has_closure = r.owner().unpin(r);
    if constexpr (!std::is_trivially_destructible_v<Function>) {
      if (has_closure) std::destroy_at(std::launder(reinterpret_cast<Function*>(this->place(fits).closure())));
    }
  }

 private:
  static constexpr bool fits = sizeof(Function) <= detail::pinned_layout::closure_room;

  void make(timer_service& service, Function&& function, const std::optional<instant>& deadline) {
    detail::refuse_null<Function>(function);
    const detail::pinned_layout where = this->place(fits);
    Function* const closure = std::construct_at(reinterpret_cast<Function*>(where.closure()), std::move(function));
    try {
      home_of(service).pin(where, detail::pinned_closure<Function>::operations, deadline);
    } catch (...) {
      std::destroy_at(closure);
      throw;
    }
  }
};

/// `pinned_timer t{service, function}` has the function's type.
template <class Function>
pinned_timer(timer_service&, Function) -> pinned_timer<Function>;
/// The same with a delay or a deadline.
template <class Time, class Function>
pinned_timer(timer_service&, Time, Function) -> pinned_timer<Function>;

}  // namespace foliot::inline service
