// Requests, and the batches in which leaders execute them: see broker_core.hpp.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/runtime/run.hpp>

#include "broker_core.hpp"
#include "operation_parts.hpp"

namespace foliot::jobs::detail {

namespace {

std::size_t body_size(const operation& it) {
  const put* const what = std::get_if<put>(&it);
  return what == nullptr ? 0 : what->body.size();
}

/// Whether the answer may have the body of a job, which is not bounded as those of claims are.
bool brings_body(const operation& it) {
  const peek* const what = std::get_if<peek>(&it);
  return (what != nullptr && what->with_body) || std::holds_alternative<peek_first>(it) ||
         std::holds_alternative<claim_job>(it);
}

/// Whether the operation changes nothing.
bool only_looks(const operation& it) {
  return std::holds_alternative<peek>(it) || std::holds_alternative<peek_first>(it) ||
         std::holds_alternative<count_tube>(it) || std::holds_alternative<count_all>(it) ||
         std::holds_alternative<list_tubes>(it);
}

/// The tube in which a put makes a job ready at once, or null.
const std::string* tube_with_news(const operation& it) {
  const put* const what = std::get_if<put>(&it);
  if (what == nullptr) return nullptr;
  const milliseconds* const delay = std::get_if<milliseconds>(&what->due);
  return delay != nullptr && *delay == milliseconds(0) ? &what->tube : nullptr;
}

}  // namespace

broker_request::broker_request(broker_core& core, client_state* by, operation what)
    : core_(core),
      client_(by),
      operation_(std::move(what)),
      token_(token_of(operation_)),
      touches_(std::holds_alternative<touch>(operation_)),
      only_looks_(only_looks(operation_)) {
  core_.submit(*this);
}
broker_request::broker_request(broker_core& core, answer known) noexcept
    : core_(core), client_(nullptr), answer_(std::move(known)), state_(state::done) {}
broker_request::~broker_request() { core_.withdraw(*this); }

bool broker_request::await_ready() { return core_.settle(*this); }
void broker_request::begin_wait() noexcept { core_.begin_wait(*this); }
answer broker_request::take() { return core_.take(*this); }

void broker_core::submit(broker_request& one) {
  if (const std::optional<std::string> wrong = validate(one.operation_, limits_.job)) {
    throw std::invalid_argument("foliot: " + *wrong);
  }
  const lock held(lock_);
  if (failed_) {
    one.refusal_ = broker_request::refusal::store_failed;
    one.state_ = broker_request::state::done;
    return;
  }
  if (one.token_.id == 0) check_open();  // reservations may end while the broker is being closed
  if (queued_ >= limits_.operations) {
    throw broker_full("foliot: the broker has " + std::to_string(queued_) +
                      " operations in its queue, which is its limit: try again later");
  }
  const std::size_t bytes = body_size(one.operation_);
  if (bytes != 0 && queued_bytes_ != 0 && bytes + queued_bytes_ > limits_.queued_bytes) {
    throw broker_full("foliot: the operations in the broker's queue have bodies of " + std::to_string(queued_bytes_) +
                      " bytes, and their limit is " + std::to_string(limits_.queued_bytes) + ": try again later");
  }
  is_used_ = true;
  queue_.push_back(one);
  ++queued_;
  queued_bytes_ += bytes;
}

bool broker_core::settle(broker_request& one) {
  const lock held(lock_);
  if (one.state_ == broker_request::state::queued) lead_if_free();
  return one.state_ == broker_request::state::done;
}

void broker_core::begin_wait(broker_request& one) noexcept {
  const lock held(lock_);
  one.done_.begin(one.wait_, 0);
}

answer broker_core::take(broker_request& one) {
  const lock held(lock_);  // the leader has left the request when this is locked
  FOLIOT_ASSERT(one.state_ == broker_request::state::done, "a request is done when its task goes on");
  switch (one.refusal_) {
    case broker_request::refusal::none: break;
    case broker_request::refusal::store_failed: throw store_failure(failure_);
    case broker_request::refusal::not_executed:
      throw store_unavailable(store_unavailable::kind::not_executed, why_unavailable_);
    case broker_request::refusal::in_doubt:
      throw store_unavailable(store_unavailable::kind::in_doubt, why_unavailable_);
  }
  one.is_taken_ = true;
  return std::move(one.answer_);
}

void broker_core::withdraw(broker_request& one) noexcept {
  const lock held(lock_);
  if (one.wait_.begun()) one.done_.end(one.wait_);
  switch (one.state_) {
    case broker_request::state::queued:
      queue_.erase(one);
      --queued_;
      queued_bytes_ -= body_size(one.operation_);
      break;
    case broker_request::state::in_batch: entries_[one.index_].request = nullptr; break;
    case broker_request::state::done:
      if (const auto* const claimed = std::get_if<claim_answer>(&one.answer_); claimed != nullptr && !one.is_taken_) {
        for (const claimed_job& each : claimed->jobs) {
          if (one.client_ != nullptr) {
            held_.give_back(each.token);
          } else {
            give_back(each);
          }
        }
        wake_runner_for_work();
      }
      break;
  }
}

void broker_core::lead_if_free() noexcept {
  if (led_) return;
  if (others_ != nullptr || (runs_ && runner_leads_alone_)) {
    runner_event_.set();
  } else {
    lead();
  }
}

void broker_core::lead() noexcept {
  led_ = true;
  do {
    execute_batch();
  } while (!runs_ && has_work());
  led_ = false;
  // A stopped run() leaves the rest to the next leader.
  const bool is_earlier = armed_ && (next_.due < armed_->due || next_.expiry < armed_->expiry);
  if (has_work() || is_earlier || runner_wants_lead_ || closing_ || failed_) runner_event_.set();
}

void broker_core::execute_batch() noexcept {
  if (!form_batch()) return;
  lock_.unlock();
  outcome brought = call_store();
  lock_.lock();
  conclude_batch(brought);
}

/// Returns false if the broker has failed.
bool broker_core::form_batch() noexcept {
  try {
    gather_requests();
    gather_checks_of_pauses();
    gather_claims();
    return true;
  } catch (const std::bad_alloc&) {
    fail(lacks_memory);
  } catch (const std::exception& failure) {
    fail(failure.what());
  } catch (...) {
    fail("the broker could not form a batch");
  }
  return false;
}

broker_core::outcome broker_core::call_store() noexcept {
  outcome brought;
  try {
    brought.done = store_.execute(std::span(batch_));
    brought.next = store_.next();
  } catch (...) {
    brought.failure = std::current_exception();
  }
  return brought;
}

void broker_core::conclude_batch(outcome& brought) noexcept {
  ++batches_;
  operations_ += batch_.size();
  try {
    if (brought.failure != nullptr) std::rethrow_exception(brought.failure);
    is_unavailable_ = false;
    next_ = brought.next;
    hand_out(brought.done);
  } catch (const store_unavailable& refused) {
    if (others_ == nullptr) {
      fail(refused.what());
    } else {
      refuse_batch(refused.what_is_known(), refused.what(), runtime::now());
    }
  } catch (const std::bad_alloc&) {
    fail(lacks_memory);
  } catch (const std::exception& failure) {
    fail(failure.what());
  } catch (...) {
    fail("the store threw an exception of an unknown type");
  }
}

void broker_core::gather_requests() {
  batch_.clear();
  entries_.clear();
  given_back_.clear();
  while (batch_.size() < most_given_back && held_.has_to_give_back()) {
    const reservation token = held_.take_to_give_back();
    batch_.emplace_back(abandon{token});
    given_back_.push_back(token);
  }
  gather_ends_of_pauses();
  first_entry_ = batch_.size();
  std::size_t bytes = 0;
  std::uint64_t asked_bytes = 0;  // at most
  while (broker_request* const one = queue_.front()) {
    if (entries_.size() == most_requests || bytes >= most_bytes || asked_bytes >= most_claimed_bytes) break;
    bytes += body_size(one->operation_);
    if (brings_body(one->operation_)) asked_bytes += limits_.job.max_body;
    if (const std::string* const name = tube_with_news(one->operation_)) {
      if (tube_record* const tube = tubes_.find(*name)) tubes_.note_news(*tube);
    }
    note_pause(one->operation_);
    entries_.push_back(entry{one, one->token_, one->touches_});
    queue_.erase(*one);
    --queued_;
    one->state_ = broker_request::state::in_batch;
    one->index_ = entries_.size() - 1;
    batch_.push_back(std::move(one->operation_));
  }
  queued_bytes_ -= bytes;
}

void broker_core::hand_out(execution& done) {
  FOLIOT_ASSERT(done.answers.size() == batch_.size(), "a store answers each operation of a batch");
  expired_ += done.expired.size();
  for (std::size_t i = 0; i < entries_.size(); ++i) conclude(entries_[i], done.answers[first_entry_ + i]);
  const std::size_t first_check = first_entry_ + entries_.size();
  const std::size_t first_claim = first_check + checked_.size();
  conclude_checks_of_pauses(std::span(done.answers).subspan(first_check, checked_.size()));
  if (others_ != nullptr) note_untold(done.ready_tubes);  // before the claims, which may show that nothing is left
  for (std::size_t i = 0; i < grants_.size(); ++i) {
    answer& brought = done.answers[first_claim + i];
    if (auto* const claimed = std::get_if<claim_answer>(&brought)) {
      serve(grants_[i], *claimed);
    } else {
      note_refused(grants_[i], brought);
    }
  }
  // After the claims: a store may execute a batch in several steps, and a reservation that one step has made may be
  // over in the next one.
  for (const reservation& ended : done.expired) held_.end(ended);
  entries_.clear();
  for (const std::string& name : done.ready_tubes) {
    if (tube_record* const tube = tubes_.find(name)) {
      note_news(*tube);
    } else {
      want_check_of_pause(name);
    }
  }
  for (std::string& name : done.emptied_tubes) end_pause_of_empty(name);
  end_claims();
}

/// Applies the answer to the reservations, and hands it to the task that asked for it.
void broker_core::conclude(const entry& of, answer& brought) {
  if (const auto* const ended = std::get_if<holder_answer>(&brought)) {
    const bool is_done = ended->what == holder_answer::kind::done;
    if (is_done && of.touches) {
      held_.extend(of.token, ended->expires);
    } else if (is_done || ended->what == holder_answer::kind::not_held) {
      held_.end(of.token);
    }
  } else if (const auto* const claimed = std::get_if<claim_answer>(&brought)) {
    for (const claimed_job& each : claimed->jobs) {
      if (of.request == nullptr) {
        give_back(each);
      } else if (of.request->client_ != nullptr) {
        held_.add(each, of.request->client_);
      }
    }
  }
  if (of.request == nullptr) return;
  if (const auto refused = refusal_in(brought)) {
    ++refused_operations_;
    note_why(*refused);
    const bool is_in_doubt = refused->is_in_doubt() && !of.request->only_looks_;
    return refuse(*of.request, is_in_doubt ? broker_request::refusal::in_doubt : broker_request::refusal::not_executed);
  }
  of.request->answer_ = std::move(brought);
  of.request->state_ = broker_request::state::done;
  of.request->done_.set();
}

void broker_core::give_back(const claimed_job& unwanted) noexcept {
  try {
    held_.add(unwanted, nullptr);
  } catch (...) {  // no memory: its TTR ends the reservation
  }
}

void broker_core::note_why(const store_unavailable& refused) noexcept {
  try {
    why_unavailable_ = refused.what();
  } catch (...) {  // no memory for the text: the refusal counts
  }
}

void broker_core::refuse(broker_request& one, broker_request::refusal why) noexcept {
  one.refusal_ = why;
  one.state_ = broker_request::state::done;
  one.done_.set();
}

/// The store has failed: ends everything that waits for it.
void broker_core::fail(const char* text) noexcept {
  failed_ = true;
  try {
    failure_ = text;
  } catch (...) {  // the beginning of the text, for which the constructor has made room
    failure_.assign(text, std::min(std::strlen(text), failure_.capacity()));
  }
  for (const entry& each : entries_) {
    if (each.request == nullptr || each.request->state_ != broker_request::state::in_batch) continue;
    refuse(*each.request, broker_request::refusal::store_failed);
  }
  entries_.clear();
  while (broker_request* const one = queue_.pop_front()) refuse(*one, broker_request::refusal::store_failed);
  queued_ = 0;
  queued_bytes_ = 0;
  end_claims();
  for (client_state* each = waiting_.front(); each != nullptr; each = waiting_.next(*each)) each->event.set();
  failed_event_.set();
}

}  // namespace foliot::jobs::detail
