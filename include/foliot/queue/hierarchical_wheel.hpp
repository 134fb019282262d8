// Hierarchical timer wheels: levels of buckets, each level coarser than the one below. There are two geometries:
// Kafka's, which moves a timer down the levels until its tick is exact, and that of Linux since 4.8, which queues a
// timer once and fires it late, by at most an eighth of its timeout.
//
// Complexity: start, stop and reset O(levels); expire O(1) a timer, and in Kafka's wheel O(levels) moves of a timer in
// its life; next_deadline O(levels). hierarchical_wheel has at most 11 levels. The start that needs a level allocates
// it: some 300 bytes for Kafka's, 1 KiB for Linux's. Nothing else is allocated. Choose hierarchical_wheel for millions
// of timers at any distance, linux_wheel where most timers are stopped long before they fire and an eighth does not
// matter.
//
// Thread safety: none, one owner.
//
// Layout. A tick is 1 ms, and hierarchical_wheel has 20 buckets a level. basic_cascading_wheel gets both at compile
// time, chosen_hierarchical_wheel at run time (wheel_shape.hpp), with any number of buckets from 1, of 16 bytes and a
// bit each, and with so many levels that they reach every deadline; the search for the next bucket is then O(buckets /
// 64) a level. With a single bucket no level is coarser than the one below, so that all timers are in the heap. A
// bucket of level n has factor^n ticks. Its expiry is the tick at which the hand comes to it. The hand moves from
// occupied bucket to occupied bucket, which it finds by one bit map a level; it does not visit empty buckets. All
// timers of a bucket that it reaches are moved to `open_` together and processed from the front: a due timer fires, any
// other is requeued on a lower level. A heap, `outside_`, has the timers that belong to no bucket: those that the hand
// has already passed, those too far away for all levels, and all timers until the first expire or forward sets the
// hand.
//
//                     slots   factor   levels   a bucket's expiry     the distance of timers on level n
//   cascading           20      20       11     its first tick        under 20 buckets of the level
//   rounding_up         64       8        9     after its last tick   under 63 buckets of the level
//
// Invariants (check):
//   1. A bucket's bit is set if and only if the bucket has a timer.
//   2. A timer in a bucket belongs there by its tick, and the bucket's expiry is after the hand.
//   3. A timer in `open_` belongs to a bucket whose expiry is the hand, or was started at the hand's own tick.
//   4. A node's place is its bucket, also while that is open; or `outside_place` or `open_place`.
//
// Source: G. Varghese, T. Lauck, "Hashed and hierarchical timing wheels" (1987), scheme 7; Kafka's
// TimingWheel; Linux, kernel/time/timer.c since 4.8.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/detail/structure_access.hpp>
#include <foliot/queue/detail/ticks.hpp>
#include <foliot/queue/detail/wheel_levels.hpp>
#include <foliot/queue/detail/wheel_node.hpp>
#include <foliot/queue/timer_queue.hpp>
#include <foliot/queue/wheel_shape.hpp>

namespace foliot::inline queue {

/// A timer_queue to the precision of a tick, or of the level. `Geometry` is one of detail/wheel_levels.hpp.
template <class Geometry>
class basic_hierarchical_wheel : private Geometry {
  static constexpr bool shape_is_chosen = std::constructible_from<Geometry, wheel_shape>;

 public:
  using node_type = wheel_node;
  static constexpr std::string_view name = Geometry::name;
  /// The length of a tick; constant where the shape is fixed.
  using Geometry::precision;
  /// The number of buckets a level of Kafka's wheel for a shape that has 0.
  static constexpr std::size_t usual_slots = 20;
  static constexpr bool ties_in_start_order = false;  // a requeued timer comes behind timers that were started later
  static constexpr bool next_deadline_exact = false;

  /// lateness_of(timeout): how late a timer may fire whose deadline is `timeout` after the hand: see timer_queue.
  using Geometry::lateness_of;

  basic_hierarchical_wheel() noexcept
    requires(!shape_is_chosen)
  = default;
  /// Throws std::invalid_argument if the shape is out of range.
  explicit basic_hierarchical_wheel(wheel_shape shape = {})
    requires shape_is_chosen
      : Geometry(shape.checked(usual_slots)) {}
  basic_hierarchical_wheel(const basic_hierarchical_wheel&) = delete;
  basic_hierarchical_wheel& operator=(const basic_hierarchical_wheel&) = delete;
  ~basic_hierarchical_wheel() { FOLIOT_ASSERT(size_ == 0, "a queue must be empty when it is destroyed"); }

