#include "core.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>
#include <variant>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/net/watched_descriptor.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "jobs/operation_parts.hpp"

namespace foliot::jobs::detail {

namespace {

using waits_for_event = runtime::detail::operation_awaiter<event_wait>;

// The most that one batch has, so that its tasks have their answers soon; and most_given_back.
constexpr std::size_t most_requests = 1024;
constexpr std::size_t most_bytes = std::size_t{1} << 20;  // that it brings to the store; the last may exceed it
// Of the jobs that the answers to other requests than claims may bring; the last one may exceed it.
constexpr std::uint64_t most_asked_bytes = most_claimed_bytes;

constexpr auto id_given_back = [](const given_back& each) noexcept { return each.token.id; };

/// A batch is a round trip to another machine and a sync there, and a turn of the tasks some µs. So run() waits for
/// some turns, and then for broker_limits::gathering, until most of those that the latest batch has answered have come
/// again. Not if so many are there that the database had better work while the tasks do.
constexpr int turns_before_batch = 3;
constexpr duration first_pause{std::chrono::microseconds(50)};  // between two looks; each one is twice as long
constexpr std::size_t enough = 256;

/// If a batch answers so many in the mean, run() leads alone. The mean moves by an eighth of the difference with each
/// batch. One batch counts for most_of_crowd at the most, so that a single burst makes no crowd.
constexpr std::int64_t crowd = 3;
constexpr std::int64_t most_of_crowd = 16;
constexpr std::int64_t unit_of_mean = 1024;
constexpr std::int64_t weight_of_mean = 8;  // the division rounds: a steady number stays up to so many units beside it

/// The most bytes of jobs in the answer that are not bounded as those of claims are.
std::uint64_t most_bytes_asked_by(const operation& it, const job_limits& limits) {
  const claim* const claims = std::get_if<claim>(&it);
  if (claims != nullptr && !claims->once.empty()) return most_replayed_bytes(*claims, limits);
  const peek* const what = std::get_if<peek>(&it);
  const bool brings_body = facts_of(it).brings_body && (what == nullptr || what->with_body);
  return brings_body ? most_bytes_of_job(limits) : 0;
}

/// Whether the put makes its job ready at once.
bool is_ready_at_once(const put& what) {
  const milliseconds* const delay = std::get_if<milliseconds>(&what.due);
  return delay != nullptr && *delay == milliseconds(0);
}

/// The reservations by which puts replace jobs (put::holder), with the places of these puts in their put_all.
std::vector<std::pair<std::size_t, reservation>> holders_of(const operation& it) {
  std::vector<std::pair<std::size_t, reservation>> found;
  const std::span<const put> puts = puts_of(it);
  for (std::size_t i = 0; i < puts.size(); ++i) {
    if (puts[i].holder) found.emplace_back(i, *puts[i].holder);
  }
  return found;
}

/// What has become of the put at this place; null if that is not known.
const put_answer* answer_of_put(const answer& brought, std::size_t place) noexcept {
  if (const auto* const one = std::get_if<put_answer>(&brought)) return one;
  const auto* const all = std::get_if<put_all_answer>(&brought);
  if (all == nullptr) return nullptr;
  if (all->what == put_all_answer::kind::refused) return place == all->place ? &all->why : nullptr;
  return place < all->puts.size() ? &all->puts[place] : nullptr;
}

/// Whether the store had no room for the operation.
bool has_had_no_space(const answer& brought) noexcept {
  if (const auto* const all = std::get_if<put_all_answer>(&brought)) {
    return all->what == put_all_answer::kind::refused && all->why.what == put_answer::kind::no_space;
  }
  return std::visit(
      [](const auto& each) {
        if constexpr (requires { std::remove_cvref_t<decltype(each)>::kind::no_space; }) {
          return each.what == std::remove_cvref_t<decltype(each)>::kind::no_space;
        } else {
          return false;
        }
      },
      brought);
}

}  // namespace

broker_core::broker_core(job_store& store, const broker_limits& limits, event_buffer& events)
    : store_(store),
      limits_(limits),
      delay_(store.others() == nullptr ? limits.commit_delay : duration::zero()),
      pauses_(tubes_),
      news_(store.others()),
      events_(events),
      next_(store.next()) {
  failure_.reserve(room_for_failure);
}

broker_core::~broker_core() {
  FOLIOT_ASSERT(clients_ == 0, "a broker must outlive its clients");
  FOLIOT_ASSERT(queue_.empty(), "a broker must outlive the operations that are in flight");
}

// Requests. The wait of a request is the task's (broker.hpp); everything else is done here, under the lock.

broker_request::broker_request(broker_core& core, client_state* by, operation what)
    : core_(core),
      client_(by),
      operation_(std::move(what)),
      token_(token_of(operation_)),
      touches_(std::holds_alternative<touch>(operation_)),
      only_looks_(facts_of(operation_).effect == operation_effect::looks) {
  core_.submit(*this);
}
broker_request::broker_request(broker_core& core, answer known) noexcept
    : core_(core), client_(nullptr), answer_(std::move(known)), state_(state::done) {}
broker_request::~broker_request() { core_.withdraw(*this); }

bool broker_request::await_ready() { return core_.settle(*this); }
void broker_request::begin_wait() noexcept { core_.begin_wait(*this); }
answer broker_request::take() { return core_.take(*this); }

void broker_core::submit(broker_request& one) {
  if (const std::optional<std::string> wrong = validate(one.operation_, limits_of(one.operation_))) {
    throw std::invalid_argument("foliot: " + *wrong);
  }
  const lock held(lock_);
  if (failed_) {
    one.refusal_ = broker_request::refusal::store_failed;
    one.state_ = broker_request::state::done;
    return;
  }
  if (one.token_.id == 0) check_open();  // reservations may end while the broker is being closed
  queue_.push(one, limits_);
  if (delay_.is_used()) delay_.note_request(runtime::now(), one.client_ != nullptr ? &one.client_->asked : nullptr);
  is_used_ = true;
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
    case broker_request::refusal::store_failed: throw store_failure(failure_, remedy_);
    case broker_request::refusal::not_executed:
      throw store_unavailable(store_unavailable::kind::not_executed, availability_.why());
    case broker_request::refusal::in_doubt:
      throw store_unavailable(store_unavailable::kind::in_doubt, availability_.why());
  }
  one.is_taken_ = true;
  return std::move(one.answer_);
}

