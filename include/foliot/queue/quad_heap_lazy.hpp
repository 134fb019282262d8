// A 4-ary min-heap in which stop and reset only mark the timer: the heap of Go since 1.23. Exact deadline order.
//
// Complexity: start amortised O(log4 n); stop and reset amortised O(1), and a reset accesses only the node;
// next_deadline O(1), a lower bound; expire amortised O(log4 n) a timer. The next start or expire does the work that
// stop and reset have postponed. A pass over the whole array, O(n), follows when a quarter of its entries are marked as
// stopped, or when the deadline of a timer that was reset to an earlier time comes. Memory: 16 bytes a timer in the
// array, and at most a third more for stopped timers. Choose it where most timers are postponed or stopped long before
// they fire; where the longest single call matters, quad_heap is better.
//
// Thread safety: none, one owner.
//
// Marks, as in Go:
//   heaped     The node has an entry, so it is pending: its place is the entry's index.
//   modified   The node's deadline may differ from the key of its entry.
//   zombie     The timer was stopped and its entry must be removed. The entry has no node, because the owner of a
//              stopped node may destroy it. (In Go the garbage collector keeps the timer.)
//
// Invariants (check):
//   1. No entry has an earlier key than its parent.
//   2. The node of an entry knows the entry's index; entries without a node are zombies, and `zombies_` counts them.
//   3. The key of an entry whose node is not modified is the node's deadline.
//   4. If a modified node's deadline is before its key, it is not before `min_when_modified_`.
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
#include <foliot/queue/detail/quad_sift.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/shrink.hpp>
#include <foliot/queue/detail/structure_access.hpp>
#include <foliot/queue/timer_queue.hpp>

namespace foliot::inline queue {

/// A node with the mark that it was reset.
class lazy_heap_node : public timer_node {
 private:
  friend class quad_heap_lazy;
  friend struct detail::structure_access;
  bool modified_ = false;
};

/// A timer_queue with exact deadline order and cheap stops and resets.
class quad_heap_lazy {
 public:
  using node_type = lazy_heap_node;
  static constexpr std::string_view name = "quad-heap-lazy";
  static constexpr duration precision = duration::zero();
  static constexpr bool ties_in_start_order = false;  // the order of equal keys is not that of the starts
  static constexpr bool next_deadline_exact = false;

  quad_heap_lazy() noexcept = default;
  quad_heap_lazy(const quad_heap_lazy&) = delete;
  quad_heap_lazy& operator=(const quad_heap_lazy&) = delete;
  ~quad_heap_lazy() { FOLIOT_ASSERT(size() == 0, "a queue must be empty when it is destroyed"); }

  /// Makes a node pending. Throws std::bad_alloc with nothing changed. Precondition: it is not pending.
  void start(node_type& node, instant deadline) {
    FOLIOT_ASSERT(!node.pending(), "a pending timer must be reset, not started");
    clean_head();
    heap_.push_back({deadline, &node});
    access::deadline(node) = deadline;
    node.modified_ = false;
    sift::up(heap_, heap_.size() - 1, entry{deadline, &node});
  }

  /// Makes the entry a zombie. The queue does not refer to the node any more.
  bool stop(node_type& node) noexcept {
    if (!node.pending()) return false;
    heap_[access::place(node)].node = nullptr;
    access::place(node) = access::nowhere;
    ++zombies_;
    bound_zombies();
    return true;
  }

  /// Marks a pending node as modified and stores the deadline; its entry stays where it is.
  bool reset(node_type& node, instant deadline) {
    if (!node.pending()) {
      start(node, deadline);
      return false;
    }
    // Compared with the last deadline instead of the key, which would cost an access to the array. That suffices: a
    // deadline that ends up below the key was lowered by one of the resets, and the last reset that lowered it entered
    // a bound that is not after it.
    if (deadline < node.deadline()) min_when_modified_ = std::min(min_when_modified_, deadline);
    access::deadline(node) = deadline;
    node.modified_ = true;
    return true;
  }

  /// The earlier of the first key and the earliest deadline that a reset has lowered. May be too early: the first entry
  /// may be a zombie, or its timer postponed.
  [[nodiscard]] instant next_deadline() const noexcept {
    if (size() == 0) return instant::never();
    return std::min(heap_.front().when, min_when_modified_);
  }

  /// Fires the timers that are due at `now`, at most `limit`: see timer_queue.
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

  /// Makes any pending node not pending and returns it; null if there is none.
  [[nodiscard]] node_type* pop_any() noexcept {
    drop_zombie_tail();
    if (heap_.empty()) return nullptr;
    node_type* node = heap_.back().node;
    take_out(heap_.size() - 1);
    return node;
  }