  /// Makes a node pending. Throws std::bad_alloc with nothing changed. Precondition: it is not pending.
  void start(node_type& node, instant deadline) {
    FOLIOT_ASSERT(!node.pending(), "a pending timer must be reset, not started");
    const std::size_t n = level_for(ticks.of(deadline));
    if (!make_level(n)) throw std::bad_alloc();
    insert(node, deadline, n);
  }

  /// Makes a node not pending; returns whether it was.
  bool stop(node_type& node) noexcept {
    if (!node.pending()) return false;
    take_out(node);
    return true;
  }

  /// Gives a node a new deadline, and starts it if it was not pending; returns whether it was. Throws as start does.
  bool reset(node_type& node, instant deadline) {
    const std::size_t n = level_for(ticks.of(deadline));
    if (!make_level(n)) throw std::bad_alloc();
    const bool was_pending = stop(node);
    insert(node, deadline, n);
    return was_pending;
  }

  /// The instant at which the hand comes to the next bucket: a lower bound in Kafka's wheel; in that of Linux the
  /// instant at which the next timer fires.
  [[nodiscard]] instant next_deadline() const noexcept {
    if (!open_.empty()) return ticks.instant_of(std::min(hand_, outside_tick()));
    return ticks.instant_of(std::min(next_expiry(), outside_tick()));
  }

  /// Tells the wheel the time before a start, so that it does not overestimate the timer's distance. Returns false,
  /// with nothing changed, while a timer is due.
  bool forward(instant now) noexcept {
    const detail::tick reached = ticks.reached(now);
    if (!knows_the_time_) learn_the_time(reached);
    if (hand_ >= reached) return true;
    if (!open_.empty() || std::min(next_expiry(), outside_tick()) <= reached) return false;
    hand_ = reached;
    return true;
  }

  /// Fires the timers that are due at `now`, at most `limit`: see timer_queue.
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    const detail::tick reached = ticks.reached(now);
    if (!knows_the_time_) learn_the_time(reached);
    while (node_type* const due = next_due(reached)) {
      if (turn.fired == limit) {
        turn.more = true;
        break;
      }
      take_out(*due);
      ++turn.fired;
      sink(*due);
    }
    return turn;
  }

  /// Makes any pending node not pending and returns it; null if there is none.
  [[nodiscard]] node_type* pop_any() noexcept {
    node_type* found = outside_.top();
    if (found == nullptr && !open_.empty()) found = &open_.front();
    for (std::size_t n = 0; found == nullptr && n < made_; ++n) {
      level& its = *levels_[n];
      if (!its.empty()) found = &its[its.first()].front();
    }
    if (found != nullptr) take_out(*found);
    return found;
  }

  /// Allocates all levels, so that no start allocates, whatever the number of timers. Throws std::bad_alloc with
  /// nothing changed, also for more timers than an address space can have.
  void reserve(std::size_t count) { take(room_for(count)); }

  /// Reserves in two steps, for users who reserve in several queues, in all or in none: see detail/reserve.hpp.
  class room {
    friend class basic_hierarchical_wheel;
    std::array<std::unique_ptr<typename Geometry::level>, Geometry::most_levels>
        levels_;  // those that do not exist yet
  };
  /// The first step of reserve(): allocates the memory. Throws std::bad_alloc.
  [[nodiscard]] room room_for(std::size_t count) const {
    detail::refuse_impossible(count);
    room made;
    for (std::size_t n = made_; n < levels; ++n) {
      made.levels_[n] = level::make(slots);
      if (made.levels_[n] == nullptr) throw std::bad_alloc();
    }
    return made;
  }
  /// The second step of reserve(): gives the queue the memory.
  void take(room made) noexcept {
    for (; made_ < levels; ++made_) levels_[made_] = std::move(made.levels_[made_]);
  }

