// The timer of an erlang_wheel, and the circular lists that it is linked into.
//
//   foliot::erlang_timer timer;
//   timer.on_cancel = [](foliot::erlang_timer& cancelled) { … };
//
// Thread safety: none; a pending timer belongs to its wheel's owner.
// Complexity: everything O(1), except erlang_list::sort, O(n log n). Nothing allocates.
//
// Source: ErtsTWheelTimer and ErtsTimerWheel.sentinel in erts/emulator/beam/time.c of OTP 18.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <foliot/core/timer_node.hpp>

namespace foliot::detail {
class erlang_ring;
class erlang_list;
}  // namespace foliot::detail

namespace foliot::inline queue {

/// The node of an erlang_wheel. 48 bytes.
class erlang_timer : public timer_node {
 public:
  /// Called by the wheel's `cancel` after it has stopped this timer, if not null. May destroy the timer.
  void (*on_cancel)(erlang_timer&) = nullptr;

 private:
  friend class detail::erlang_ring;
  friend class detail::erlang_list;

  erlang_timer* next_ = nullptr;
  erlang_timer* prev_ = nullptr;
};

}  // namespace foliot::inline queue

namespace foliot::detail {

/// The links of timers in a circle, for lists with and without a head that is not a timer.
class erlang_ring {
 public:
  static erlang_timer* next(const erlang_timer& node) noexcept { return node.next_; }
  static bool alone(const erlang_timer& node) noexcept { return node.next_ == &node; }
  static bool linked_both_ways(const erlang_timer& node) noexcept { return node.next_->prev_ == &node; }

  static void make_alone(erlang_timer& node) noexcept { node.next_ = node.prev_ = &node; }

  /// Links `node` before `after`. Before the head of a circle means behind its last timer.
  static void link_before(erlang_timer& after, erlang_timer& node) noexcept {
    node.next_ = &after;
    node.prev_ = after.prev_;
    after.prev_->next_ = &node;
    after.prev_ = &node;
  }

  static void unlink(erlang_timer& node) noexcept {
    node.prev_->next_ = node.next_;
    node.next_->prev_ = node.prev_;
  }

  /// Makes one circle of two: inserts the circle of `ring` after `before`.
  static void splice_after(erlang_timer& before, erlang_timer& ring) noexcept {
    erlang_timer* const tail = ring.prev_;
    tail->next_ = before.next_;
    before.next_->prev_ = tail;
    before.next_ = &ring;
    ring.prev_ = &before;
  }
};

/// A circle with a head that is not a timer, so that a timer can be unlinked without the list.
class erlang_list {
 public:
  erlang_list() noexcept { erlang_ring::make_alone(head_); }
  erlang_list(const erlang_list&) = delete;
  erlang_list& operator=(const erlang_list&) = delete;

  [[nodiscard]] bool empty() const noexcept { return erlang_ring::alone(head_); }
  /// The first timer; the head if the list is empty.
  [[nodiscard]] erlang_timer& front() const noexcept { return *head_.next_; }
  /// The last timer; the head if the list is empty.
  [[nodiscard]] erlang_timer& back() const noexcept { return *head_.prev_; }
  [[nodiscard]] erlang_timer& head() noexcept { return head_; }
  [[nodiscard]] const erlang_timer& head() const noexcept { return head_; }

  void push_back(erlang_timer& node) noexcept { erlang_ring::link_before(head_, node); }

  /// Sorts by `key(timer)`, stably: a bottom-up merge sort.
  template <class Key>
  void sort(Key key) noexcept {
    head_.prev_->next_ = nullptr;
    std::array<erlang_timer*, 64> runs{};  // runs[i] is null, or a sorted chain of 2^i timers
    for (erlang_timer* rest = head_.next_; rest != nullptr;) {
      erlang_timer* run = std::exchange(rest, rest->next_);
      run->next_ = nullptr;
      std::size_t i = 0;
      for (; runs[i] != nullptr; ++i) run = merged(std::exchange(runs[i], nullptr), run, key);
      runs[i] = run;
    }
    erlang_timer* chain = nullptr;
    for (erlang_timer* run : runs) chain = merged(run, chain, key);
    erlang_timer* last = &head_;
    for (; chain != nullptr; chain = chain->next_) {
      last->next_ = chain;
      chain->prev_ = last;
      last = chain;
    }
    last->next_ = &head_;
    head_.prev_ = last;
  }

 private:
  /// Merges two sorted chains that end in null; on a tie the timer of `first` goes first.
  template <class Key>
  static erlang_timer* merged(erlang_timer* first, erlang_timer* second, Key key) noexcept {
    erlang_timer* chain = nullptr;
    erlang_timer** end = &chain;
    while (first != nullptr && second != nullptr) {
      erlang_timer*& least = key(*second) < key(*first) ? second : first;
      *end = least;
      end = &least->next_;
      least = least->next_;
    }
    *end = first != nullptr ? first : second;
    return chain;
  }

  erlang_timer head_;
};

}  // namespace foliot::detail
