#include "twin.hpp"

#include <algorithm>
#include <sstream>

namespace foliot::conformance {
namespace {

constexpr std::size_t most_pauses = 1000;

}  // namespace

twin::twin(const queue_kind& kind, std::size_t timers, instant origin)
    : kind_(kind), timers_(timers), queue_(kind.make(timers)), now_(origin), known_(origin) {
  for (std::size_t i = 0; i < timers; ++i) timers_[i].model.index = i;
}

twin::~twin() {
  while (reference_.pop_any() != nullptr) {
  }
}

std::optional<std::string> twin::run(const script& s, rigour between) {
  for (const reaction& each : s.reactions) timers_[each.timer % timers_.size()].reactions.push_back(each.does);
  for (const step& each : s.steps) {
    perform(each);
    if (between == rigour::all) check();
    if (between == rigour::state) compare();
    if (failure_) return failure_;
  }
  check();
  return failure_;
}

void twin::perform(const step& s) {
  if (failure_) return;
  const std::size_t timer = s.timer % timers_.size();
  switch (s.what) {
    case step::kind::reset: return reset(timer, now_ + s.offset);
    case step::kind::stop: return stop(timer);
    case step::kind::expire:
      if (expiring_) return;  // expire is not reentrant
      now_ = std::max(now_, std::min(now_ + s.offset, instant::latest()));
      return expire(s.limit);
    case step::kind::pop_any: return pop_any();
  }
}

void twin::check() {
  if (failure_) return;
  if (const check_result sound = queue_->check(); !sound) return fail(sound.error());
  compare();
}

void twin::compare() {
  if (failure_) return;
  if (queue_->size() != reference_.size()) {
    return fail("size is ", queue_->size(), ", should be ", reference_.size());
  }
  for (std::size_t i = 0; i < timers_.size(); ++i) {
    const model_node& model = timers_[i].model;
    const bool pending = queue_->pending(i);
    if (pending != model.pending()) {
      return fail("timer ", i, " is ", pending ? "pending, should not be" : "not pending, should be");
    }
    if (pending && queue_->deadline(i) != model.deadline()) {
      return fail("timer ", i, " shows the deadline ", queue_->deadline(i).nanoseconds(), ", should be ",
                  model.deadline().nanoseconds());
    }
  }
  check_next_deadline();
}

template <class... Parts>
void twin::fail(const Parts&... parts) {
  if (failure_) return;
  std::ostringstream sentence;
  sentence << kind_.name << " at " << now_.nanoseconds() << " ns: ";
  (sentence << ... << parts);
  failure_ = sentence.str();
}

void twin::reset(std::size_t i, instant deadline) {
  one_timer& t = timers_[i];
  if (++forwards_ % 2 == 0 && queue_->forward(now_)) known_ = now_;
  t.lateness = kind_.lateness(deadline - known_);
  if (!t.model.pending()) {
    // A timer that is not pending may be started or reset: by turns.
    if (++idle_starts_ % 2 == 0) {
      queue_->start(i, deadline);
    } else if (queue_->reset(i, deadline)) {
      fail("reset of timer ", i, " says that it was pending");
    }
    reference_.start(t.model, deadline);
  } else if (!queue_->reset(i, deadline)) {
    fail("reset of timer ", i, " says that it was not pending");
  } else {
    reference_.reset(t.model, deadline);
  }
}

void twin::stop(std::size_t i) {
  const bool stopped = queue_->stop(i);
  if (stopped != reference_.stop(timers_[i].model)) fail("stop of timer ", i, " says ", stopped ? "yes" : "no");
}

void twin::pop_any() {
  const std::optional<std::size_t> popped = queue_->pop_any();
  if (!popped) {
    if (reference_.size() != 0) fail("pop_any finds nothing in a queue that is not empty");
    return;
  }
  if (queue_->pending(*popped)) fail("pop_any gives a timer that still says it is pending");
  if (!reference_.stop(timers_[*popped].model)) fail("pop_any gives timer ", *popped, ", not pending");
}

void twin::expire(budget limit) {
  const expiry turn = expire_with_pauses(limit);
  if (failure_) return;
  const bool due_for_long = is_due(latest_next(), now_);
  if (!turn.more && due_for_long) fail("expire says that nothing more is due, while something is");
  const bool may_pause = kind_.turns_may_pause && limit != unlimited;
  if (turn.more && turn.fired < limit) fail("expire stopped before its budget was spent");
  if (turn.more && !may_pause && !is_due(reference_.next_deadline(), now_)) {
    fail("expire says more is due, while nothing is");
  }
  if (!turn.more && queue_->next_deadline() <= now_) {
    fail("nothing is due, yet next_deadline is ", queue_->next_deadline().nanoseconds(),
         ", a reason to wake for nothing");
  }
  if (!turn.more) known_ = now_;
}

/// The instant by which the queue must have fired a timer: the deadline, and as late as it may be.
instant twin::latest_next() const {
  if (exact()) return reference_.next_deadline();
  instant result = instant::never();
  for (const one_timer& t : timers_) {
    if (t.model.pending()) result = std::min(result, t.model.deadline() + t.lateness);
  }
  return result;
}

/// One turn; with a queue whose turns may pause, as many as it takes to spend the budget.
expiry twin::expire_with_pauses(budget limit) {
  expiry all;
  for (std::size_t pauses = 0; !failure_; ++pauses) {
    expiring_ = true;
    std::size_t fired = 0;
    const budget left = limit == unlimited ? unlimited : limit - all.fired;
    const expiry turn = queue_->expire(now_, left, [&](std::size_t i) {
      ++fired;
      fire(i);
    });
    expiring_ = false;
    if (turn.fired != fired) fail("expire says it fired ", turn.fired, ", it fired ", fired);
    if (fired > left) fail("expire fired ", fired, " with a budget of ", left);
    all = {all.fired + fired, turn.more};
    if (!kind_.turns_may_pause || limit == unlimited || !turn.more || all.fired >= limit) break;
    if (pauses > most_pauses) fail("expire pauses for ever");
    check();
  }
  return all;
}

void twin::fire(std::size_t i) {
  one_timer& t = timers_[i];
  fired_.push_back(i);
  if (queue_->pending(i)) return fail("timer ", i, " is handed out while it says it is pending");
  if (!t.model.pending()) return fail("timer ", i, " fires and was not pending");
  if (!is_due(t.model.deadline(), now_)) {
    return fail("timer ", i, " fires early, its deadline is ", t.model.deadline().nanoseconds());
  }
  if (exact() && kind_.ties_in_start_order) {
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

void twin::check_next_deadline() {
  const instant shown = queue_->next_deadline();
  const instant earliest = reference_.next_deadline();
  if (shown > latest_next()) {
    return fail("next_deadline is ", shown.nanoseconds(), ", later than the true one, ", earliest.nanoseconds());
  }
  if (reference_.size() == 0 && !shown.is_never()) return fail("next_deadline is not never, with nothing pending");
  if (kind_.next_deadline_exact && shown != earliest) {
    return fail("next_deadline is ", shown.nanoseconds(), ", should be exactly ", earliest.nanoseconds());
  }
}

}  // namespace foliot::conformance