  /// How many timers are pending.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Checks all invariants. O(n).
  [[nodiscard]] check_result check() const {
    std::size_t found = 0;
    for (std::size_t n = 0; n < made_; ++n) {
      for (std::size_t i = 0; i < slots; ++i) {
        const detail::ring& bucket = (*levels_[n])[i];
        const auto broken = [&](const char* what) {
          return std::unexpected(std::string(name) + ": bucket " + std::to_string(i) + " of level " +
                                 std::to_string(n) + " " + what);
        };
        if (!bucket.sound()) return broken("is not linked both ways");
        if (bucket.empty() == levels_[n]->occupied(i)) return broken("has a wrong bit");
        const bool right = bucket.for_each([&](node_type& node) {
          ++found;
          const std::uint64_t number = bucket_of(due_tick(node), width_of[n]);
          const std::uint64_t away = number - hand_ / width_of[n];
          return number % slots == i && away >= 1 && away <= slots && expiry_of(number, n) > hand_ &&
                 access::place(node) == place_of(n, i);
        });
        if (!right) return broken("has a timer that belongs elsewhere");
      }
    }
    const bool opened = open_.sound() && open_.for_each([&](node_type& node) {
      ++found;
      if (access::place(node) == open_place) return due_tick(node) == hand_;
      const std::size_t n = level_in(access::place(node));
      return n < made_ && expiry_of(bucket_of(due_tick(node), width_of[n]), n) == hand_;
    });
    if (!opened) return std::unexpected(std::string(name) + ": the open bucket has a timer that belongs elsewhere");
    const bool outside = outside_.sound() && outside_.for_each([&](node_type& node) {
      ++found;
      return access::place(node) == outside_place;
    });
    if (!outside) return std::unexpected(std::string(name) + ": a timer in the heap has another place");
    if (found != size_) return std::unexpected(std::string(name) + ": the count of timers is wrong");
    return {};
  }

 private:
  friend struct detail::structure_access;
  using access = timer_node_access;
  using tick = detail::tick;

  using level = typename Geometry::level;
  using Geometry::bucket_of;
  using Geometry::fits;
  using Geometry::levels;
  using Geometry::slots;
  using Geometry::ticks;
  using Geometry::width_of;  // how many ticks a bucket of each level has

  // The places of nodes that are in no bucket.
  static constexpr std::size_t outside_place = access::nowhere - 1;
  static constexpr std::size_t open_place = access::nowhere - 2;
  [[nodiscard]] std::size_t place_of(std::size_t n, std::size_t slot) const noexcept { return n * slots + slot; }
  [[nodiscard]] std::size_t level_in(std::size_t place) const noexcept { return place / slots; }
  [[nodiscard]] std::size_t slot_in(std::size_t place) const noexcept { return place % slots; }

  [[nodiscard]] tick due_tick(const node_type& node) const noexcept { return ticks.of(node.deadline()); }

  /// The level for a timer of tick `due`; `levels` if it belongs to no level.
  [[nodiscard]] std::size_t level_for(tick due) const noexcept {
    if (!knows_the_time_ || due <= hand_) return levels;
    if constexpr (Geometry::never_may_fit) {
      if (due == detail::never_tick) return levels;
    }
    std::size_t n = 0;
    while (n < levels && !fits(due, hand_, width_of[n])) ++n;
    return n;
  }

  /// The tick at which the hand comes to this bucket. A rounded expiry that lies after the last tick counts as the last
  /// tick.
  [[nodiscard]] tick expiry_of(std::uint64_t number, std::size_t n) const noexcept {
    return std::min(number * width_of[n], ticks.last());
  }

  /// Makes level `n` and all levels below it, unless they exist. Returns false if there is no memory.
  [[nodiscard]] bool make_level(std::size_t n) noexcept {
    while (made_ <= n && n < levels) {
      levels_[made_] = level::make(slots);
      if (levels_[made_] == nullptr) return false;
      ++made_;
    }
    return true;
  }

  void insert(node_type& node, instant deadline, std::size_t n) noexcept {
    access::deadline(node) = deadline;
    enqueue(node, n);
    ++size_;
  }

  /// Puts the node into its bucket on level `n`, or into the heap if that level does not exist. A node of the hand's
  /// own tick is appended to the open ones: in the heap it would fire before other due timers, again and again if its
  /// callback restarts it.
  void enqueue(node_type& node, std::size_t n) noexcept {
    if (knows_the_time_ && due_tick(node) == hand_) {
      open_.push_back(node);
      access::place(node) = open_place;
      return;
    }
    if (n >= made_) {
      outside_.push(node);
      access::place(node) = outside_place;
      return;
    }
    const auto slot = static_cast<std::size_t>(bucket_of(due_tick(node), width_of[n]) % slots);
    (*levels_[n])[slot].push_back(node);
    levels_[n]->occupy(slot);
    access::place(node) = place_of(n, slot);
  }

