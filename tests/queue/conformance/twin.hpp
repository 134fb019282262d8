// A queue and the reference queue, side by side: every operation is done to both, every answer
// compared, and the contract of timer_queue checked on the way. The first breach ends the run; its
// sentence is the result.
//
// An exact queue must fire the very timer that the reference fires next. A queue that counts in ticks
// (`precision`) may fire in any order inside one precision, late by at most that, never early. Where the
// lateness grows with the timeout, the queue says so in `lateness_of(timeout)`; a timeout counts from
// when the queue last knew the time: an expire that left nothing due, or a forward that says so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <foliot/queue/reference_queue.hpp>
#include <foliot/queue/timer_queue.hpp>

#include "script.hpp"

namespace foliot::conformance {

/// By how much `Queue` may be late with a timer that is `timeout` away.
template <timer_queue Queue>
constexpr duration lateness(duration timeout) {
  if constexpr (requires { Queue::lateness_of(timeout); }) {
    return Queue::lateness_of(timeout);
  } else {
    return Queue::precision;
  }
}

/// What is looked at between the steps of a script; at its end, all is.
enum class rigour : std::uint8_t {
  answers,  ///< nothing
  state,    ///< what can be asked of the queue
  all,      ///< and its invariants
};

template <timer_queue Queue>
class twin {
 public:
  explicit twin(std::size_t timers, instant origin = {}) : timers_(timers), now_(origin), known_(origin) {}
  ~twin() {
    while (queue_.pop_any() != nullptr) {
    }
    while (reference_.pop_any() != nullptr) {
    }
  }
  twin(const twin&) = delete;
  twin& operator=(const twin&) = delete;

  /// Does all of `s`; returns what went wrong first, or nothing.
  std::optional<std::string> run(const script& s, rigour between = rigour::all) {
    for (const reaction& each : s.reactions) timers_.at(each.timer).reactions.push_back(each.does);
    for (const step& each : s.steps) {
      perform(each);
      if (between == rigour::all) check();
      if (between == rigour::state) compare();
      if (failure_) return failure_;
    }
    check();
    return failure_;
  }

  void perform(const step& s) {
    if (failure_) return;
    switch (s.what) {
      case step::kind::reset: return reset(s.timer, now_ + s.offset);
      case step::kind::stop: return stop(s.timer);
      case step::kind::expire:
        if (expiring_) return;  // expire is not reentrant
        now_ = std::max(now_, std::min(now_ + s.offset, instant::latest()));
        return expire(s.limit);
      case step::kind::pop_any: return pop_any();
    }
  }

  [[nodiscard]] const std::optional<std::string>& failure() const noexcept { return failure_; }
  /// The timers that have fired, in order.
  [[nodiscard]] const std::vector<std::size_t>& fired() const noexcept { return fired_; }
  [[nodiscard]] Queue& queue() noexcept { return queue_; }
  [[nodiscard]] instant now() const noexcept { return now_; }

  /// The invariants of the queue, and all that can be asked of it between operations.
  void check() {
    if (failure_) return;
    if (const check_result sound = queue_.check(); !sound) return fail(sound.error());
    compare();
  }
  /// The same without the invariants, a walk over all of the queue.
  void compare() {
    if (failure_) return;
    if (queue_.size() != reference_.size()) {
      return fail("size is ", queue_.size(), ", should be ", reference_.size());
    }
    for (std::size_t i = 0; i < timers_.size(); ++i) {
      if (timers_[i].mine.pending() != timers_[i].model.pending()) {
        return fail("timer ", i, " is ",
                    timers_[i].mine.pending() ? "pending, should not be" : "not pending, should be");
      }
      if (timers_[i].mine.pending() && timers_[i].mine.deadline() != timers_[i].model.deadline()) {
        return fail("timer ", i, " shows the deadline ", timers_[i].mine.deadline().nanoseconds(), ", should be ",
                    timers_[i].model.deadline().nanoseconds());
      }
    }
    check_next_deadline();
  }

 private:
  struct node : Queue::node_type {
    std::size_t index = 0;
  };
  struct model_node : reference_queue::node_type {
    std::size_t index = 0;
  };
  struct one_timer {
    node mine;
    model_node model;
    std::vector<step> reactions{};
    std::size_t firings = 0;
    duration lateness{};
  };
  /// Nodes do not move, so the timers stand still in one array.
  class timer_array {
   public:
    explicit timer_array(std::size_t count) : count_(count), all_(std::make_unique<one_timer[]>(count)) {
      for (std::size_t i = 0; i < count; ++i) all_[i].mine.index = all_[i].model.index = i;
    }
    one_timer& operator[](std::size_t i) { return all_[i % count_]; }
    one_timer& at(std::size_t i) { return all_[i % count_]; }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

   private:
    std::size_t count_;
    std::unique_ptr<one_timer[]> all_;
  };

  static constexpr bool exact = Queue::precision == duration::zero();
  static constexpr bool pausing = requires { requires Queue::turns_may_pause; };
  static constexpr std::size_t most_pauses = 1000;

  template <class... Parts>
  void fail(const Parts&... parts) {
    if (failure_) return;
    std::ostringstream sentence;
    sentence << Queue::name << " at " << now_.nanoseconds() << " ns: ";
    (sentence << ... << parts);
    failure_ = sentence.str();
  }

