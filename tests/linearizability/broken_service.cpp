// The shipped service, compiled again with parts that break on demand: canaries for the checker and for the code that
// records the histories.
//
// The shipped headers are included under other names, and the broken classes have their names. Only for an executable
// that has no other service.
#include <cstdint>
#include <utility>

#include "broken_service.hpp"

#define timer_word shipped_timer_word
#include <foliot/queue/detail/timer_word.hpp>
#undef timer_word
#define quad_heap shipped_quad_heap
#include <foliot/queue/quad_heap.hpp>
#undef quad_heap

namespace foliot::linearizability {
flaw present = flaw::none;
}  // namespace foliot::linearizability

namespace foliot::detail {

/// The word by which `foliot` postpones and stops timers.
class timer_word : public shipped_timer_word {
  using flaw = linearizability::flaw;
  static bool has(flaw one) { return linearizability::present == one; }

 public:
  [[nodiscard]] state take() noexcept {
    if (has(flaw::words_stay_as_they_are)) return load();
    if (has(flaw::takes_are_not_atomic)) {
      const state was = load();
      disarm();  // and loses a postponement that came after the load
      return was;
    }
    const state was = shipped_timer_word::take();
    const bool forgets =
        (has(flaw::takes_forget_postponements) && was.armed()) || (has(flaw::takes_forget_stops) && was.stopped());
    return forgets ? shipped_timer_word().take() : was;
  }
  [[nodiscard]] bool postpone(instant deadline) noexcept {
    if (!has(flaw::postponing_is_not_atomic)) return shipped_timer_word::postpone(deadline);
    if (const state is = load(); !is.armed() || is.deadline() > deadline) return false;
    arm(deadline);  // also if the word has changed between the two
    return true;
  }
  [[nodiscard]] bool stop() noexcept {
    const bool stopped = shipped_timer_word::stop();
    return stopped || has(flaw::stops_say_that_they_did);
  }
  template <class QueuedAt>
  [[nodiscard]] started start(instant deadline, QueuedAt queued_at) noexcept {
    return shipped_timer_word::start(deadline,
                                     [&] { return has(flaw::starts_forget_where_it_lies) ? instant{} : queued_at(); });
  }
};

}  // namespace foliot::detail

namespace foliot::inline queue {

/// The queue of `global-heap`.
class quad_heap : public shipped_quad_heap {
  using flaw = linearizability::flaw;
  static bool has(flaw one) { return linearizability::present == one; }

 public:
  bool stop(node_type& node) noexcept {
    if (has(flaw::stops_leave_it_in)) return node.pending();
    if (has(flaw::stops_find_it_idle)) return shipped_quad_heap::stop(node), false;
    return shipped_quad_heap::stop(node);
  }
  bool reset(node_type& node, instant deadline) {
    if (has(flaw::resets_keep_the_earlier_deadline) && node.pending()) return true;
    return shipped_quad_heap::reset(node, deadline);
  }
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    return shipped_quad_heap::expire(now, limit, [&](node_type& node) {
      if (has(flaw::fires_one_twice) && !std::exchange(fired_one_twice_, true)) start(node, node.deadline());
      sink(node);
    });
  }

 private:
  bool fired_one_twice_ = false;
};

}  // namespace foliot::inline queue

#include "lineage/bucket_heaps.cpp"
#include "lineage/epoll_heap.cpp"
#include "lineage/goim.cpp"
#include "lineage/heaps.cpp"
#include "service/foliot_engine.cpp"
