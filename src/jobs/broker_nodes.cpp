// A broker over a store that other nodes share: run(), what the nodes tell each other, and batches that the store has
// refused. See broker_core.hpp.
//
// Only what the batches of this node have made ready is told, never what others have told or what a scan has found: so
// news do not echo.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/other_nodes.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/net/watched_descriptor.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "broker_core.hpp"

namespace foliot::jobs::detail {

namespace {

using waits_for_event = runtime::detail::operation_awaiter<event_wait>;

/// A batch is a round trip to another machine and a sync there, and a turn of the tasks some µs. So run() waits for
/// some turns, and then for broker_limits::gathering, until most of those that the latest batch has answered have come
/// again. Not if so many are there that the database had better work while the tasks do.
constexpr int turns_before_batch = 3;
constexpr duration first_pause{std::chrono::microseconds(50)};  // between two looks; each one is twice as long
constexpr std::size_t enough = 256;
/// After a refused batch.
constexpr duration retry_after{std::chrono::milliseconds(250)};

}  // namespace

task<> broker_core::run_shared() {
  auto news_watch = runtime::watched_descriptor::watch(others_->descriptor());
  if (!news_watch) {
    const std::string text =
        "foliot: the descriptor of the store's news cannot be watched: " + news_watch.error().message();
    const lock held(lock_);
    fail(text.c_str());
    throw store_failure(text);
  }
  bool has_yielded = false;
  for (;;) {
    tell_others();
    hear_others();
    next_change until;
    const step what = next_step(has_yielded, until);
    if (what == step::end) co_return;
    if (what == step::execute) {
      outcome brought;
      const auto call = [this, &brought] { brought = call_store(); };
      const auto refuse = [&brought](const std::string& why) {
        brought.failure = std::make_exception_ptr(store_unavailable(
            store_unavailable::kind::not_executed, "foliot: no thread can be had that may block: " + why));
      };
      try {
        co_await runtime::blocking(call);
      } catch (const runtime::cancelled& stopped) {
        refuse(stopped.what());
      } catch (const std::exception& no_thread) {
        refuse(no_thread.what());
      }
      end_lead(brought);
    }
    has_yielded = what == step::let_others_run || what == step::execute;
    if (has_yielded) {
      co_await gather();
    } else if (what == step::hold_back) {
      const duration rest = until.expiry - runtime::now();
      co_await runtime::sleep(rest);
    } else {
      const bool has_due = until.due != utc_time::max();
      const bool has_expiry = until.expiry != instant::never();
      const duration until_expiry = until.expiry - runtime::now();
      co_await runtime::select(waits_for_event(lock_, runner_event_), news_watch->readable(),
                               runtime::when(has_due, runtime::at(until.due)),
                               runtime::when(has_expiry, runtime::after(until_expiry)));
    }
  }
}

task<> broker_core::gather() {
  for (int i = 0; i < turns_before_batch && !has_enough(); ++i) co_await runtime::yield();
  for (duration pause = first_pause; waits_for_more(); pause += pause) co_await runtime::sleep(pause);
}

bool broker_core::has_enough() const noexcept {
  const lock held(lock_);
  return queued_ + untried_count_ >= enough;
}

bool broker_core::waits_for_more() const noexcept {
  const lock held(lock_);
  if (!has_work() || has_news_ || is_due() || ended_at_ + limits_.gathering <= runtime::now()) return false;
  const std::size_t most_of_them = served_ - served_ / 10;
  return queued_ + untried_count_ < std::min(enough, most_of_them);
}

broker_core::step broker_core::next_step(bool has_yielded, next_change& until) {
  const lock held(lock_);
  if (failed_) throw store_failure(failure_);
  const instant now = runtime::now();
  // The store itself gives back what is left when it is unavailable.
  if (closing_ && clients_ == 0 && queue_.empty() && (holds_back(now) || !has_work())) return step::end;
  if (holds_back(now)) {
    until.expiry = retry_at_;
    return step::hold_back;
  }
  scan_if_due(now);
  // A broker that was never used has no client for a due job. If it made the job ready, it would have to tell the other
  // nodes, which would have made it ready themselves.
  if (!is_used_) next_.due = utc_time::max();
  if (has_work() || is_due()) {
    if (!has_yielded) {
      runner_event_.set();
      return step::let_others_run;
    }
    runner_event_.clear();
    if (!form_batch()) throw store_failure(failure_);
    served_ = entries_.size() + recipients_.size();
    has_news_ = false;
    led_ = true;
    return step::execute;
  }
  runner_event_.clear();
  until.due = next_.due;
  until.expiry = std::min(next_.expiry, scan_at_);
  return step::wait;
}

void broker_core::end_lead(outcome& brought) noexcept {
  const lock held(lock_);
  conclude_batch(brought);
  ended_at_ = runtime::now();
  led_ = false;
  if (has_work()) runner_event_.set();
}

void broker_core::scan_if_due(instant now) noexcept {
  if (waiting_.empty()) {
    scan_at_ = instant::never();
    return;
  }
  if (scan_at_ <= now) tubes_.note_news_where_clients_wait();
  if (scan_at_ <= now || scan_at_ == instant::never()) scan_at_ = now + others_->scan_every();
}

void broker_core::hear_others() {
  news heard;
  try {
    heard = others_->take_news();
  } catch (const std::bad_alloc&) {
    heard.any_tube = true;
  }
  const lock held(lock_);
  if (heard.any_tube) tubes_.note_news_where_clients_wait();
  has_news_ = has_news_ || heard.any_tube;
  for (const std::string& name : heard.tubes) {
    if (tube_record* const tube = tubes_.find(name)) note_news(*tube);
  }
}

void broker_core::note_untold(const std::vector<std::string>& ready) {
  for (const std::string& name : ready) {
    if (tube_record* const tube = tubes_.find(name)) {
      tubes_.note_untold(*tube);
    } else {
      to_tell_.push_back(name);
    }
  }
}

void broker_core::tell_others() noexcept {
  std::vector<std::string> names;
  try {
    const lock held(lock_);
    names.swap(to_tell_);
    tubes_.take_to_tell(names);
  } catch (...) {  // no memory: the rest is told later
  }
  if (!names.empty()) others_->tell(names);
}

void broker_core::refuse_batch(store_unavailable::kind known, const char* text, instant when) noexcept {
  ++refused_;
  is_unavailable_ = true;
  retry_at_ = when + retry_after;
  try {
    why_unavailable_ = text;
  } catch (...) {  // no memory for the text: the refusal counts
  }
  using refusal = broker_request::refusal;
  for (const entry& each : entries_) {
    if (each.request == nullptr) continue;
    const bool is_in_doubt = known == store_unavailable::kind::in_doubt && !each.request->only_looks_;
    refuse(*each.request, is_in_doubt ? refusal::in_doubt : refusal::not_executed);
  }
  entries_.clear();
  try {
    for (const reservation& each : given_back_) held_.give_back_later(each);
  } catch (...) {  // no memory: the TTR ends the rest
  }
  given_back_.clear();
  end_claims();
  // From now on their timeouts count.
  for (client_state* each = untried_.front(); each != nullptr; each = untried_.next(*each)) each->event.set();
}

void broker_core::drop_batch() noexcept {
  if (!std::exchange(led_, false)) return;
  refuse_batch(store_unavailable::kind::in_doubt, "foliot: run() ended while the store executed the batch",
               instant::earliest());
}

}  // namespace foliot::jobs::detail