  void reset(std::size_t i, instant deadline) {
    one_timer& t = timers_[i];
    if constexpr (requires { queue_.forward(now_); }) {
      if (++forwards_ % 2 == 0 && queue_.forward(now_)) known_ = now_;
    }
    t.lateness = conformance::lateness<Queue>(deadline - known_);
    if (!t.model.pending()) {
      // A timer that is not pending may be started or reset: by turns.
      if (++idle_starts_ % 2 == 0) {
        queue_.start(t.mine, deadline);
      } else if (queue_.reset(t.mine, deadline)) {
        fail("reset of timer ", i, " says that it was pending");
      }
      reference_.start(t.model, deadline);
    } else if (!queue_.reset(t.mine, deadline)) {
      fail("reset of timer ", i, " says that it was not pending");
    } else {
      reference_.reset(t.model, deadline);
    }
  }

  void stop(std::size_t i) {
    const bool stopped = queue_.stop(timers_[i].mine);
    if (stopped != reference_.stop(timers_[i].model)) fail("stop of timer ", i, " says ", stopped ? "yes" : "no");
  }

  void pop_any() {
    auto* popped = static_cast<node*>(queue_.pop_any());
    if (popped == nullptr) {
      if (reference_.size() != 0) fail("pop_any finds nothing in a queue that is not empty");
      return;
    }
    if (popped->pending()) fail("pop_any gives a timer that still says it is pending");
    if (!reference_.stop(timers_[popped->index].model)) fail("pop_any gives timer ", popped->index, ", not pending");
  }

  void expire(budget limit) {
    const expiry turn = expire_with_pauses(limit);
    if (failure_) return;
    const bool due_for_long = is_due(latest_next(), now_);
    if (!turn.more && due_for_long) fail("expire says that nothing more is due, while something is");
    const bool may_pause = pausing && limit != unlimited;
    if (turn.more && turn.fired < limit) fail("expire stopped before its budget was spent");
    if (turn.more && !may_pause && !is_due(reference_.next_deadline(), now_)) {
      fail("expire says more is due, while nothing is");
    }
    if (!turn.more && queue_.next_deadline() <= now_) {
      fail("nothing is due, yet next_deadline is ", queue_.next_deadline().nanoseconds(),
           ", a reason to wake for nothing");
    }
    if (!turn.more) known_ = now_;
  }

  /// When the queue must have fired a timer: its deadline, and as late as it may be.
  [[nodiscard]] instant latest_next() {
    if (exact) return reference_.next_deadline();
    instant result = instant::never();
    for (std::size_t i = 0; i < timers_.size(); ++i) {
      const one_timer& t = timers_[i];
      if (t.model.pending()) result = std::min(result, t.model.deadline() + t.lateness);
    }
    return result;
  }

  /// One turn; with a queue whose turns may pause, as many as it takes to spend the budget.
  expiry expire_with_pauses(budget limit) {
    expiry all;
    for (std::size_t pauses = 0; !failure_; ++pauses) {
      expiring_ = true;
      std::size_t fired = 0;
      const budget left = limit == unlimited ? unlimited : limit - all.fired;
      const expiry turn = queue_.expire(now_, left, [&](typename Queue::node_type& due) {
        ++fired;
        fire(static_cast<node&>(due).index);
      });
      expiring_ = false;
      if (turn.fired != fired) fail("expire says it fired ", turn.fired, ", it fired ", fired);
      if (fired > left) fail("expire fired ", fired, " with a budget of ", left);
      all = {all.fired + fired, turn.more};
      if (!pausing || limit == unlimited || !turn.more || all.fired >= limit) break;
      if (pauses > most_pauses) fail("expire pauses for ever");
      check();
    }
    return all;
  }

  void fire(std::size_t i) {
    one_timer& t = timers_[i];
    fired_.push_back(i);
    if (t.mine.pending()) return fail("timer ", i, " is handed out while it says it is pending");
    if (!t.model.pending()) return fail("timer ", i, " fires and was not pending");
    if (!is_due(t.model.deadline(), now_)) {
      return fail("timer ", i, " fires early, its deadline is ", t.model.deadline().nanoseconds());
    }
    if constexpr (exact && Queue::ties_in_start_order) {
      reference_.expire(now_, 1, [&](reference_queue::node_type& expected) {
        const std::size_t index = static_cast<model_node&>(expected).index;
        if (index != i) fail("timer ", i, " fires out of order, before timer ", index);
      });
    } else {
      if (t.model.deadline() > latest_next()) {
        fail("timer ", i, " fires out of order, before one with an earlier deadline");
      }
      reference_.stop(t.model);
    }
    if (!failure_ && t.firings < t.reactions.size()) perform(t.reactions[t.firings++]);
  }

  void check_next_deadline() {
    const instant shown = queue_.next_deadline();
    const instant earliest = reference_.next_deadline();
    if (shown > latest_next()) {
      return fail("next_deadline is ", shown.nanoseconds(), ", later than the true one, ", earliest.nanoseconds());
    }
    if (reference_.size() == 0 && !shown.is_never()) return fail("next_deadline is not never, with nothing pending");
    if (Queue::next_deadline_exact && shown != earliest) {
      return fail("next_deadline is ", shown.nanoseconds(), ", should be exactly ", earliest.nanoseconds());
    }
  }

  timer_array timers_;
  Queue queue_;
  reference_queue reference_;
  instant now_;
  instant known_;  // the last time that the queue knows for sure
  std::size_t forwards_ = 0;
  bool expiring_ = false;
  std::size_t idle_starts_ = 0;
  std::vector<std::size_t> fired_;
  std::optional<std::string> failure_;
};

}  // namespace foliot::conformance
