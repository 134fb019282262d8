// The entries whose `call` follows, in the order in which they were due, by the thread that has run the timers, without
// the lock of the timers.
//
// An entry of a handle, or of an await, lives until it has been called. A pinned callback may leave the list before
// that, by any thread (pinned_callback.hpp). So there are two lists: the pinned callbacks have one with links in both
// directions under the calls' lock, and each knows the other entry that is called before it. A list without pinned
// callbacks takes no lock.
//
// Thread safety: one thread adds and calls, the adding under the lock of the timers; erase() by any thread, under the
// calls' lock, which guards the pinned callbacks of the list and where they are in it.
// Invariants: the pinned callbacks are in the order of their addition, and so are the others; called_after_ merges the
// two.
// Complexity: O(1) an entry.
#pragma once

#include <memory>
#include <type_traits>

#include <foliot/core/annotations.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/pinned_callback.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>

namespace foliot::runtime::detail {

class call_list {
 public:
  call_list() noexcept {}  // NOLINT(modernize-use-equals-default): the union has no default
  ~call_list() = default;
  call_list(const call_list&) = delete;
  call_list& operator=(const call_list&) = delete;

  void push_back(timer_entry& entry) noexcept { others_.push_back(entry); }
  /// `calls`: the same lock for all pinned callbacks of the list; it must exist as long as the runtime.
  // Under that lock, since another thread may erase the entry before this one while the list is still being made.
  [[gnu::noinline]] void push_back(pinned_callback& entry, mutex& calls) noexcept FOLIOT_NO_ANALYSIS {
    if (with_pinned_ == nullptr) {
      with_pinned_ = this;
      lock_ = &calls;
      std::construct_at(&pinned_);
    }
    entry.calls_lock_ = &calls;
    const lock held(calls);
    entry.called_in_ = this;
    entry.called_after_ = others_.back();
    pinned_.push_back(entry);
  }
  [[nodiscard]] bool empty() const noexcept { return others_.empty() && with_pinned_ == nullptr; }

  /// Calls all entries. To be called once.
  void call_all() noexcept {
    if (with_pinned_ != nullptr) [[unlikely]]
      return with_pinned_->call_all_with_pinned();
    while (timer_entry* const each = others_.pop_front()) timer_entry_access::call(*each);
  }

  /// Takes a pinned callback out that is in this list. Under the calls' lock.
  void erase(pinned_callback& entry) noexcept FOLIOT_NO_ANALYSIS {
    entry.called_in_ = nullptr;
    pinned_.erase(entry);
  }

 private:
  [[gnu::noinline]] void call_all_with_pinned() noexcept {
    const timer_entry* called = nullptr;
    for (;;) {
      while (pinned_callback* const next = begin_pinned_after(called)) timer_entry_access::call(*next);
      timer_entry* const each = others_.pop_front();
      if (each == nullptr) return;
      called = each;  // its address alone: the call may destroy it
      timer_entry_access::call(*each);
    }
  }

  /// Begins the call of the next pinned callback that comes before the next other entry, and returns it; null if there
  /// is none. From here on it waits for the call when it is destroyed.
  [[nodiscard]] pinned_callback* begin_pinned_after(const timer_entry* called) noexcept FOLIOT_NO_ANALYSIS {
    const lock held(*lock_);
    while (pinned_callback* const next = pinned_.front()) {
      if (next->called_after_ != called) return nullptr;
      erase(*next);
      if (next->word_.begin() == callback_word::begin_result::run) return next;
    }
    return nullptr;
  }

  using pinned_list = intrusive_list<pinned_callback, &pinned_callback::call_links_>;
  static_assert(std::is_trivially_destructible_v<pinned_list>);

  timer_entry_access::calls others_;
  // This list, if a pinned callback has been added; null: the two below mean nothing. Not a bool: callers that inline
  // call_all() need no register for the address of a list that most turns leave empty.
  call_list* with_pinned_ = nullptr;
  mutex* lock_;
  union {
    pinned_list pinned_;
  };
};

}  // namespace foliot::runtime::detail
