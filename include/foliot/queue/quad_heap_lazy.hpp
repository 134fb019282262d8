// A 4-ary min-heap that stop and reset only mark: the heap of Go since 1.23. Exact deadline order.
//
// Complexity: start amortised O(log4 n); stop and reset O(1) amortised, and a reset touches nothing but
// the node; next_deadline O(1), a lower bound; expire amortised O(log4 n) a timer. What stop and reset
// postponed is paid for by whoever next starts or fires a timer, and a pass over the whole array, O(n), is
// due when a quarter of it is marked as stopped, or when the deadline of a timer that was reset to an
// earlier time comes. Memory: 16 bytes a timer in the array, at most a third more for what was stopped.
// Pick it where most timers are pushed back or stopped long before they fire; where the worst single
// call counts, quad_heap is better.
//
// Thread safety: none, one owner.
//
// Marks. They are Go's:
//   heaped     The node has an entry, so it is pending: place is its index.
//   modified   The node's deadline differs, or may, from the key that its entry stands at.
//   zombie     The entry is to be removed: its timer was stopped. It has no node, since the owner of a
//              stopped node may destroy it; in Go the garbage collector would keep it.
//
// Invariants (check):
//   1. No entry has an earlier key than its parent.
//   2. entry.node knows its own index; entries without a node are zombies, and counted.
//   3. The key of an entry whose node is not modified is the node's deadline.
//   4. A modified node whose deadline comes before its key has a deadline not before min_when_modified.
//   5. At most a quarter of the entries are zombies.
//
// Source: Go's runtime (time.go since 1.23).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/shrink.hpp>
#include <foliot/queue/timer_queue.hpp>

namespace foliot::inline queue {

/// A node with room for the mark that it was reset.
class lazy_heap_node : public timer_node {
 private:
  friend class quad_heap_lazy;
  bool modified_ = false;
};

class quad_heap_lazy {
 public:
  using node_type = lazy_heap_node;
  static constexpr std::string_view name = "quad-heap-lazy";
  static constexpr duration precision = duration::zero();
  static constexpr bool ties_in_start_order = false;  // a stale key says nothing about the start
  static constexpr bool next_deadline_exact = false;

  quad_heap_lazy() noexcept = default;
  quad_heap_lazy(const quad_heap_lazy&) = delete;
  quad_heap_lazy& operator=(const quad_heap_lazy&) = delete;
  ~quad_heap_lazy() { FOLIOT_ASSERT(size() == 0, "a queue must be empty when it is destroyed"); }

  void start(node_type& node, instant deadline) {
    FOLIOT_ASSERT(!node.pending(), "a timer that is pending must be reset, not started");
    clean_head();
    heap_.push_back({deadline, &node});
    access::deadline(node) = deadline;
    node.modified_ = false;
    sift_up(heap_.size() - 1, {deadline, &node});
  }

  /// Marks the entry as a zombie. The node is free at once.
  bool stop(node_type& node) noexcept {
    if (!node.pending()) return false;
    heap_[access::place(node)].node = nullptr;
    access::place(node) = access::nowhere;
    ++zombies_;
    bound_zombies();
    return true;
  }

  /// Marks a pending node as modified, and stores the deadline: the entry stays where it is.
  bool reset(node_type& node, instant deadline) {
    if (!node.pending()) {
      start(node, deadline);
      return false;
    }
    // Compared with the last deadline, not with the key: that would cost a look into the array. Who gets
    // below the key in several steps goes down in one of them, and from the last such it only went up.
    if (deadline < node.deadline()) min_when_modified_ = std::min(min_when_modified_, deadline);
    access::deadline(node) = deadline;
    node.modified_ = true;
    return true;
  }

  /// The earlier of the first key and the earliest deadline that a reset brought forward. What was
  /// stopped, or postponed, may stand in front, so it may be too early.
  [[nodiscard]] instant next_deadline() const noexcept {
    if (size() == 0) return instant::never();
    return std::min(heap_.front().when, min_when_modified_);
  }

  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    while (settle_head(now)) {
      if (turn.fired == limit) {
        turn.more = true;
        break;
      }
      node_type& node = *heap_.front().node;
      take_out(0);
      ++turn.fired;
      sink(node);
    }
    return turn;
  }

  [[nodiscard]] node_type* pop_any() noexcept {
    drop_zombie_tail();
    if (heap_.empty()) return nullptr;
    node_type* node = heap_.back().node;
    take_out(heap_.size() - 1);
    return node;
  }

  /// A reserve in two steps, for users who reserve in several queues, in all or in none: see detail/reserve.hpp.
  class room;
  [[nodiscard]] room room_for(std::size_t count) const;
  void take(room made) noexcept;
  void reserve(std::size_t count);

  [[nodiscard]] std::size_t size() const noexcept { return heap_.size() - zombies_; }

  [[nodiscard]] check_result check() const {
    std::size_t zombies = 0;
    for (std::size_t i = 0; i < heap_.size(); ++i) {
      const entry& each = heap_[i];
      const auto broken = [i](const char* what) {
        return std::unexpected("quad_heap_lazy: entry " + std::to_string(i) + " " + what);
      };
      if (i > 0 && each.when < heap_[parent(i)].when) return broken("comes before its parent");
      if (each.zombie()) {
        ++zombies;
        continue;
      }
      const node_type& node = *each.node;
      if (access::place(*each.node) != i) return broken("is not where its node says");
      if (!node.modified_ && node.deadline() != each.when) return broken("has another deadline than its node");
      if (node.deadline() < each.when && node.deadline() < min_when_modified_) {
        return broken("was reset to before min_when_modified");
      }
    }
    if (zombies != zombies_) return std::unexpected("quad_heap_lazy: the zombies are miscounted");
    if (too_many_zombies()) return std::unexpected("quad_heap_lazy: more than a quarter are zombies");
    return {};
  }