  void unlink(node_type& node) noexcept {
    const std::size_t place = access::place(node);
    if (place == outside_place) return outside_.erase(node);
    detail::ring::unlink(node);
    if (place == open_place) return;
    level& its = *levels_[level_in(place)];
    if (its[slot_in(place)].empty()) its.vacate(slot_in(place));
  }

  void take_out(node_type& node) noexcept {
    unlink(node);
    access::place(node) = access::nowhere;
    --size_;
  }

  /// Sets the hand at the first expire or forward, and moves the timers that were started before into their buckets. If
  /// there is no memory for a level, its timers stay in the heap, which is slower but correct.
  void learn_the_time(tick reached) noexcept {
    knows_the_time_ = true;
    hand_ = reached;
    outside_.drain([this](node_type& node) {
      const std::size_t n = level_for(due_tick(node));
      static_cast<void>(make_level(n));
      enqueue(node, n);
    });
  }

  [[nodiscard]] tick outside_tick() const noexcept {
    return outside_.top() == nullptr ? detail::never_tick : due_tick(*outside_.top());
  }

  /// The timer that fires next; null if none is due at tick `reached`. Moves the hand.
  node_type* next_due(tick reached) noexcept {
    for (;;) {
      node_type* due = cascade_to_due();
      if (outside_tick() <= hand_) due = outside_.top();
      if (due != nullptr) return hand_ <= reached || due_tick(*due) <= reached ? due : nullptr;
      const tick next = std::min(next_expiry(), outside_tick());
      if (next > reached) {
        hand_ = std::max(hand_, reached);
        return nullptr;
      }
      open_buckets(next);
      hand_ = next;
    }
  }

  /// The first open timer that is due; null if there is none. Requeues the open timers before it on lower levels.
  node_type* cascade_to_due() noexcept {
    while (!open_.empty()) {
      node_type& first = open_.front();
      if (due_tick(first) <= hand_) return &first;
      detail::ring::unlink(first);
      enqueue(first, level_for(due_tick(first)));
    }
    return nullptr;
  }

  /// Moves the timers of all buckets that expire at `next` to the open ones. The caller then moves the hand to `next`.
  void open_buckets(tick next) noexcept {
    for (std::size_t n = 0; n < made_; ++n) {
      level& its = *levels_[n];
      if (first_expiry(n) != next) continue;
      const auto slot = static_cast<std::size_t>(first_bucket(n) % slots);
      open_.take_all(its[slot]);
      its.vacate(slot);
    }
  }

  /// The number of the first occupied bucket of a level. Precondition: the level has one.
  [[nodiscard]] std::uint64_t first_bucket(std::size_t n) const noexcept {
    const std::uint64_t after_hand = hand_ / width_of[n] + 1;  // occupied buckets are at most a turn ahead
    return after_hand + levels_[n]->first_from(after_hand % slots);
  }

  [[nodiscard]] tick first_expiry(std::size_t n) const noexcept {
    return levels_[n]->empty() ? detail::never_tick : expiry_of(first_bucket(n), n);
  }

  [[nodiscard]] tick next_expiry() const noexcept {
    tick result = detail::never_tick;
    for (std::size_t n = 0; n < made_; ++n) result = std::min(result, first_expiry(n));
    return result;
  }

  std::array<std::unique_ptr<level>, Geometry::most_levels> levels_;
  std::size_t made_ = 0;  // how many of the levels exist
  detail::ring open_;     // the timers of the buckets that the hand has reached, until they are processed
  detail::pairing_heap outside_;
  tick hand_ = 0;                // means nothing before knows_the_time_
  bool knows_the_time_ = false;  // true from the first expire or forward on
  std::size_t size_ = 0;
};

/// Kafka's wheel; `Shape` is a fixed_wheel, or chosen_wheel (wheel_shape.hpp).
template <class Shape>
using basic_cascading_wheel = basic_hierarchical_wheel<detail::cascading<Shape>>;

/// Kafka's default: ticks of 1 ms, 20 buckets a level.
using hierarchical_wheel = basic_cascading_wheel<fixed_wheel<1'000'000, 20>>;
/// Kafka's wheel with a constructor that takes the shape; by default that of hierarchical_wheel.
using chosen_hierarchical_wheel = basic_cascading_wheel<chosen_wheel>;
/// The wheel of Linux.
using linux_wheel = basic_hierarchical_wheel<detail::rounding_up>;

static_assert(timer_queue<hierarchical_wheel>);
static_assert(timer_queue<chosen_hierarchical_wheel>);
static_assert(timer_queue<linux_wheel>);

}  // namespace foliot::inline queue
