// The front of foliot_queue: the timers that fire next, in exact order.
//
// It has two parts, and the timer that fires next is the first of one of them:
//   run   An array in firing order, read from its front. The timers of a slot that opens are sorted into it; a timer
//         that is added and fires after all of the run is appended.
//   heap  A 4-ary heap for all other timers that are added.
// A stop in the run leaves a gap, which pop skips; when there are more gaps than timers, the run is compacted.
//
// Complexity, for n timers in the window (not all that are pending), amortised: add and remove O(1) at the run's end,
// else O(log n); pop O(1) from the run. The arrays grow by doubling, unless they were reserved; compacting is O(n).
// Thread safety: none.
//
// Invariants (check):
//   1. The run is in firing order; its first and its last entry are not gaps.
//   2. A node in the run knows its index.
//   3. The heap's invariants.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/deadline_heap.hpp>
#include <foliot/queue/detail/place.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/structure_access.hpp>
#include <foliot/queue/detail/window_sort.hpp>

namespace foliot::detail {

class open_window {
  using access = timer_node_access;
  using entry = deadline_entry;

 public:
  static constexpr std::size_t run_region = place::last_region - 2;
  static constexpr std::size_t heap_region = place::last_region - 1;
  /// Whether a place is in the window.
  [[nodiscard]] static bool holds(std::size_t its_place) noexcept {
    return place::region(its_place) == run_region || place::region(its_place) == heap_region;
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == run_.size() && heap_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return run_.size() - first_ - gaps_ + heap_.size(); }

  /// How many entries the run has, its gaps included.
  [[nodiscard]] std::size_t run_size() const noexcept { return run_.size() - first_; }

  /// The deadline of the timer that fires next; never if the window is empty.
  [[nodiscard]] instant first_deadline() const noexcept {
    const instant run = first_ == run_.size() ? instant::never() : run_[first_].deadline;
    if (heap_.empty()) [[likely]]
      return run;
    return std::min(run, heap_.top().deadline);
  }

  /// Makes room for `count` more timers. Throws std::bad_alloc with nothing changed.
  void make_room(std::size_t count = 1) {
    if (run_.size() + count > run_.capacity()) [[unlikely]]
      make_room_in_run(count);
    heap_.make_room(count);
  }

  /// Adds a node whose deadline and sequence are set. Precondition: there is room.
  void add(timer_node& node) noexcept {
    const entry added{node.deadline(), &node};
    if (first_ == run_.size() || !fires_before(added, run_.back())) {
      access::place(node) = place::at(run_region, run_.size());
      run_.push_back(added);
    } else {
      heap_.append(node, added.deadline);
      heap_.settle_last();
    }
  }

  /// Adds all these timers. Fastest if their deadlines lie in the 2^width ns from `start`. Precondition: there is room.
  void load(std::span<const entry> entries, instant start, int width) noexcept {
    if (first_ != run_.size()) {
      for (const entry& each : entries) add(*each.node);
      return;
    }
    run_.resize(entries.size());  // within the capacity that make_room has reserved
    sort_into(run_, entries, start, width);
    for (std::size_t i = 0; i < run_.size(); ++i) access::place(*run_[i].node) = place::at(run_region, i);
  }

  void remove(timer_node& node) noexcept {
    if (place::region(access::place(node)) == heap_region) return heap_.remove(node);
    const std::size_t index = place::position(access::place(node));
    access::place(node) = access::nowhere;
    if (index == first_) return step();
    run_[index].node = nullptr;
    ++gaps_;
    while (run_.back().node == nullptr) {  // ends at first_, which is not a gap
      run_.pop_back();
      --gaps_;
    }
    if (gaps_ > size() + smallest_run) [[unlikely]]
      compact();
  }

  /// Adds a node in the room that pop() has left: no other timer has been added since. Allocates nothing; O(n) if the
  /// run is full.
  [[gnu::noinline]] void put_back(timer_node& node) noexcept {
    const entry added{node.deadline(), &node};
    const bool is_last = first_ == run_.size() || !fires_before(added, run_.back());
    if (is_last ? run_.size() < run_.capacity() : heap_.has_room()) return add(node);
    if (heap_.has_room()) {
      heap_.append(node, added.deadline);
      return heap_.settle_last();
    }
    compact();  // the heap is full, so the node has left the run
    const auto where = std::upper_bound(run_.begin(), run_.end(), added, fires_before);
    auto index = static_cast<std::size_t>(where - run_.begin());
    run_.insert(where, added);
    for (; index < run_.size(); ++index) access::place(*run_[index].node) = place::at(run_region, index);
  }

  /// Any node. Precondition: not empty.
  [[nodiscard]] timer_node& some() const noexcept {
    return first_ != run_.size() ? *run_[first_].node : *heap_.top().node;
  }