void broker_core::withdraw(broker_request& one) noexcept {
  if (one.is_taken_) return;  // by this task, from a leader that had left the request: nobody knows of it any more
  const lock held(lock_);
  if (one.wait_.begun()) one.done_.end(one.wait_);
  switch (one.state_) {
    case broker_request::state::queued:
      queue_.erase(one);
      if (queue_.empty()) delay_.note_empty();
      break;
    case broker_request::state::in_batch: entries_[one.index_].request = nullptr; break;
    case broker_request::state::done:
      if (const auto* const claimed = std::get_if<claim_answer>(&one.answer_); claimed != nullptr && !one.is_taken_) {
        for (const claimed_job& each : claimed->jobs) {
          if (claimed->is_replayed) {
            held_.end(each.token);
          } else if (one.client_ != nullptr) {
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

// Leaders.

void broker_core::lead_if_free() noexcept {
  if (led_) return;
  const bool waits = runs_ && waits_for_others();
  if (waits && armed_ && armed_->expiry <= delay_.until()) return;  // run() wakes in time
  if (waits || news_.has_others() || (runs_ && (runner_leads_alone_ || is_crowded_))) {
    runner_event_.set();
  } else {
    lead();
  }
}

bool broker_core::waits_for_others() const noexcept {
  return delay_.is_used() && !queue_.empty() && queue_.size() < enough && queue_.bytes() < most_bytes &&
         !has_own_work() && !closing_ && runtime::now() < delay_.until();
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
  note_crowd(brought.done.answers);
  conclude_batch(brought);
  if (events_.wanted()) [[unlikely]]
    tell_events();
}

void broker_core::note_crowd(std::span<const answer> all) noexcept {
  if (!delay_.is_used()) return;
  std::size_t answered = entries_.size();
  for (const answer& each : all.last(std::min(claims_.grants().size(), all.size()))) {
    if (const auto* const claimed = std::get_if<claim_answer>(&each)) answered += claimed->jobs.size();
  }
  const std::int64_t counted = std::min(static_cast<std::int64_t>(answered), most_of_crowd);
  mean_answered_ += (counted * unit_of_mean - mean_answered_) / weight_of_mean;
  is_crowded_ = mean_answered_ > crowd * unit_of_mean - weight_of_mean;
}

void broker_core::note_events(const execution& done) noexcept {
  const std::span<const answer> all(done.answers);
  const std::size_t first_look = first_entry_ - events_.looks();
  const std::size_t first_check = first_entry_ + entries_.size();
  operations_ -= events_.looks();  // they are nobody's
  events_.conclude(all.subspan(first_look, first_check - first_look), all.subspan(first_check + pauses_.checks()),
                   done.ready_tubes);
}

void broker_core::tell_events() noexcept {
  lock_.unlock();
  events_.tell();
  lock_.lock();
}

void broker_core::wake_runner_for_work() noexcept {
  if (!led_ && has_work()) runner_event_.set();
}

// Batches: how one is formed, executed, and handed out.

/// Returns false if the broker has failed.
bool broker_core::form_batch() noexcept {
  try {
    batch_.clear();
    gather_reservations_to_give_back();
    pauses_.gather_ends(batch_);
    gather_requests();
    pauses_.gather_checks(batch_);
    claims_.gather(tubes_, limits_.job, batch_);
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

void broker_core::gather_reservations_to_give_back() {
  given_back_.clear();
  while (batch_.size() < most_given_back && held_.has_to_give_back()) {
    const given_back taken = held_.take_to_give_back();
    batch_.emplace_back(abandon{taken.token});
    given_back_.push_back(taken);
  }
  std::ranges::sort(given_back_, {}, id_given_back);
}

void broker_core::gather_requests() {
  entries_.clear();
  first_entry_ = batch_.size();
  const bool is_told = events_.begin();
  std::size_t operations = 0;  // each put of a put_all counts
  std::size_t bytes = 0;
  std::uint64_t asked_bytes = 0;  // at most
  while (broker_request* const one = queue_.front()) {
    if (operations >= most_requests || bytes >= most_bytes || asked_bytes >= most_asked_bytes) break;
    operations += std::max<std::size_t>(1, puts_of(one->operation_).size());
    bytes += brought_bytes(one->operation_);
    asked_bytes += most_bytes_asked_by(one->operation_, limits_.job);
    for (const put& each : puts_of(one->operation_)) {
      tube_record* const tube = is_ready_at_once(each) ? tubes_.find(each.tube) : nullptr;
      if (tube != nullptr) tubes_.note_news(*tube);
    }
    if (!news_.has_others()) pauses_.note(one->operation_);
    if (is_told) [[unlikely]]
      events_.note(one->operation_);
    entries_.push_back(
        entry{one, one->token_, one->touches_, holders_of(one->operation_), uncounted_puts_of(one->operation_)});
    queue_.erase(*one);
    one->state_ = broker_request::state::in_batch;
    one->index_ = entries_.size() - 1;
    batch_.push_back(std::move(one->operation_));
  }
  if (queue_.empty()) delay_.note_empty();
  if (!is_told) [[likely]]
    return;
  events_.add_looks(batch_, first_entry_);
  first_entry_ += events_.looks();
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
    availability_.note_executed(brought.done.has_room);
    next_ = brought.next;
    hand_out(brought.done);
  } catch (const store_unavailable& refused) {
    if (!news_.has_others()) {
      fail(refused.what());
    } else {
      refuse_batch(refused.what_is_known(), refused.what(), runtime::now());
    }
  } catch (const store_failure& failure) {
    fail(failure.what(), failure.remedy());
  } catch (const std::bad_alloc&) {
    fail(lacks_memory);
  } catch (const std::exception& failure) {
    fail(failure.what());
  } catch (...) {
    fail("the store threw an exception of an unknown type");
  }
}

std::vector<std::size_t> broker_core::uncounted_puts_of(const operation& it) const {
  std::vector<std::size_t> found;
  if (limits_.uncounted.empty()) return found;
  const std::span<const put> puts = puts_of(it);
  for (std::size_t i = 0; i < puts.size(); ++i) {
    if (!counts_tube(puts[i].tube)) found.push_back(i);
  }
  return found;
}

const job_limits& broker_core::limits_of(const operation& it) const noexcept {
  if (!limits_.uncounted_job) return limits_.job;
  const bool is_own = std::ranges::any_of(puts_of(it), [this](const put& each) { return !counts_tube(each.tube); });
  return is_own ? *limits_.uncounted_job : limits_.job;
}

bool broker_core::counts(const reservation& token) const noexcept {
  const holding* const found = held_.find(token.id);
  if (found != nullptr && found->token == token) return found->is_counted;
  const auto given = std::ranges::lower_bound(given_back_, token.id, {}, id_given_back);
  if (given != given_back_.end() && given->token == token) return given->is_counted;
  return parted_.is_counted(token);
}

void broker_core::count_puts(const entry& of, const answer& got) noexcept {
  const auto counts_at = [&of](std::size_t place) { return !std::ranges::binary_search(of.uncounted, place); };
  if (const auto* const one = std::get_if<put_answer>(&got)) {
    if (counts_at(0)) flow_.note(*one);
  } else if (const auto* const all = std::get_if<put_all_answer>(&got)) {
    if (all->what != put_all_answer::kind::done || all->is_replayed) return;
    for (std::size_t i = 0; i < all->puts.size(); ++i) {
      if (counts_at(i)) flow_.note(all->puts[i]);
    }
  }
}

void broker_core::count(const execution& done) noexcept {
  for (const reservation& each : done.expired) {
    if (counts(each)) flow_.note_expired();
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) count_puts(entries_[i], done.answers[first_entry_ + i]);
  std::optional<std::chrono::sys_time<std::chrono::nanoseconds>> wall;  // read once, if need be
  std::optional<instant> now;
  for (std::size_t i = 0; i < done.answers.size(); ++i) {
    const answer& each = done.answers[i];
    if (has_had_no_space(each)) availability_.note_no_space();
    if (const auto* const claimed = std::get_if<claim_answer>(&each)) {
      if (claimed->jobs.empty() || claimed->is_replayed) continue;
      if (!wall) wall = runtime::wall_now();
      for (const claimed_job& one : claimed->jobs) {
        if (counts_tube(one.job.tube)) flow_.note_reserved(one.job, *wall);
      }
    } else if (const auto* const ended = std::get_if<holder_answer>(&each)) {
      if (ended->what != holder_answer::kind::done) continue;
      const operation& asked = batch_[i];  // the store may have moved from it, but not its kind, nor a token
      if (!counts(token_of(asked))) continue;
      if (const auto* const finished = std::get_if<finish>(&asked)) {
        if (!now) now = runtime::now();
        flow_.note_finished(beginning_of(finished->token), *now);
      } else if (std::holds_alternative<release>(asked)) {
        flow_.note_released();
      } else if (std::holds_alternative<bury>(asked)) {
        flow_.note_buried();
      }
    }
  }
}

instant broker_core::beginning_of(const reservation& token) const noexcept {
  const holding* const found = held_.find(token.id);
  return found != nullptr && found->token == token ? found->began : parted_.began(token);
}

void broker_core::hand_out(execution& done) {
  FOLIOT_ASSERT(done.answers.size() == batch_.size(), "a store answers each operation of a batch");
  count(done);
  if (events_.wanted()) [[unlikely]]
    note_events(done);
  for (std::size_t i = 0; i < entries_.size(); ++i) conclude(entries_[i], done.answers[first_entry_ + i]);
  const std::size_t first_check = first_entry_ + entries_.size();
  const std::size_t first_claim = first_check + pauses_.checks();
  pauses_.conclude_checks(std::span(done.answers).subspan(first_check, pauses_.checks()));
  // Before the claims, which may show that nothing is left.
  if (news_.has_others()) news_.note_ready(done.ready_tubes, tubes_);
  for (std::size_t i = 0; const claims::grant& each : claims_.grants()) {
    answer& brought = done.answers[first_claim + i++];
    if (auto* const claimed = std::get_if<claim_answer>(&brought)) {
      serve(each, *claimed);
    } else {
      note_refused(each, brought);
    }
  }
  // After the claims: a store may execute a batch in several steps, and a reservation that one step has made may be
  // over in the next one.
  for (const reservation& ended : done.expired) note_end(ended);
  entries_.clear();
  for (const std::string& name : done.ready_tubes) {
    if (tube_record* const tube = tubes_.find(name)) {
      note_news(*tube);
    } else {
      pauses_.want_check(name);
    }
  }
  for (std::string& name : done.emptied_tubes) pauses_.note_emptied(name);
  end_claims();
}

/// Applies the answer to the reservations, and hands it to the task that asked for it.
void broker_core::conclude(const entry& of, answer& brought) {
  if (const auto* const ended = std::get_if<holder_answer>(&brought)) {
    const bool is_done = ended->what == holder_answer::kind::done;
    if (is_done && of.touches) {
      held_.extend(of.token, ended->expires);
      parted_.extend(of.token, ended->expires);
    } else if (is_done || ended->what == holder_answer::kind::not_held) {
      note_end(of.token);
    }
  } else if (const auto* const claimed = std::get_if<claim_answer>(&brought)) {
    for (const claimed_job& each : claimed->jobs) {
      if (of.request == nullptr) {
        if (!claimed->is_replayed) give_back(each);  // else an earlier client may have it
      } else if (of.request->client_ != nullptr) {
        held_.add(each, of.request->client_, counts_tube(each.job.tube));
      }
    }
  }
  for (const auto& [place, token] : of.holders) {
    const put_answer* const done = answer_of_put(brought, place);
    // That another reservation, or none, has the job shows that this one has ended. Of another job it shows nothing.
    if (done != nullptr && (done->what == put_answer::kind::replaced || done->id == token.id)) note_end(token);
  }
  if (of.request == nullptr) return;
  if (const auto refused = refusal_in(brought)) {
    availability_.note_refused(*refused);
    const bool is_in_doubt = refused->is_in_doubt() && !of.request->only_looks_;
    return refuse(*of.request, is_in_doubt ? broker_request::refusal::in_doubt : broker_request::refusal::not_executed);
  }
  of.request->answer_ = std::move(brought);
  of.request->state_ = broker_request::state::done;
  of.request->done_.set();
}

/// Hands the jobs of a claim to the clients that still wait, the first to the first; gives back the rest.
void broker_core::serve(const claims::grant& by, claim_answer& brought) {
  // Another answer, and a replay, say nothing of the jobs that are ready.
  const bool is_short = brought.what == claim_answer::kind::done && !brought.is_replayed;
  if (is_short && brought.jobs.size() < by.jobs) {
    for (tube_record* const empty : claims_.tubes(by)) {
      empty->may_have_ready = false;
      tubes_.note_told(*empty);
    }
  }
  const std::span<client_state* const> recipients = claims_.recipients(by);
  for (client_state* const each : recipients) {
    if (each != nullptr) each->is_refused = false;
  }
  if (by.is_own) return serve_own(recipients.front(), brought);
  auto next = recipients.begin();
  for (claimed_job& each : brought.jobs) {
    next = std::find_if(next, recipients.end(), [](const client_state* client) { return client != nullptr; });
    if (next == recipients.end()) {
      give_back(each);
      continue;
    }
    client_state& client = **next;
    held_.add(each, &client, counts_tube(each.job.tube));
    client.job = std::move(each);
    note_served(client);
  }
}

/// Hands the answer to the client whose claim it was, unless that has to wait; null: it does not wait any more.
void broker_core::serve_own(client_state* client, claim_answer& brought) {
  const bool is_refused =
      brought.what == claim_answer::kind::other_request || brought.what == claim_answer::kind::no_space;
  if (brought.jobs.empty() && !brought.is_replayed && !is_refused) return;
  for (const claimed_job& each : brought.jobs) {
    if (client != nullptr) {
      held_.add(each, client, counts_tube(each.job.tube));
    } else if (!brought.is_replayed) {
      give_back(each);
    }
  }
  if (client == nullptr) return;
  client->claimed = std::move(brought);
  note_served(*client);
}

void broker_core::note_served(client_state& client) noexcept {
  unlink(client);
  client.now = client_state::phase::served;
  client.event.set();
}

/// A claim was refused, and not the batch: its clients wait, as if there were no job. The news of the database, when it
/// answers again, or a scan has them claim again.
void broker_core::note_refused(const claims::grant& by, const answer& brought) {
  if (const auto refused = refusal_in(brought)) availability_.note_refused(*refused);
  for (tube_record* const each : claims_.tubes(by)) each->may_have_ready = false;
  for (client_state* const each : claims_.recipients(by)) {
    if (each != nullptr) each->is_refused = true;
  }
}

/// After the claims of a batch: tells the clients that have to wait, and lists the tubes that are to be served again.
void broker_core::end_claims() noexcept {
  claims_.drop_all();
  waiting_.note_tried();
  claims_.unpin([this](tube_record& tube) {
    lock_.assert_held();
    tubes_.serve_if_needed(tube);
    forget_if_unused(tube);
  });
}

void broker_core::give_back(const claimed_job& unwanted) noexcept {
  try {
    held_.add(unwanted, nullptr, counts_tube(unwanted.job.tube));
  } catch (...) {  // no memory: its TTR ends the reservation
  }
}

void broker_core::note_end(const reservation& token) noexcept {
  held_.end(token);
  parted_.end(token);
}

void broker_core::refuse(broker_request& one, broker_request::refusal why) noexcept {
  one.refusal_ = why;
  one.state_ = broker_request::state::done;
  one.done_.set();
}

void broker_core::refuse_batch(store_unavailable::kind known, const char* text, instant when) noexcept {
  availability_.note_refused(text, when);
  using refusal = broker_request::refusal;
  for (const entry& each : entries_) {
    if (each.request == nullptr) continue;
    const bool is_in_doubt = known == store_unavailable::kind::in_doubt && !each.request->only_looks_;
    refuse(*each.request, is_in_doubt ? refusal::in_doubt : refusal::not_executed);
  }
  entries_.clear();
  try {
    for (const given_back& each : given_back_) held_.give_back_later(each);
  } catch (...) {  // no memory: the TTR ends the rest
  }
  given_back_.clear();
  end_claims();
  // From now on their timeouts count.
  waiting_.wake_untried();
}

void broker_core::drop_batch() noexcept {
  if (!std::exchange(led_, false)) return;
  refuse_batch(store_unavailable::kind::in_doubt, "run() ended while the store executed the batch",
               instant::earliest());
}

/// The store has failed: ends everything that waits for it.
void broker_core::fail(const char* text, store_failure::remedies remedy) noexcept {
  failed_ = true;
  remedy_ = remedy;
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
  while (broker_request* const one = queue_.front()) {
    queue_.erase(*one);
    refuse(*one, broker_request::refusal::store_failed);
  }
  end_claims();
  waiting_.wake_all();
  failed_event_.set();
}

// Clients and their tubes.

void broker_core::check_open() const {
  if (closing_) throw broker_closed("the broker is being closed, and accepts nothing more");
}

void broker_core::enter() {
  const lock held(lock_);
  if (failed_) throw store_failure(failure_, remedy_);
  check_open();
  if (clients_ >= limits_.clients) {
    throw broker_full("the broker has " + std::to_string(clients_) +
                      " clients, which is its limit: try again when one has gone");
  }
  ++clients_;
  is_used_ = true;
}

void broker_core::leave(std::unique_ptr<client_state> of) noexcept {
  const lock held(lock_);
  client_state& client = *of;
  FOLIOT_ASSERT(client.now == client_state::phase::idle, "a client must not be destroyed while it waits for a job");
  while (!client.watched.empty()) unwatch(client, *client.watched.back());
  unuse(client);
  held_.give_back_all(std::move(of));
  --clients_;
  wake_runner_for_work();
  if (closing_) runner_event_.set();
}

/// The tube of this name, for a new user or watcher.
tube_record& broker_core::tube_for(std::string_view name) {
  if (name.empty() || name.size() > longest_tube_name || name.find('\0') != std::string_view::npos) {
    throw std::invalid_argument("foliot: a tube's name must have 1 to " + std::to_string(longest_tube_name) +
                                " bytes, none of them zero; got " + std::to_string(name.size()));
  }
  if (tube_record* const found = tubes_.find(name)) return *found;
  if (tubes_.size() >= limits_.tubes) {
    throw broker_full("clients use or watch " + std::to_string(tubes_.size()) +
                      " tubes, which is the broker's limit: use one of them");
  }
  return tubes_.get(name);
}

void broker_core::set_name(client_state& client, std::string_view name) {
  const lock held(lock_);
  client.name = name;
}

void broker_core::use(client_state& client, std::string_view tube) {
  const lock held(lock_);
  tube_record* const next = tube.empty() ? nullptr : &tube_for(tube);
  if (next != nullptr) ++next->users;
  unuse(client);
  client.used = next;
  wake_runner_for_work();
}

void broker_core::unuse(client_state& client) noexcept {
  tube_record* const before = std::exchange(client.used, nullptr);
  if (before == nullptr) return;
  --before->users;
  forget_if_unused(*before);
}

void broker_core::watch(client_state& client, std::string_view tube) {
  const lock held(lock_);
  if (client.now != client_state::phase::idle) {
    throw std::logic_error("foliot: the client waits for a job: watch another tube before or after the wait");
  }
  for (const auto& each : client.watched) {
    if (each->tube.name == tube) return;
  }
  client.watched.reserve(client.watched.size() + 1);
  client.tubes.reserve(client.tubes.size() + 1);
  tube_record& added = tube_for(tube);
  ++added.watchers;
  try {
    client.watched.push_back(std::make_unique<watching>(added, client));
  } catch (...) {
    --added.watchers;
    forget_if_unused(added);
    throw;
  }
  client.tubes.insert(std::ranges::upper_bound(client.tubes, &added), &added);
}

void broker_core::ignore(client_state& client, std::string_view tube) {
  const lock held(lock_);
  if (client.now != client_state::phase::idle) {
    throw std::logic_error("foliot: the client waits for a job: ignore a tube before or after the wait");
  }
  for (const auto& each : client.watched) {
    if (each->tube.name != tube) continue;
    unwatch(client, *each);
    break;
  }
  wake_runner_for_work();
}

void broker_core::unwatch(client_state& client, watching& one) noexcept {
  tube_record& tube = one.tube;
  client.tubes.erase(std::ranges::find(client.tubes, &tube));
  client.watched.erase(std::ranges::find(client.watched, &one, [](const auto& each) { return each.get(); }));
  --tube.watchers;
  forget_if_unused(tube);
}

std::optional<reservation> broker_core::held(const client_state& client, job_id id) const {
  const lock held(lock_);
  const holding* const found = held_.find(id, client);
  return found == nullptr ? std::nullopt : std::optional(found->token);
}

bool broker_core::part_with(const client_state& client, const reservation& token) noexcept {
  const lock held(lock_);
  const holding* const found = held_.find(token.id, client);
  if (found == nullptr || found->token != token) return false;
  parted_.add(*found, runtime::now());
  held_.end(token);
  return true;
}

std::size_t broker_core::reservations(const client_state& client) const noexcept {
  const lock held(lock_);
  return client.deadlines.size();
}

instant broker_core::next_deadline(const client_state& client) const noexcept {
  const lock held(lock_);
  return client.deadlines.empty() ? instant::never() : client.deadlines.begin()->first;
}

void broker_core::forget_if_unused(tube_record& tube) noexcept {
  if (tube.users + tube.watchers == 0) pauses_.want_check(tube.name);
  tubes_.forget_if_unused(tube);
}

// Clients that wait for a job.

void broker_core::begin_waiting(client_state& client, const claim* own, bool lasting) {
  if (const std::optional<std::string> wrong = own != nullptr ? validate(*own, limits_.job) : std::nullopt) {
    throw std::invalid_argument("foliot: " + *wrong);
  }
  const lock held(lock_);
  if (failed_) throw store_failure(failure_, remedy_);
  check_open();
  if (client.now != client_state::phase::idle) {
    throw std::logic_error("foliot: the client waits for a job already: await one reserve() of a client at a time");
  }
  if (client.watched.empty()) {
    throw std::logic_error("foliot: the client watches no tube: call watch() before reserve()");
  }
  if (waiting_.size() >= limits_.waiting) {
    throw broker_full(std::to_string(waiting_.size()) +
                      " clients wait for a job, which is the broker's limit: try again later");
  }
  client.own = own;
  client.lasting = lasting;
  waiting_.add(client, tubes_);
  lead_if_free();
}

broker_core::outlook broker_core::look(client_state& client) {
  const lock held(lock_);
  outlook seen;
  seen.is_served = client.now == client_state::phase::served;
  if (seen.is_served) return seen;
  if (failed_) throw store_failure(failure_, remedy_);
  check_open();
  client.event.clear();
  // A client cannot be tried before the store is tried again.
  seen.has_to_wait = !client.untried || availability_.holds_back(runtime::now());
  seen.is_unknown = client.is_refused ||
                    (availability_.is_unavailable() && std::ranges::any_of(client.tubes, &tube_record::may_have_ready));
  if (!client.deadlines.empty()) seen.deadline = client.deadlines.begin()->first;
  return seen;
}

std::optional<claimed_job> broker_core::end_waiting(client_state& client) {
  const lock held(lock_);
  if (client.now == client_state::phase::waiting) unlink(client);
  client.now = client_state::phase::idle;
  if (delay_.is_used()) client.asked = runtime::now();  // what it asks next does not wait for others
  return std::exchange(client.job, std::nullopt);
}

claim_answer broker_core::end_own_waiting(client_state& client) {
  const lock held(lock_);
  if (client.now == client_state::phase::waiting) unlink(client);
  client.now = client_state::phase::idle;
  if (delay_.is_used()) client.asked = runtime::now();
  return std::exchange(client.claimed, {});
}

void broker_core::throw_unavailable() const {
  const lock held(lock_);
  throw store_unavailable(store_unavailable::kind::not_executed, availability_.why());
}

void broker_core::cancel_waiting(client_state& client) noexcept {
  const lock held(lock_);
  if (client.now == client_state::phase::waiting) unlink(client);
  client.now = client_state::phase::idle;
  client.own = nullptr;
  if (client.job) held_.give_back(client.job->token);
  client.job.reset();
  for (const claimed_job& each : client.claimed.jobs) {
    if (client.claimed.is_replayed) {
      held_.end(each.token);  // an earlier client may have it
    } else {
      held_.give_back(each.token);
    }
  }
  client.claimed = {};
  wake_runner_for_work();
}

void broker_core::note_news(tube_record& tube) noexcept {
  tubes_.note_news(tube);
  if (!tube.waiters.empty()) has_news_ = true;
}

/// Takes a waiting client out of all lists, and out of the present batch.
void broker_core::unlink(client_state& waiting) noexcept {
  waiting_.erase(waiting, tubes_);
  claims_.drop(waiting);
  if (tubes_.has_untold()) runner_event_.set();  // perhaps nobody here will take those jobs
}

// run(), the task of the broker.

/// Marks that a task is in run().
class broker_core::runner {
 public:
  explicit runner(broker_core& of) : core_(of) {
    const lock held(core_.lock_);
    if (core_.runs_) throw std::logic_error("foliot: the broker runs already: spawn run() once");
    core_.runs_ = true;
  }
  ~runner() {
    const lock held(core_.lock_);
    if (core_.news_.has_others()) core_.drop_batch();
    core_.runs_ = false;
    core_.runner_wants_lead_ = false;
    core_.runner_leads_alone_ = false;
    core_.armed_.reset();
    if (core_.delay_.is_used() && !core_.led_ && core_.has_work()) core_.lead();  // nobody else ends their wait
  }
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;

 private:
  broker_core& core_;
};

task<> broker_core::run() {
  const runner here(*this);
  try {
    co_await run_until_end();
  } catch (const std::exception& why) {
    fail_with_run(why);
    throw;
  }
}

void broker_core::fail_with_run(const std::exception& why) noexcept {
  const lock held(lock_);
  if (failed_) return;
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&why) != nullptr;
  fail(is_memory ? lacks_memory : why.what());
}

task<> broker_core::run_until_end() {
  if (news_.has_others()) {
    co_await run_shared();
    co_return;
  }
  bool has_yielded = false;
  for (;;) {
    next_change next;
    const bool is_single = runtime::processors() == 1;
    const step what = run_once(is_single, has_yielded, next);
    if (what == step::end) co_return;
    has_yielded = what == step::let_others_run;
    if (has_yielded) {
      co_await runtime::yield();  // the tasks that have their answers go first, and queue more for the next batch
    } else if (what == step::wait_for_leader) {
      co_await waits_for_event(lock_, runner_event_);
    } else {
      const bool has_due = next.due != utc_time::max();
      const bool has_expiry = next.expiry != instant::never();
      const duration until_expiry = next.expiry - runtime::now();
      co_await runtime::select(waits_for_event(lock_, runner_event_), runtime::when(has_due, runtime::at(next.due)),
                               runtime::when(has_expiry, runtime::after(until_expiry)));
    }
  }
}

broker_core::step broker_core::run_once(bool is_single, bool has_yielded, next_change& next) {
  const lock held(lock_);
  armed_.reset();
  runner_wants_lead_ = false;
  runner_leads_alone_ = is_single;
  runner_event_.clear();
  if (failed_) throw store_failure(failure_, remedy_);
  const bool is_due_now = is_due();
  const bool waits = !led_ && !is_due_now && waits_for_others();
  if (!waits && (has_work() || is_due_now)) {
    if (led_) {
      runner_wants_lead_ = true;  // the leader sets the event when it ends its lead
      return step::wait_for_leader;
    }
    if ((is_single || is_crowded_) && !has_yielded) return step::let_others_run;
    lead();
    runner_event_.clear();
    return step::let_others_run;
  }
  if (closing_ && clients_ == 0 && !led_) return step::end;
  next = next_;
  if (waits) next.expiry = std::min(next.expiry, delay_.until());
  armed_ = next;
  return step::wait;
}

bool broker_core::is_due() const noexcept {
  const utc_time wall = std::chrono::floor<milliseconds>(runtime::wall_now());
  return next_.due <= wall || next_.expiry <= runtime::now();
}

// run() over a store that other nodes share.

task<> broker_core::run_shared() {
  auto news_watch = runtime::watched_descriptor::watch(news_.descriptor());
  if (!news_watch) {
    const std::string text = "the descriptor of the store's news cannot be watched: " + news_watch.error().message();
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
        brought.failure = std::make_exception_ptr(
            store_unavailable(store_unavailable::kind::not_executed, "no thread can be had that may block: " + why));
      };
      try {
        co_await runtime::blocking(call);
      } catch (const runtime::cancelled& stopped) {
        refuse(stopped.what());
      } catch (const std::exception& no_thread) {
        refuse(no_thread.what());
      }
      end_lead(brought);
      if (events_.wanted()) events_.tell();
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

broker_core::step broker_core::next_step(bool has_yielded, next_change& until) {
  const lock held(lock_);
  if (failed_) throw store_failure(failure_, remedy_);
  const instant now = runtime::now();
  // The store itself gives back what is left when it is unavailable.
  if (closing_ && clients_ == 0 && queue_.empty() && (availability_.holds_back(now) || !has_work())) return step::end;
  if (availability_.holds_back(now)) {
    until.expiry = availability_.retry_at();
    return step::hold_back;
  }
  news_.scan_if_due(now, !waiting_.empty(), tubes_);
  // A broker that was never used has no client for a due job. If it made the job ready, it would have to tell the other
  // nodes, which would have made it ready themselves.
  if (!is_used_) next_.due = utc_time::max();
  if (has_work() || is_due()) {
    if (!has_yielded) {
      runner_event_.set();
      return step::let_others_run;
    }
    runner_event_.clear();
    if (!form_batch()) throw store_failure(failure_, remedy_);
    served_ = entries_.size() + claims_.recipients();
    has_news_ = false;
    led_ = true;
    return step::execute;
  }
  runner_event_.clear();
  until.due = next_.due;
  until.expiry = std::min(next_.expiry, news_.scan_at());
  return step::wait;
}

void broker_core::end_lead(outcome& brought) noexcept {
  const lock held(lock_);
  conclude_batch(brought);
  ended_at_ = runtime::now();
  led_ = false;
  if (has_work()) runner_event_.set();
}

task<> broker_core::gather() {
  for (int i = 0; i < turns_before_batch && !has_enough(); ++i) co_await runtime::yield();
  for (duration pause = first_pause; waits_for_more(); pause += pause) co_await runtime::sleep(pause);
}

bool broker_core::has_enough() const noexcept {
  const lock held(lock_);
  return queue_.size() + waiting_.untried() >= enough;
}

bool broker_core::waits_for_more() const noexcept {
  const lock held(lock_);
  if (!has_work() || has_news_ || is_due() || ended_at_ + limits_.gathering <= runtime::now()) return false;
  const std::size_t most_of_them = served_ - served_ / 10;
  return queue_.size() + waiting_.untried() < std::min(enough, most_of_them);
}

void broker_core::hear_others() {
  const news heard = news_.hear();
  const lock held(lock_);
  if (heard.any_tube) tubes_.note_news_where_clients_wait();
  has_news_ = has_news_ || heard.any_tube;
  for (const std::string& name : heard.tubes) {
    if (tube_record* const tube = tubes_.find(name)) note_news(*tube);
  }
}

void broker_core::tell_others() noexcept {
  std::vector<std::string> names;
  {
    const lock held(lock_);
    names = news_.take_to_tell(tubes_);
  }
  news_.tell(names);
}

// The end, and what there is to see.

void broker_core::close() noexcept {
  const lock held(lock_);
  closing_ = true;
  while (client_state* const each = waiting_.front()) {
    unlink(*each);  // no job is claimed for it any more
    each->now = client_state::phase::idle;
    each->event.set();
  }
  runner_event_.set();
}

std::string broker_core::failure() const {
  const lock held(lock_);
  return failure_;
}

broker_counters broker_core::counters() const noexcept {
  const lock held(lock_);
  broker_counters now;
  now.batches = batches_;
  now.unavailable = availability_.refused_batches();
  now.refused = availability_.refused_operations();
  now.is_unavailable = availability_.is_unavailable();
  now.no_space = availability_.no_space();
  now.lacks_room = availability_.lacks_room();
  now.expired = flow_.expired();
  now.operations = operations_;
  now.queued = queue_.size();
  now.queued_bytes = queue_.bytes();
  now.clients = clients_;
  now.waiting = waiting_.size();
  now.reservations = held_.size();
  now.tubes = tubes_.size();
  return now;
}

job_flow broker_core::flow() const noexcept {
  const lock held(lock_);
  return flow_.seen();
}

tube_clients broker_core::clients_of(std::string_view tube) const {
  const lock held(lock_);
  const tube_record* const found = tubes_.find(tube);
  return found == nullptr ? tube_clients{} : tube_clients{found->users, found->watchers, found->waiting};
}

std::string broker_core::holder_of(job_id id, std::uint32_t reserves) const {
  const lock held(lock_);
  const holding* const found = held_.find(id);
  if (found != nullptr && found->reserves == reserves && found->client != nullptr) return found->client->name;
  return parted_.holder_of(id, reserves);
}

std::vector<std::string> broker_core::tubes_in_use() const {
  const lock held(lock_);
  return tubes_.names();
}

check_result broker_core::check() const {
  const lock held(lock_);
  if (const check_result tubes = tubes_.check(); !tubes) return tubes;
  if (const check_result held_jobs = held_.check(); !held_jobs) return held_jobs;
  if (const check_result parted = parted_.check(); !parted) return parted;
  if (const check_result waiting = waiting_.check(led_); !waiting) return waiting;
  const bool is_left =
      !failed_ && !availability_.is_unavailable() && (held_.has_to_give_back() || tubes_.has_tube_to_serve());
  if (runs_ && !led_ && is_left && !runner_event_.is_set()) return std::unexpected("run() does not know of the work");
  return {};
}

}  // namespace foliot::jobs::detail