  /// Reserves in two steps, for users who reserve in several queues, in all or in none: see detail/reserve.hpp.
  class room;
  /// The first step of reserve(): allocates the memory. Throws std::bad_alloc.
  [[nodiscard]] room room_for(std::size_t count) const;
  /// The second step of reserve(): gives the queue the memory.
  void take(room made) noexcept;
  /// Reserves memory for `count` pending timers. Throws std::bad_alloc with nothing changed.
  void reserve(std::size_t count);

  /// How many timers are pending.
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size() - zombies_; }

  /// Checks all invariants. O(n).
  [[nodiscard]] check_result check() const {
    std::size_t zombies = 0;
    for (std::size_t i = 0; i < heap_.size(); ++i) {
      const entry& each = heap_[i];
      const auto broken = [i](const char* what) {
        return std::unexpected("quad_heap_lazy: entry " + std::to_string(i) + " " + what);
      };
      if (!sift::is_ordered(heap_, i)) return broken("comes before its parent");
      if (each.zombie()) {
        ++zombies;
        continue;
      }
      const node_type& node = *each.node;
      if (access::place(*each.node) != i) return broken("is not at the index that its node knows");
      if (!node.modified_ && node.deadline() != each.when) return broken("has another deadline than its node");
      if (node.deadline() < each.when && node.deadline() < min_when_modified_) {
        return broken("was reset to before min_when_modified");
      }
    }
    if (zombies != zombies_) return std::unexpected("quad_heap_lazy: the count of zombies is wrong");
    if (too_many_zombies()) return std::unexpected("quad_heap_lazy: more than a quarter of the entries are zombies");
    return {};
  }

 private:
  friend struct detail::structure_access;
  using access = timer_node_access;

  struct entry {
    instant when;     // the key: the node's deadline when the entry was last placed
    node_type* node;  // null in a zombie
    [[nodiscard]] bool zombie() const noexcept { return node == nullptr; }
  };
  struct order {
    static bool comes_before(const entry& a, const entry& b) noexcept { return a.when < b.when; }
    static void moved(const entry& at, std::size_t index) noexcept {
      if (!at.zombie()) access::place(*at.node) = index;
    }
  };
  using sift = detail::quad_sift<order>;

  /// Removes the entry at `index`; its node, if it has one, is not pending afterwards.
  void remove(std::size_t index) noexcept {
    if (heap_[index].zombie()) {
      --zombies_;
    } else {
      access::place(*heap_[index].node) = access::nowhere;
    }
    sift::remove(heap_, index);
  }

  /// Removes an entry with a node, after which the zombies may be more than a quarter of the entries.
  void take_out(std::size_t index) noexcept {
    remove(index);
    bound_zombies();
    detail::shrink(heap_, floor_);
  }

  /// Removes zombies at the tail, which moves no entry. The entry of a timer that was started and soon stopped is
  /// mostly there.
  void drop_zombie_tail() noexcept {
    while (!heap_.empty() && heap_.back().zombie()) {
      heap_.pop_back();
      --zombies_;
    }
  }

  /// Makes the head an entry whose key is its timer's deadline: drops zombies from the tail, then removes or updates
  /// the head as long as it is a zombie or modified.
  void clean_head() noexcept {
    for (;;) {
      drop_zombie_tail();
      if (heap_.empty()) {
        min_when_modified_ = instant::never();  // no modified timer is left
        return;
      }
      entry head = heap_.front();
      if (head.zombie()) {
        remove(0);
      } else if (head.node->modified_) {
        const bool up_to_date = head.when == head.node->deadline();
        head.when = head.node->deadline();
        head.node->modified_ = false;
        if (!up_to_date) sift::down(heap_, 0, head);  // an earlier key stays first
      } else {
        return;
      }
    }
  }

  /// Makes the head the timer with the earliest deadline, if any timer is due. Returns whether one is.
  bool settle_head(instant now) noexcept {
    clean_head();
    if (heap_.empty()) return false;
    if (min_when_modified_ <= now && min_when_modified_ < heap_.front().when) adjust();
    return is_due(heap_.front().when, now);
  }

  [[nodiscard]] bool too_many_zombies() const noexcept { return zombies_ > heap_.size() / 4; }

  /// Restores invariant 5.
  void bound_zombies() noexcept {
    if (!too_many_zombies()) [[likely]]
      return;
    adjust();
    detail::shrink(heap_, floor_);
  }

  /// Removes all zombies, makes each key its timer's deadline, and builds the heap again. O(n).
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
    sift::build(heap_);
  }

  std::vector<entry> heap_;
  std::size_t zombies_ = 0;
  instant min_when_modified_ = instant::never();  // since the last adjust no reset has lowered a deadline below it
  std::size_t floor_ = 0;                         // the capacity that reserve() asked for
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