 private:
  using access = timer_node_access;

  struct entry {
    instant when;     // the key: the node's deadline, unless that was modified since
    node_type* node;  // null in a zombie
    [[nodiscard]] bool zombie() const noexcept { return node == nullptr; }
  };

  static constexpr std::size_t arity = 4;

  static constexpr std::size_t parent(std::size_t index) noexcept { return (index - 1) / arity; }

  void put(std::size_t index, entry moved) noexcept {
    heap_[index] = moved;
    if (!moved.zombie()) access::place(*moved.node) = index;
  }

  /// Puts `moved` at `index` or above. The hole moves instead of the entries being swapped.
  void sift_up(std::size_t index, entry moved) noexcept {
    while (index > 0 && moved.when < heap_[parent(index)].when) {
      put(index, heap_[parent(index)]);
      index = parent(index);
    }
    put(index, moved);
  }

  /// Puts `moved` at `index` or below.
  void sift_down(std::size_t index, entry moved) noexcept {
    for (;;) {
      const std::size_t first = index * arity + 1;
      if (first >= heap_.size()) break;
      const std::size_t end = std::min(first + arity, heap_.size());
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (heap_[child].when < heap_[least].when) least = child;
      }
      if (!(heap_[least].when < moved.when)) break;
      put(index, heap_[least]);
      index = least;
    }
    put(index, moved);
  }

  /// Removes the entry at `index`; its node, where it has one, is not pending any more.
  void remove(std::size_t index) noexcept {
    if (heap_[index].zombie()) {
      --zombies_;
    } else {
      access::place(*heap_[index].node) = access::nowhere;
    }
    const entry last = heap_.back();
    heap_.pop_back();
    if (index == heap_.size()) return;
    // The last entry fills the hole; it may belong above it as well as below.
    if (index > 0 && last.when < heap_[parent(index)].when) {
      sift_up(index, last);
    } else {
      sift_down(index, last);
    }
  }

  /// Removes an entry with a node: of what is left, zombies may now be too many.
  void take_out(std::size_t index) noexcept {
    remove(index);
    bound_zombies();
    detail::shrink(heap_, floor_);
  }

  /// Zombies at the tail cost nothing to drop. A timer that is started and soon stopped is mostly there.
  void drop_zombie_tail() noexcept {
    while (!heap_.empty() && heap_.back().zombie()) {
      heap_.pop_back();
      --zombies_;
    }
  }

  /// Makes the head a timer that stands at its own deadline: drops zombies from the tail, then removes
  /// or fixes the head while it is a zombie or modified.
  void clean_head() noexcept {
    for (;;) {
      drop_zombie_tail();
      if (heap_.empty()) {
        min_when_modified_ = instant::never();  // nothing is left that it could speak of
        return;
      }
      entry head = heap_.front();
      if (head.zombie()) {
        remove(0);
      } else if (head.node->modified_) {
        const bool up_to_date = head.when == head.node->deadline();
        head.when = head.node->deadline();
        head.node->modified_ = false;
        if (!up_to_date) sift_down(0, head);  // an earlier key stays the first
      } else {
        return;
      }
    }
  }

  /// Whether a timer is due; it is the head then, and none has an earlier deadline.
  bool settle_head(instant now) noexcept {
    clean_head();
    if (heap_.empty()) return false;
    if (min_when_modified_ <= now && min_when_modified_ < heap_.front().when) adjust();
    return is_due(heap_.front().when, now);
  }

  [[nodiscard]] bool too_many_zombies() const noexcept { return zombies_ > heap_.size() / 4; }

  void bound_zombies() noexcept {
    if (!too_many_zombies()) [[likely]]
      return;
    adjust();
    detail::shrink(heap_, floor_);
  }

  /// One pass over all: every key is made the true deadline, every zombie is dropped, and the heap is
  /// built anew, O(n).
  [[gnu::noinline]] void adjust() noexcept {
    auto kept = heap_.begin();
    for (const entry& each : heap_) {
      if (each.zombie()) continue;
      each.node->modified_ = false;
      *kept++ = {each.node->deadline(), each.node};
    }
    heap_.erase(kept, heap_.end());
    zombies_ = 0;
    min_when_modified_ = instant::never();
    init_heap();
  }

  void init_heap() noexcept {
    for (std::size_t i = heap_.size(); i-- > 0;) sift_down(i, heap_[i]);
  }

  std::vector<entry> heap_;
  std::size_t zombies_ = 0;
  instant min_when_modified_ = instant::never();  // no timer was reset to before this since the last adjust
  std::size_t floor_ = 0;                         // what reserve() asked for
};

class quad_heap_lazy::room {
  friend class quad_heap_lazy;
  std::vector<entry> heap_;
  std::size_t with_zombies_ = 0;
};

inline quad_heap_lazy::room quad_heap_lazy::room_for(std::size_t count) const {
  detail::refuse_impossible(count);
  room made;
  made.with_zombies_ = count + count / 3 + 1;
  made.heap_ = detail::larger_array(heap_, made.with_zombies_);
  return made;
}

inline void quad_heap_lazy::take(room made) noexcept {
  detail::move_to_larger_array(heap_, std::move(made.heap_));
  floor_ = std::max(floor_, made.with_zombies_);
}

inline void quad_heap_lazy::reserve(std::size_t count) { take(room_for(count)); }

static_assert(timer_queue<quad_heap_lazy>);

}  // namespace foliot::inline queue