  /// Removes and returns the timer that fires next. Precondition: not empty.
  [[nodiscard]] timer_node& pop() noexcept {
    if (first_ == run_.size() || (!heap_.empty() && fires_before(heap_.top(), run_[first_]))) {
      timer_node& node = *heap_.top().node;
      heap_.remove(node);
      return node;
    }
    timer_node& node = *run_[first_].node;
    if (first_ + ahead < run_.size()) __builtin_prefetch(run_[first_ + ahead].node, 1);
    access::place(node) = access::nowhere;
    step();
    return node;
  }

  /// Hands timers at the end of the run to the wheel: calls `requeue(node)` for those whose deadline is not before
  /// `end`, the last one first. `requeue` returns true if it has put the node into the wheel; when it returns false,
  /// that node and those before it stay in the run. Precondition: the run is not empty.
  template <class Requeue>
  [[gnu::noinline]] void requeue_from(instant end, Requeue requeue) noexcept {
    while (run_.back().deadline >= end && requeue(*run_.back().node)) {
      run_.pop_back();
      while (first_ != run_.size() && run_.back().node == nullptr) {
        run_.pop_back();
        --gaps_;
      }
      if (first_ != run_.size()) continue;
      run_.clear();
      first_ = 0;
      return;
    }
  }

  /// Returns memory after a peak. Must not be called between make_room and add.
  void tidy() noexcept {
    if (run_.empty() && run_.capacity() > std::max(floor_, largest_idle_run)) [[unlikely]]
      std::vector<entry>().swap(run_);
  }

  /// Memory for `count` timers in all; the window keeps it after take(): see reserve.hpp. Throws std::bad_alloc.
  struct room {
    std::vector<entry> run;
    deadline_heap<heap_region>::room heap;
    std::size_t count;
  };
  [[nodiscard]] room room_for(std::size_t count) const {
    return {larger_array(run_, count), heap_.room_for(count), count};
  }
  void take(room&& made) noexcept {
    move_to_larger_array(run_, std::move(made.run));
    heap_.take(std::move(made.heap));
    floor_ = std::max(floor_, made.count);
  }

  [[nodiscard]] check_result check() const {
    const entry* previous = nullptr;
    std::size_t gaps = 0;
    for (std::size_t i = first_; i < run_.size(); ++i) {
      const auto broken = [i](const char* what) {
        return std::unexpected("open_window: entry " + std::to_string(i) + " of the run " + what);
      };
      const entry& each = run_[i];
      if (each.node == nullptr) {
        ++gaps;
        if (i == first_ || i + 1 == run_.size()) return broken("is a gap at an end of the run");
        continue;
      }
      if (access::place(*each.node) != place::at(run_region, i))
        return broken("is not at the index that its node knows");
      if (each.node->deadline() != each.deadline) return broken("has another deadline than its node");
      if (previous != nullptr && fires_before(each, *previous)) return broken("fires before the entry ahead of it");
      previous = &each;
    }
    if (gaps != gaps_) return std::unexpected("open_window: the count of gaps is wrong");
    return heap_.check("open_window");
  }

 private:
  friend struct structure_access;
  static constexpr std::size_t ahead = 8;  // how many entries ahead pop prefetches
  static constexpr std::size_t smallest_run = 64;
  /// tidy() returns the memory of an empty run whose capacity is larger than this.
  static constexpr std::size_t largest_idle_run = 4096;

  /// Moves the front past the run's first entry and the gaps after it.
  void step() noexcept {
    ++first_;
    while (first_ != run_.size() && run_[first_].node == nullptr) {
      ++first_;
      --gaps_;
    }
    if (first_ != run_.size()) return;
    run_.clear();
    first_ = 0;
  }

  [[gnu::noinline]] void make_room_in_run(std::size_t count) {
    if (first_ + gaps_ > run_.size() / 2) compact();  // otherwise the entries of fired timers would stay for ever
    const std::size_t needed = run_.size() + count;
    if (needed > run_.capacity()) run_.reserve(std::max({needed, 2 * run_.capacity(), smallest_run}));
  }

  /// Removes the entries before first_, and the gaps.
  [[gnu::noinline]] void compact() noexcept {
    std::size_t to = 0;
    for (std::size_t i = first_; i < run_.size(); ++i) {
      if (run_[i].node == nullptr) continue;
      run_[to] = run_[i];
      access::place(*run_[to].node) = place::at(run_region, to);
      ++to;
    }
    run_.resize(to);
    first_ = 0;
    gaps_ = 0;
  }

  std::vector<entry> run_;
  std::size_t first_ = 0;  // the index of the first entry that has not fired
  std::size_t gaps_ = 0;   // between first_ and the end
  std::size_t floor_ = 0;  // the capacity that reserve() asked for
  deadline_heap<heap_region> heap_;
};

}  // namespace foliot::detail
