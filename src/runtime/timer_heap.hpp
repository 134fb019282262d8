// The array of processor_heaps: a 4-ary heap of timers by the deadline that each stands at, which is kept beside the
// pointer so that a comparison reads the array alone.
//
// Thread safety: none, one owner. Invariant: no timer stands at an earlier deadline than its parent.
// Complexity: add O(log4 n), amortised; remove_first and refile_first O(log4 n); rebuild O(n).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/queue/detail/shrink.hpp>

namespace foliot::runtime::detail {

struct heap_timer;

class timer_heap {
 public:
  struct place {
    instant when;
    heap_timer* timer;
  };

  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return places_.capacity(); }
  /// Precondition: there is one.
  [[nodiscard]] const place& first() const noexcept { return places_.front(); }
  [[nodiscard]] const std::vector<place>& places() const noexcept { return places_; }

  /// So that as many more are added without a throw. Throws std::bad_alloc with nothing changed.
  void make_room(std::size_t more) {
    const std::size_t wanted = places_.size() + more;
    if (wanted > places_.capacity()) places_.reserve(std::max(wanted, 2 * places_.capacity()));
  }
  /// Precondition: there is room. (Go: doaddtimer, siftupTimer)
  void add(instant when, heap_timer& timer) noexcept {
    places_.push_back({when, &timer});
    sift_up(places_.size() - 1, {when, &timer});
  }
  /// (Go: dodeltimer0)
  void remove_first() noexcept {
    const place last = places_.back();
    places_.pop_back();
    if (!places_.empty()) sift_down(0, last);
    foliot::detail::shrink(places_, 0);
  }
  /// Gives the first one another deadline.
  void refile_first(instant when) noexcept { sift_down(0, {when, places_.front().timer}); }

  /// Goes over all: `keeps(place&)` says whether one stays, and may change its deadline.
  template <class Keeps>
  void rebuild(const Keeps& keeps) noexcept {
    bool changed = false;
    auto kept = places_.begin();
    for (place& each : places_) {
      const instant stood_at = each.when;
      if (!keeps(each)) {
        changed = true;
        continue;
      }
      changed = changed || each.when != stood_at;
      *kept++ = each;
    }
    places_.erase(kept, places_.end());
    if (!changed) return;
    for (std::size_t i = places_.size(); i-- > 0;) sift_down(i, places_[i]);
    foliot::detail::shrink(places_, 0);
  }

  void clear() noexcept { std::vector<place>().swap(places_); }

  /// Whether the invariant holds.
  [[nodiscard]] bool ordered() const noexcept {
    for (std::size_t i = 1; i < places_.size(); ++i) {
      if (places_[i].when < places_[parent(i)].when) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t arity = 4;

  static constexpr std::size_t parent(std::size_t index) noexcept { return (index - 1) / arity; }

  /// Puts `moved` at `index` or above. The hole moves instead of the places being swapped.
  void sift_up(std::size_t index, place moved) noexcept {
    while (index > 0 && moved.when < places_[parent(index)].when) {
      places_[index] = places_[parent(index)];
      index = parent(index);
    }
    places_[index] = moved;
  }

  /// Puts `moved` at `index` or below. (Go: siftdownTimer)
  void sift_down(std::size_t index, place moved) noexcept {
    for (;;) {
      const std::size_t first = index * arity + 1;
      if (first >= places_.size()) break;
      const std::size_t end = std::min(first + arity, places_.size());
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (places_[child].when < places_[least].when) least = child;
      }
      if (!(places_[least].when < moved.when)) break;
      places_[index] = places_[least];
      index = least;
    }
    places_[index] = moved;
  }

  std::vector<place> places_;
};

}  // namespace foliot::runtime::detail
