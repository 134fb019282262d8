// A timer with a callback in the user's object: see pinned_callback_timer.hpp. What its starts, resets and stops do is
// in callback_state.hpp.
//
// The closure is moved to the stack of the thread that calls or destroys it, and back after a call. So the user may
// destroy the object inside the callback, and inside the destructor of a capture: the call is an object on the same
// stack, destroy() finds it there and marks it, and after that nothing touches the object.
//
// A due timer is in the call_list of the thread that is about to call it. The user may destroy the object before that,
// in an earlier callback of the list or on another thread: so the timer leaves the list (unlist()). The timers that
// fire have a lock for that, which is taken only where a list has pinned timers:
//
//   listed      under the lock of the timers that were due, and the calls' lock. The stop of a timer waits for a thread
//               that is adding it to a list, and destroy() stops it before it looks
//   called      under the calls' lock: taken out of the list, and `running` in the word
//   unlisted    under the calls' lock: the timer is in the list, or its call has begun
//
// Thread safety: reset, stop and close from any thread; no other thread may use the timer during destroy().
// Invariants: while the word is `listed` and no thread is adding the timer to a list, it is in the list called_in_.
// While `called_in_` is not null, that list exists. The object has its closure unless a call is under way, or the timer
// has been closed.
#pragma once

#include <foliot/core/language.hpp>

#include <foliot/core/export.h>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/callback_state.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

class call_list;

class FOLIOT_EXPORT pinned_callback : public callback_state {
 public:
  pinned_callback(const pinned_callback&) = delete;
  pinned_callback& operator=(const pinned_callback&) = delete;

  /// Stops the timer for good. If this returns `waits`, `task` is claimed for source 0 when the callback has ended, and
  /// the caller must call end_wait(). Never returns `mine`. Afterwards the object may be gone, unless it returns
  /// `waits`: a capture's destructor may have destroyed it.
  [[nodiscard]] closing close(waiter& who, wait_point& task) noexcept;

 protected:
  /// One call of the callback, or the destruction of its closure, on the stack of the thread that does it.
  class call_frame : public seam::callback_frame {
   public:
    /// From here on the calling thread is inside of this call.
    explicit call_frame(const pinned_callback& of) noexcept : seam::callback_frame{&of, seam::this_thread().inside} {
      seam::this_thread().inside = this;
    }
    call_frame(const call_frame&) = delete;
    call_frame& operator=(const call_frame&) = delete;
    ~call_frame() { seam::this_thread().inside = outer; }

    /// Whether the user has destroyed the object: nothing may touch it any more.
    [[nodiscard]] bool object_is_gone() const noexcept { return owner == nullptr; }
    /// By the thread that is inside. The address may be that of another timer soon.
    void lose_object() noexcept { owner = nullptr; }

    /// Whether the closure is on the stack, and not in the object.
    [[nodiscard]] bool closure_is_out() const noexcept { return out_; }
    void move_out() noexcept { out_ = true; }
    void move_back() noexcept { out_ = false; }

   private:
    bool out_ = false;
  };

  /// What the timer needs of a closure whose type it does not know. By the thread that has set `running` in the word.
  struct closure_actions : actions {
    /// Moves the closure to the stack, calls it, and moves it back unless the object has been destroyed meanwhile.
    void (*run)(pinned_callback& self, call_frame& call);
    /// Moves the closure to the stack, and destroys it there.
    void (*destroy)(pinned_callback& self, call_frame& call) noexcept;
  };

  pinned_callback(const closure_actions& what, scheduler& owner) noexcept : callback_state(what, owner) {}
  ~pinned_callback() = default;

  /// Stops the timer for good, and waits on the calling thread until its callback has returned, unless it is called
  /// inside the callback. Afterwards no thread touches the object. Returns whether the closure is still in it: the
  /// caller must destroy it then.
  [[nodiscard]] bool destroy() noexcept;

  static then note_due(timer_entry& self, ready_list&) noexcept {
    return static_cast<pinned_callback&>(self).word_.note_due() ? then::call_pinned : then::nothing;
  }
  static void call(timer_entry& self) noexcept;

 private:
  friend class call_list;

  void run() noexcept;
  [[nodiscard]] const closure_actions& closure() const noexcept {
    return static_cast<const closure_actions&>(timer_entry_access::what(*this));
  }
  void end_closure(call_frame& call) noexcept;
  void unlist() noexcept;

  // The call_list's, under calls_lock_.

  /// The list that the timer is in; null if it is in none.
  call_list* called_in_ = nullptr;
  /// The lock of the calls of the timers that were due last. Written by the thread that adds this to a list, before it
  /// does so; read after a stop.
  mutex* calls_lock_ = nullptr;
  list_links<pinned_callback> call_links_;
  /// The entry, which is not pinned, that is called before this one; null if there is none. Only compared.
  const timer_entry* called_after_ = nullptr;
};

}  // namespace foliot::runtime::detail
