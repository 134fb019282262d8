// Clients that wait for jobs, and the claims that serve them: see broker_core.hpp.
//
// Each batch claims for the clients of the tubes that may have a ready job, in the order of their arrival. Consecutive
// clients with the same tubes share a claim. A claim that brings fewer jobs than asked, and that is not cut short
// because of their bodies, shows that none of its tubes has a job left; their clients then wait for news of the store.
// A client that begins to wait counts as news of its tubes, because a job may have become due since the latest batch.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/run.hpp>

#include "broker_core.hpp"

namespace foliot::jobs::detail {

void broker_core::begin_waiting(client_state& client) {
  const lock held(lock_);
  if (failed_) throw store_failure(failure_);
  check_open();
  if (client.now != client_state::phase::idle) {
    throw std::logic_error("foliot: the client waits for a job already: await one reserve() of a client at a time");
  }
  if (client.watched.empty()) {
    throw std::logic_error("foliot: the client watches no tube: call watch() before reserve()");
  }
  if (waiting_count_ >= limits_.waiting) {
    throw broker_full("foliot: " + std::to_string(waiting_count_) +
                      " clients wait for a job, which is the broker's limit: try again later");
  }
  client.now = client_state::phase::waiting;
  client.arrival = ++arrivals_;
  client.event.clear();
  client.untried = true;
  client.is_refused = false;
  untried_.push_back(client);
  ++untried_count_;
  waiting_.push_back(client);
  ++waiting_count_;
  for (const auto& each : client.watched) tubes_.begin_waiting(*each);
  lead_if_free();
}

broker_core::outlook broker_core::look(client_state& client) {
  const lock held(lock_);
  outlook seen;
  seen.is_served = client.now == client_state::phase::served;
  if (seen.is_served) return seen;
  if (failed_) throw store_failure(failure_);
  check_open();
  client.event.clear();
  // A client cannot be tried before the store is tried again.
  seen.has_to_wait = !client.untried || holds_back(runtime::now());
  seen.is_unknown =
      client.is_refused || (is_unavailable_ && std::ranges::any_of(client.tubes, &tube_record::may_have_ready));
  if (!client.deadlines.empty()) seen.deadline = client.deadlines.begin()->first;
  return seen;
}

std::optional<claimed_job> broker_core::end_waiting(client_state& client) {
  const lock held(lock_);
  if (client.now == client_state::phase::waiting) unlink(client);
  client.now = client_state::phase::idle;
  return std::exchange(client.job, std::nullopt);
}

void broker_core::throw_unavailable() const {
  const lock held(lock_);
  throw store_unavailable(store_unavailable::kind::not_executed, why_unavailable_);
}

void broker_core::cancel_waiting(client_state& client) noexcept {
  const lock held(lock_);
  if (client.now == client_state::phase::waiting) unlink(client);
  client.now = client_state::phase::idle;
  if (client.job) held_.give_back(client.job->token);
  client.job.reset();
  wake_runner_for_work();
}

void broker_core::note_news(tube_record& tube) noexcept {
  tubes_.note_news(tube);
  if (!tube.waiters.empty()) has_news_ = true;
}

/// Takes a waiting client out of all lists, and out of the present batch.
void broker_core::unlink(client_state& waiting) noexcept {
  for (const auto& each : waiting.watched) tubes_.end_waiting(*each);
  if (tubes_.has_untold()) runner_event_.set();  // perhaps nobody here will take those jobs
  waiting_.erase(waiting);
  --waiting_count_;
  if (std::exchange(waiting.untried, false)) {
    untried_.erase(waiting);
    --untried_count_;
  }
  if (waiting.recipient != client_state::no_claim) recipients_[waiting.recipient] = nullptr;
  waiting.recipient = client_state::no_claim;
}

void broker_core::gather_claims() {
  std::size_t named = 0;
  while (recipients_.size() < most_clients && named < most_claimed_tubes) {
    tube_record* const tube = tubes_.next_to_serve();
    if (tube == nullptr) break;
    served_tubes_.push_back(tube);
    ++tube->pins;
    std::size_t seen = 0;
    const std::size_t most = tubes_.has_tube_to_serve() ? most_clients_of_tube : most_clients - recipients_.size();
    for (watching* each = tube->waiters.front(); each != nullptr && seen < most && named < most_claimed_tubes;
         each = tube->waiters.next(*each), ++seen) {
      if (each->client.recipient != client_state::no_claim) continue;  // by another tube
      recipients_.push_back(&each->client);
      named += each->client.tubes.size();
      each->client.recipient = recipients_.size() - 1;
    }
  }
  std::ranges::sort(recipients_, {}, [](const client_state* each) { return each->arrival; });
  std::size_t first = 0;
  for (std::size_t i = 0; i < recipients_.size(); ++i) {
    recipients_[i]->recipient = i;
    if (i + 1 < recipients_.size() && recipients_[i + 1]->tubes == recipients_[first]->tubes) continue;
    add_grant(first, i + 1 - first);
    first = i + 1;
  }
}

void broker_core::add_grant(std::size_t first, std::size_t count) {
  grant made;
  made.first_recipient = first;
  made.recipients = count;
  made.first_tube = grant_tubes_.size();
  claim what;
  what.count = static_cast<std::uint32_t>(count);
  what.bytes = most_claimed_bytes;
  for (tube_record* const tube : recipients_[first]->tubes) {
    what.tubes.push_back(tube->name);
    grant_tubes_.push_back(tube);
    ++tube->pins;
  }
  made.tubes = grant_tubes_.size() - made.first_tube;
  grants_.push_back(made);
  batch_.emplace_back(std::move(what));
}

/// Hands the jobs of a claim to the clients that still wait, the first to the first; gives back the rest.
void broker_core::serve(const grant& by, claim_answer& brought) {
  if (brought.jobs.size() < by.recipients && brought.what != claim_answer::kind::cut_short) {
    for (std::size_t i = 0; i < by.tubes; ++i) {
      tube_record& empty = *grant_tubes_[by.first_tube + i];
      empty.may_have_ready = false;
      tubes_.note_told(empty);
    }
  }
  std::size_t next = by.first_recipient;
  const std::size_t end = next + by.recipients;
  for (std::size_t i = next; i < end; ++i) {
    if (recipients_[i] != nullptr) recipients_[i]->is_refused = false;
  }
  for (claimed_job& each : brought.jobs) {
    while (next != end && recipients_[next] == nullptr) ++next;
    if (next == end) {
      give_back(each);
      continue;
    }
    client_state& client = *recipients_[next++];
    held_.add(each, &client);
    unlink(client);
    client.now = client_state::phase::served;
    client.job = std::move(each);
    client.event.set();
  }
}

/// A claim was refused, and not the batch: its clients wait, as if there were no job. The news of the database, when it
/// answers again, or a scan has them claim again.
void broker_core::note_refused(const grant& by, const answer& brought) {
  ++refused_operations_;
  if (const auto refused = refusal_in(brought)) note_why(*refused);
  for (std::size_t i = 0; i < by.tubes; ++i) grant_tubes_[by.first_tube + i]->may_have_ready = false;
  for (std::size_t i = 0; i < by.recipients; ++i) {
    if (client_state* const each = recipients_[by.first_recipient + i]) each->is_refused = true;
  }
}

/// After the claims of a batch: tells the clients that have to wait, and lists the tubes that are to be served again.
void broker_core::end_claims() noexcept {
  for (client_state* const each : recipients_) {
    if (each != nullptr) each->recipient = client_state::no_claim;
  }
  recipients_.clear();
  grants_.clear();
  for (client_state* each = untried_.front(); each != nullptr;) {
    client_state& client = *each;
    each = untried_.next(client);
    const auto may_have_ready = [](const tube_record* tube) { return tube->may_have_ready; };
    if (std::ranges::any_of(client.tubes, may_have_ready)) continue;
    untried_.erase(client);
    --untried_count_;
    client.untried = false;
    client.event.set();
  }
  for (auto* const tubes : {&served_tubes_, &grant_tubes_}) {
    for (tube_record* const tube : *tubes) {
      --tube->pins;
      tubes_.serve_if_needed(*tube);
      forget_if_unused(*tube);
    }
    tubes->clear();
  }
}

}  // namespace foliot::jobs::detail
