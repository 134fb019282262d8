#include <foliot/jobs/policy_store.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <foliot/core/sync/mutex.hpp>

#include "expiry_sweep.hpp"
#include "held_back_tubes.hpp"
#include "held_by_policy.hpp"
#include "jobs/operation_parts.hpp"
#include "policy_rules.hpp"
#include "policy_steps.hpp"
#include "policy_turn.hpp"
#include "tube_limits.hpp"

namespace foliot::jobs {

using detail::expiry_sweep;
using detail::fate;
using detail::has_limits;
using detail::held_back_tubes;
using detail::held_by_policy;
using detail::held_job;
using detail::judgement;
using detail::limited_claim;
using detail::parked_job;
using detail::policy_step;
using detail::policy_steps;
using detail::policy_turn;
using detail::reckoned_tries;
using detail::taken_slot;
using detail::tube_limits;

/// All that it knows, and how a batch goes: form(), the store below, and conclude(). Only the thread that executes
/// touches it, but for what `guard_` guards.
class policy_store::state {
 public:
  state(job_store& inner, store_clocks clocks, std::shared_ptr<tube_limits> limits)
      : inner_(inner), clocks_(clocks), limits_(std::move(limits)), member_(limits_->join()) {}
  ~state() { limits_->leave(member_); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  execution execute(std::span<operation> batch);
  [[nodiscard]] next_change next() const noexcept;
  [[nodiscard]] check_result check() const;

  void set_policies(std::shared_ptr<const policy_table> policies) noexcept {
    const lock held(guard_);
    wanted_.swap(policies);
  }
  [[nodiscard]] std::shared_ptr<tube_limits> shared_limits() const noexcept { return limits_; }
  void sweeps(bool does) noexcept {
    const lock held(guard_);
    sweeps_ = does;
  }
  [[nodiscard]] policy_counters counters() const noexcept {
    const lock held(guard_);
    return counted_;
  }

 private:
  using table = std::shared_ptr<const policy_table>;

  // Before the batch.
  void follow_policies(instant now);
  [[nodiscard]] const tube_policy* policy_of(std::string_view tube) const;
  [[nodiscard]] bool has_nothing_to_do() const noexcept;
  /// Whether the batch goes on as it is, because no policy is there and nothing is left to do.
  [[nodiscard]] bool is_plain(std::span<const operation> batch) const noexcept;
  void forget_untold_ends(policy_turn& it);
  void form(policy_turn& it);
  void look_at_named(policy_turn& it);
  void form_steps(policy_turn& it);
  void form_counts(policy_turn& it);
  void form_end(policy_turn& it, std::size_t at);
  [[nodiscard]] bool is_answered(policy_turn& it, std::size_t at);
  [[nodiscard]] bool is_claim_answered(policy_turn& it, std::size_t at);
  [[nodiscard]] std::optional<bool> was_claimed_once(policy_turn& it, std::size_t at);

  // Behind it.
  execution conclude(policy_turn& it, execution done);
  void conclude_expired(policy_turn& it, execution& done);
  void conclude_step(policy_turn& it, policy_step& one, answer& got);
  void conclude_given_back(policy_turn& it, policy_step& one, holder_answer::kind got);
  void conclude_move(policy_step& one, const put_answer& got, utc_time now);
  void conclude_look(policy_turn& it, policy_step& one, claim_answer& got);
  void conclude_unpark(policy_step& one, const answer& got);
  void conclude_check(policy_turn& it, policy_step& one, const peek_answer& got);
  void conclude_own(policy_turn& it, std::size_t at, answer& got);
  void conclude_end(policy_turn& it, std::size_t at, const holder_answer& got);
  void conclude_claim(policy_turn& it, std::size_t at, claim_answer& got);
  void conclude_page(const std::string& tube, const answer& got);
  /// Tells those that count together which reservations are kept for steps: no client has them.
  void tell_kept();
  void note_count(const policy_turn& it, const detail::tube_count& begun, std::uint64_t reserved);
  void note_limits(policy_turn& it, const limited_claim& asked, const claim_answer& got);
  void hold_back(const policy_turn& it, const std::string& tube) {
    held_back_.add(tube, policy_of(tube), *limits_, it.now);
  }
  [[nodiscard]] judgement judge_now(const policy_turn& it, const job& one, const tube_policy& by) const;
  bool hands_out(policy_turn& it, const claimed_job& one, bool by_id, bool is_replayed, limited_claim* of);
  /// Whether it has a slot now; else its step is made.
  bool takes_slot(policy_turn& it, const claimed_job& one, const tube_policy& by, const reckoned_tries& tries,
                  limited_claim* of);
  void hold(policy_turn& it, const claimed_job& one, const tube_policy* by, reckoned_tries of, bool has_slot);
  [[nodiscard]] taken_slot slot_of(const claimed_job& one) const;
  void reject(const claimed_job& one, const tube_policy& by, judgement as, utc_time now);
  void give_back(const claimed_job& one, operation by, fate why);
  void park(policy_turn& it, const claimed_job& one, const tube_policy& by, const reckoned_tries& of);
  void check_group(const std::string& tube, const std::string& group);
  void check_held(const reservation& token, const std::string& tube, instant not_before);
  /// Frees the slot of a reservation that has ended. False: it had none.
  bool end(policy_turn& it, const reservation& ended);
  void unpark(const std::string& tube, const std::string& group, std::optional<parked_job> one);
  [[nodiscard]] reckoned_tries tries_of(const policy_turn& it, const job& of) const;
  void note_written(const operation& end);
  void note_own_end(const reservation& token);
  [[nodiscard]] bool waits_too_long(const policy_turn& it, const job& of, const tube_policy& by,
                                    const reckoned_tries& tries) const;
  void add_counted(const policy_counters& more);

  job_store& inner_;
  const store_clocks clocks_;

  table policies_;  ///< of the latest batch
  held_by_policy held_;
  const std::shared_ptr<tube_limits> limits_;  ///< with the other stores that count here; never null
  const std::uint32_t member_;
  held_back_tubes held_back_;
  policy_steps steps_;
  bool has_told_kept_ = false;
  expiry_sweep sweep_;
  /// What batches have brought whose answers the caller did not get.
  execution gathered_;
  bool knows_expiry_ = false;  ///< some policy has one
  /// The reservations that a `check` looks at.
  std::set<reservation> checked_;
  /// Of jobs whose TTR has ended while they were kept for a step: which ones, as the counter of timeouts numbers them.
  /// No worker has failed there.
  std::map<job_id, std::vector<std::uint32_t>> own_ends_;

  mutable mutex guard_{lock_rank::object};
  table wanted_ FOLIOT_GUARDED_BY(guard_);
  bool sweeps_ FOLIOT_GUARDED_BY(guard_) = true;
  policy_counters counted_ FOLIOT_GUARDED_BY(guard_);
};

namespace {

/// As many steps as a broker gives back reservations: more would delay the caller's operations.
constexpr std::size_t most_steps = detail::most_given_back;
/// Of so many jobs it is known which timeouts nobody has had, and of each so many.
constexpr std::size_t most_known = 100'000;
constexpr std::size_t most_own_ends = 100;
/// So many reservations are looked at, as they may have ended elsewhere: of a group with each job that is parked, in
/// all for groups, and with each batch of those whose ends nobody has told.
constexpr std::size_t most_checked_of_group = 8;
constexpr std::size_t most_checked = 256;
constexpr std::size_t most_untold = 64;
/// A look waits for the steps of jobs that were looked at before.
constexpr duration look_later_by{std::chrono::milliseconds(20)};
constexpr duration check_again_after{std::chrono::seconds(5)};
/// Of a group so many jobs are looked at again within parking_time, and no job waits longer than the last one.
constexpr std::size_t looked_at_again = 1000;
constexpr milliseconds longest_parking_time = std::chrono::hours(1);
/// A batch with more operations leaves no time for a search.
constexpr std::size_t most_beside_search = 64;

constexpr bool was_not_executed(const answer& got) noexcept {
  return std::holds_alternative<passed_over_answer>(got) || std::holds_alternative<unavailable_answer>(got);
}

/// A release and a bury; null: another operation.
const std::optional<job_fields>* history_of(const operation& it) noexcept {
  if (const auto* const one = std::get_if<release>(&it)) return &one->history;
  if (const auto* const one = std::get_if<bury>(&it)) return &one->history;
  return nullptr;
}

std::optional<job_fields>* history_in(operation& it) noexcept {
  if (auto* const one = std::get_if<release>(&it)) return &one->history;
  if (auto* const one = std::get_if<bury>(&it)) return &one->history;
  return nullptr;
}

/// Whether a release or a bury of the batch says why, or by whose work.
bool is_told(std::span<const operation> batch) noexcept {
  return std::ranges::any_of(batch, [](const operation& each) {
    const auto* const history = history_of(each);
    return history != nullptr && detail::has_report(*history);
  });
}

/// Whether a claim has brought a job with an expiry of its own, which holds without a policy, too.
bool brings_own_expiry(const execution& done) noexcept {
  return std::ranges::any_of(done.answers, [](const answer& each) {
    const auto* const got = std::get_if<claim_answer>(&each);
    return got != nullptr && std::ranges::any_of(got->jobs, [](const claimed_job& one) {
             return one.job.fields.find(tag_of_expiry).has_value();
           });
  });
}

/// Whether reservations end by the puts of a put_all, which must be there when its answer is.
bool has_holders(const operation& it) noexcept {
  const auto* const all = std::get_if<put_all>(&it);
  return all != nullptr && std::ranges::any_of(all->puts, [](const put& each) { return each.holder.has_value(); });
}

/// How long a job waits for its group, of which so many wait: the more there are, the longer, as the end of another job
/// wakes it anyway.
milliseconds parking_time_among(std::size_t waiting) {
  return std::min(parking_time * static_cast<std::int64_t>(1 + waiting / looked_at_again), longest_parking_time);
}

/// The answer to a look, as that of the operation which it was for.
answer nothing_done(answer refused) {
  if (auto* const unavailable = std::get_if<unavailable_answer>(&refused)) unavailable->is_in_doubt = false;
  return refused;
}

policy_step look_at(job_id id, const std::string& tube) {
  policy_step made;
  made.what = policy_step::kind::look;
  made.asks = claim_job{id};
  made.tube = tube;
  return made;
}

void add_names(std::vector<std::string>& into, std::vector<std::string>&& from) {
  if (from.empty()) return;
  into.insert(into.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  std::ranges::sort(into);
  const auto twins = std::ranges::unique(into);
  into.erase(twins.begin(), twins.end());
}

void gather(execution& into, execution&& from) {
  add_names(into.ready_tubes, std::move(from.ready_tubes));
  add_names(into.emptied_tubes, std::move(from.emptied_tubes));
  into.expired.insert(into.expired.end(), from.expired.begin(), from.expired.end());
}

}  // namespace

// Policies.

void policy_store::state::follow_policies(instant now) {
  table wanted;
  {
    const lock held(guard_);
    wanted = wanted_;
    sweep_.begin(sweeps_);
  }
  if (wanted == policies_) return;
  policies_ = std::move(wanted);
  knows_expiry_ = policies_ != nullptr && std::ranges::any_of(*policies_, [](const auto& each) {
                    return each.second.expires > milliseconds(0);
                  });
  std::vector<reservation> counts;
  held_.for_each([&](const reservation& token, const held_job& it) {
    const tube_policy* const by = policy_of(it.tube);
    if (it.has_slot || by == nullptr || !detail::has_bounds(*by)) return;
    limits_->add_earlier(token, {.tube = it.tube, .group = it.group, .reserves = it.reserves, .member = member_});
    counts.push_back(token);
  });
  for (const reservation& token : counts) held_.take_slot(token);
  limits_->forget_idle(policies_.get(), now);
  sweep_.follow(policies_.get(), now);
}

const tube_policy* policy_store::state::policy_of(std::string_view tube) const {
  return detail::policy_in(policies_.get(), tube);
}

bool policy_store::state::has_nothing_to_do() const noexcept {
  return policies_ == nullptr && steps_.empty() && held_.size() == 0 && gathered_.ready_tubes.empty() &&
         gathered_.expired.empty() && gathered_.emptied_tubes.empty();
}

void policy_store::state::add_counted(const policy_counters& more) {
  const lock held(guard_);
  counted_.retried += more.retried;
  counted_.buried += more.buried;
  counted_.dead_letters += more.dead_letters;
  counted_.expired += more.expired;
  counted_.parked += more.parked;
}

// A batch.

bool policy_store::state::is_plain(std::span<const operation> batch) const noexcept {
  {
    const lock held(guard_);
    if (wanted_ != nullptr) return false;
  }
  return has_nothing_to_do() && !is_told(batch);
}

execution policy_store::state::execute(std::span<operation> batch) {
  if (is_plain(batch)) [[likely]] {
    execution done = inner_.execute(batch);
    if (!brings_own_expiry(done)) return done;
    policy_turn it{.batch = batch, .now = clocks_.monotonic->now(), .utc = clocks_.utc()};
    it.follows.resize(batch.size(), fate::handed_out);
    done = conclude(it, std::move(done));
    add_counted(it.counted_now);
    return done;
  }
  const instant now = clocks_.monotonic->now();
  follow_policies(now);
  policy_turn it{.batch = batch, .now = now, .utc = clocks_.utc()};
  forget_untold_ends(it);
  execution done;
  try {
    form(it);
    // Without any change the caller's batch goes on as it is.
    done = conclude(it, inner_.execute(it.is_formed ? std::span(it.asks) : batch));
  } catch (const store_unavailable&) {
    for (policy_step* const each : it.steps) steps_.postpone(*each, now);
    throw;
  }
  add_counted(it.counted_now);
  return done;
}

void policy_store::state::forget_untold_ends(policy_turn& it) {
  for (const reservation& token : held_.untold(it.now, most_untold)) {
    const held_job& known = *held_.find(token);
    if (known.has_slot && inner_.others() != nullptr) {
      // It may have been extended through another node.
      check_held(token, known.tube, instant::earliest());
    } else {
      static_cast<void>(held_.take(token));
      end(it, token);
    }
  }
}

void policy_store::state::form(policy_turn& it) {
  it.follows.resize(it.batch.size(), fate::handed_out);
  if (has_nothing_to_do() && !is_told(it.batch)) return;
  it.is_formed = true;
  look_at_named(it);
  form_steps(it);
  form_counts(it);
  it.refusals.resize(it.batch.size());
  for (std::size_t i = 0; i < it.batch.size(); ++i) {
    if (history_of(it.batch[i]) != nullptr) {
      form_end(it, i);
    } else if (is_answered(it, i)) {
      it.places.push_back(policy_turn::nowhere);
    } else {
      it.places.push_back(it.asks.size());
      it.asks.push_back(has_holders(it.batch[i]) ? it.batch[i] : std::move(it.batch[i]));
    }
  }
  const bool is_busy = !it.steps.empty() || it.batch.size() > most_beside_search;
  if (std::optional<list_jobs> page = sweep_.take_page(it.now, is_busy)) {
    it.pages.push_back(page->tube);
    it.asks.emplace_back(*std::move(page));
  }
}

void policy_store::state::form_steps(policy_turn& it) {
  for (policy_step* const each : steps_.due(it.now, most_steps)) {
    if (each->what == policy_step::kind::look && steps_.keeps_much(each->tube)) {
      steps_.defer(*each, it.now + look_later_by);
    } else {
      it.steps.push_back(each);
    }
  }
  for (const policy_step* each : it.steps) it.asks.push_back(each->asks);
}

void policy_store::state::form_counts(policy_turn& it) {
  std::set<std::string> counts;
  for (const operation& each : it.batch) {
    const auto* const claiming = std::get_if<claim>(&each);
    if (claiming == nullptr) continue;
    for (const std::string& tube : claiming->tubes) {
      const tube_policy* const by = policy_of(tube);
      const bool is_counted = by != nullptr && by->most_reserved != 0;
      if (is_counted && (inner_.others() != nullptr || limits_->wants_count(tube))) counts.insert(tube);
    }
  }
  it.freed.clear();  // what has ended before is in no count
  for (const std::string& tube : counts) {
    it.counted.push_back(limits_->begin_count(tube, member_));
    it.asks.emplace_back(count_tube{tube});
  }
}

/// Looks at the jobs whose reservations end, where too little is known of them here; and at those that are claimed by
/// their ids, as their claims do not tell where they were before.
void policy_store::state::look_at_named(policy_turn& it) {
  std::vector<job_id> ids;
  for (const operation& each : it.batch) {
    job_id id = 0;
    if (const auto* const history = history_of(each)) {
      const held_job* const held = held_.find(detail::token_of(each));
      const bool is_worker_alone = detail::has_worker_alone(*history);
      const bool is_unknown =
          held == nullptr && (policies_ != nullptr || (detail::has_report(*history) && !is_worker_alone));
      const bool is_plain = held != nullptr && held->is_plain;
      const bool changes = policy_of(is_plain ? held->tube : "") != nullptr || (*history && !is_worker_alone);
      if (is_unknown || (is_plain && changes)) id = detail::token_of(each).id;
    } else if (const auto* const claiming = std::get_if<claim_job>(&each); claiming != nullptr && knows_expiry_) {
      id = claiming->id;
    }
    if (id != 0 && it.seen.try_emplace(id).second) ids.push_back(id);
  }
  if (ids.empty()) return;
  std::vector<operation> looks;
  for (const job_id id : ids) looks.emplace_back(peek{id, false});
  execution done = inner_.execute(looks);
  for (std::size_t i = 0; i < ids.size(); ++i) it.seen.at(ids[i]) = std::move(done.answers.at(i));
  gather(gathered_, std::move(done));
}

void policy_store::state::form_end(policy_turn& it, std::size_t at) {
  operation& what = it.batch[at];
  const reservation token = detail::token_of(what);
  const auto found = it.seen.find(token.id);
  const held_job* held = held_.find(token);
  const bool is_plain = held != nullptr ? held->is_plain : policies_ == nullptr;
  if (found == it.seen.end() && is_plain) {
    // A tube without a policy keeps no tries, and so no worker.
    std::optional<job_fields>& history = *history_in(what);
    if (detail::has_worker_alone(history)) history.reset();
    it.places.push_back(it.asks.size());
    it.asks.push_back(std::move(what));
    return;
  }
  if (is_plain) held = nullptr;
  const auto* const job = found == it.seen.end() ? nullptr : std::get_if<peek_answer>(&found->second);
  if (held == nullptr && job == nullptr && found != it.seen.end()) {
    // Nothing has happened, whatever the look has come to.
    answer refused = found->second;
    it.refusals[at] = nothing_done(std::move(refused));
    it.places.push_back(policy_turn::nowhere);
    return;
  }
  it.places.push_back(it.asks.size());
  const bool is_known = held != nullptr || (job != nullptr && job->job && job->job->state == job_state::reserved);
  if (!is_known) {
    it.asks.push_back(std::move(what));
    return;
  }
  const tube_policy* const by = policy_of(held != nullptr ? held->tube : job->job->tube);
  const detail::ended_job of = held != nullptr
                                   ? detail::ended_job{token.id, held->history, held->of}
                                   : detail::ended_job{token.id, job->job->history, tries_of(it, *job->job)};
  const bool releases = std::holds_alternative<release>(what);
  detail::rewritten_end made = releases ? rewrite(std::move(std::get<release>(what)), by, of, it.utc)
                                        : rewrite(std::move(std::get<bury>(what)), by, of, it.utc);
  it.follows[at] = made.follows;
  it.asks.push_back(std::move(made.what));
}

/// Whether the operation needs not to be executed: then its answer is there.
bool policy_store::state::is_answered(policy_turn& it, std::size_t at) {
  if (std::holds_alternative<claim>(it.batch[at])) return is_claim_answered(it, at);
  const auto* const named = std::get_if<claim_job>(&it.batch[at]);
  if (named == nullptr) return false;
  const auto found = it.seen.find(named->id);
  if (found == it.seen.end() || std::holds_alternative<peek_answer>(found->second)) return false;
  it.refusals[at] = nothing_done(found->second);
  return true;
}

bool policy_store::state::is_claim_answered(policy_turn& it, std::size_t at) {
  claim& what = std::get<claim>(it.batch[at]);
  const bool is_limited = std::ranges::any_of(
      what.tubes, [this](const std::string& each) { return has_limits(policy_of(each)) || steps_.is_full(each); });
  if (!is_limited) return false;
  std::vector<tube_limits::asked_tube> asked;
  for (const std::string& tube : what.tubes) {
    if (steps_.is_full(tube)) {
      hold_back(it, tube);
    } else {
      const tube_policy* const by = policy_of(tube);
      asked.push_back({tube, has_limits(by) ? by : nullptr});
    }
  }
  tube_limits::claim_plan planned = limits_->plan(asked, what.count, it.now);
  for (const std::string& tube : planned.full) hold_back(it, tube);
  std::vector<std::string> open = std::move(planned.open);
  for (const std::string& tube : open) it.planned[tube] += planned.count;
  // A claim of no job finds what an earlier one with the same `once` has claimed; its tubes say where to look.
  if (open.empty() && what.once.empty()) {
    it.refusals[at] = claim_answer{};
    return true;
  }
  const bool leaves_out = !open.empty() && open.size() < what.tubes.size();
  if (leaves_out && !what.once.empty()) {
    const std::optional<bool> was_claimed = was_claimed_once(it, at);
    if (!was_claimed) return true;
    if (*was_claimed) open.clear();
  }
  if (open.empty()) planned = {};
  const auto allowed = static_cast<std::uint32_t>(open.empty() ? 0 : planned.count);
  it.limited.insert_or_assign(at, limited_claim{open, what.count, allowed, std::move(planned.slots)});
  if (!open.empty()) what.tubes = std::move(open);
  what.count = allowed;
  return false;
}

/// A claim with a `once` of which some tubes are left out: whether it was executed before, wherever that was. Nothing:
/// it is not known, and the claim is answered so.
std::optional<bool> policy_store::state::was_claimed_once(policy_turn& it, std::size_t at) {
  operation looks = it.batch[at];
  std::get<claim>(looks).count = 0;
  execution done = inner_.execute(std::span(&looks, 1));
  answer got = std::move(done.answers.at(0));
  gather(gathered_, std::move(done));
  const auto* const claimed = std::get_if<claim_answer>(&got);
  if (claimed != nullptr) return claimed->is_replayed || claimed->what == claim_answer::kind::other_request;
  it.refusals[at] = nothing_done(std::move(got));
  return std::nullopt;
}

// Behind a batch.

execution policy_store::state::conclude(policy_turn& it, execution done) {
  conclude_expired(it, done);
  if (!it.is_formed) {
    for (std::size_t i = 0; i < it.batch.size(); ++i) conclude_own(it, i, done.answers[i]);
  } else {
    std::vector<answer> got = std::move(done.answers);
    std::size_t at = 0;
    for (policy_step* const each : it.steps) conclude_step(it, *each, got[at++]);
    for (const detail::tube_count& each : it.counted) {
      if (const auto* const counted = std::get_if<count_answer>(&got[at++]))
        note_count(it, each, counted->counts.reserved);
    }
    done.answers.clear();
    for (std::size_t i = 0; i < it.batch.size(); ++i) {
      const std::size_t place = it.places[i];
      answer& own = done.answers.emplace_back(std::move(place == policy_turn::nowhere ? it.refusals[i] : got[place]));
      conclude_own(it, i, own);
    }
    at = it.asks.size() - it.pages.size();
    for (const std::string& tube : it.pages) conclude_page(tube, got[at++]);
  }
  for (auto& [id, each] : it.ended) {
    const tube_policy* const by = policy_of(each.tube);
    if (by == nullptr || !by->counts_timeouts || !detail::acts_on_failures(*by)) continue;
    policy_step looks = look_at(id, each.tube);
    if (!each.is_plain) looks.known = std::move(each);
    steps_.add(std::move(looks));
  }
  const auto is_full = [this](const std::string& tube) { return steps_.is_full(tube); };
  it.limited.clear();  // which gives back the slots of claims that were not executed
  tell_kept();
  for (std::string& tube : held_back_.take_freed(*limits_, policies_.get(), it.now, is_full)) {
    it.named.insert(std::move(tube));
  }
  add_names(done.ready_tubes, {it.named.begin(), it.named.end()});
  return done;
}

void policy_store::state::conclude_expired(policy_turn& it, execution& done) {
  gather(done, std::exchange(gathered_, {}));
  std::erase_if(done.expired, [&](const reservation& token) {
    it.expired.insert(token);
    const bool had_slot = end(it, token);
    if (std::optional<held_job> held = held_.take(token)) {
      it.ended.insert_or_assign(token.id, *std::move(held));
      return false;
    }
    if (steps_.has(token)) {  // nobody has had it
      note_own_end(token);
      return true;
    }
    if (!had_slot) limits_->note_end_elsewhere();
    return false;
  });
}

void policy_store::state::conclude_step(policy_turn& it, policy_step& one, answer& got) {
  using enum policy_step::kind;
  if (was_not_executed(got) && one.what != expire) return steps_.postpone(one, it.now);
  switch (one.what) {
    case give_back:
    case park: return conclude_given_back(it, one, std::get<holder_answer>(got).what);
    case move: return conclude_move(one, std::get<put_answer>(got), it.utc);
    case look: return conclude_look(it, one, std::get<claim_answer>(got));
    case unpark: return conclude_unpark(one, got);
    case check: return conclude_check(it, one, std::get<peek_answer>(got));
    case expire: {
      const auto* const changed = std::get_if<change_answer>(&got);
      if (changed != nullptr && changed->what == change_answer::kind::done) ++it.counted_now.expired;
      static_cast<void>(steps_.take(one));
    }
  }
}

void policy_store::state::conclude_given_back(policy_turn& it, policy_step& one, holder_answer::kind got) {
  if (got == holder_answer::kind::no_space) return steps_.postpone(one, it.now);
  policy_step ended = steps_.take(one);
  // A job whose move has been made, and not its end, is not left to be found by a claim.
  const bool is_half_moved = got != holder_answer::kind::done && ended.why == fate::moved;
  if (is_half_moved) steps_.add(look_at(ended.token.id, ended.tube));
  if (got != holder_answer::kind::done) return;
  note_written(ended.asks);
  if (ended.what == policy_step::kind::park) {
    ++it.counted_now.parked;
    return unpark(ended.tube, ended.group, limits_->park(ended.tube, ended.group, ended.parked, policy_of(ended.tube)));
  }
  switch (ended.why) {
    case fate::handed_out: break;
    case fate::expired: ++it.counted_now.expired; break;
    case fate::retried: ++it.counted_now.retried; break;
    case fate::marked: steps_.add(look_at(ended.token.id, ended.tube)); break;
    case fate::moved: ++it.counted_now.dead_letters; break;
    case fate::buried: ++it.counted_now.buried; break;
  }
}

void policy_store::state::conclude_move(policy_step& one, const put_answer& got, utc_time now) {
  policy_step moved = steps_.take(one);
  policy_step next;
  next.token = moved.token;
  next.tube = moved.tube;
  next.timeouts = moved.timeouts;
  if (!is_refused(got)) {
    next.asks = finish{moved.token};
    next.why = fate::moved;
  } else {
    held_job& known = *moved.known;
    const std::string& letters = std::get<put>(moved.asks).tube;
    known.of.tries.note(
        {.when = now, .how = failed_try::kind::buried, .why = "there was no room for it in the tube " + letters});
    const bool is_written = known.of.tries.write(known.history);
    next.asks =
        bury{.token = moved.token, .history = is_written ? std::optional(std::move(known.history)) : std::nullopt};
    next.why = fate::buried;
  }
  steps_.add(std::move(next));
}

void policy_store::state::conclude_look(policy_turn& it, policy_step& one, claim_answer& got) {
  if (got.what == claim_answer::kind::no_space) return steps_.postpone(one, it.now);
  policy_step looked = steps_.take(one);
  for (const claimed_job& each : got.jobs) {
    const tube_policy* const by = policy_of(each.job.tube);
    judgement as;
    if (by != nullptr) {
      if (looked.known) it.ended.insert_or_assign(each.token.id, *std::move(looked.known));
      as = judge_now(it, each.job, *by);
      it.ended.erase(each.token.id);
    }
    if (as.what != fate::handed_out) {
      reject(each, *by, std::move(as), it.utc);
    } else if (each.job.due > it.utc) {  // somebody has given it a due time meanwhile
      give_back(each, release{.token = each.token, .due = each.job.due}, fate::handed_out);
    } else {
      give_back(each, abandon{each.token}, fate::handed_out);
    }
  }
}

/// The answer to a peek, and then to a fire_now that expects the version which the peek has shown.
void policy_store::state::conclude_unpark(policy_step& one, const answer& got) {
  policy_step asked = steps_.take(one);
  if (const auto* const seen = std::get_if<peek_answer>(&got)) {
    const bool is_parked = seen->job && seen->job->counters.reserves == asked.parked.reserves;
    if (is_parked && seen->job->state == job_state::delayed && seen->job->due == asked.parked.until) {
      asked.asks = fire_now{asked.parked.id, seen->version};
      return steps_.add(std::move(asked));
    }
    if (is_parked && seen->job->state == job_state::ready) return;
  } else if (std::get<change_answer>(got).what == change_answer::kind::done) {
    return;
  }
  unpark(asked.tube, asked.group, limits_->next_parked(asked.tube, asked.group));
}

/// A reservation that a client has, of this store or of one that counts with it: still, or no more.
void policy_store::state::conclude_check(policy_turn& it, policy_step& one, const peek_answer& got) {
  const policy_step asked = steps_.take(one);
  checked_.erase(asked.of);
  const held_job* const known = held_.find(asked.of);
  const std::optional<taken_slot> slot = limits_->find(asked.of);
  if (known == nullptr && !slot) return;
  const std::uint32_t reserves = known != nullptr ? known->reserves : slot->reserves;
  const bool is_held = got.job && got.job->state == job_state::reserved && got.job->counters.reserves == reserves;
  if (!is_held) {
    static_cast<void>(held_.take(asked.of));
    end(it, asked.of);
    return;
  }
  if (known != nullptr) held_.extend(asked.of, std::max(got.job->expires, it.now));
  // Nobody tells of an end elsewhere, so the next job of the group would wait for its due time.
  if (slot && limits_->parked(slot->tube, slot->group) != 0)
    check_held(asked.of, slot->tube, it.now + check_again_after);
}

void policy_store::state::conclude_own(policy_turn& it, std::size_t at, answer& got) {
  if (const auto* const ended = std::get_if<holder_answer>(&got)) {
    conclude_end(it, at, *ended);
  } else if (auto* const claimed = std::get_if<claim_answer>(&got)) {
    conclude_claim(it, at, *claimed);
  } else {
    detail::for_each_replaced(it.batch[at], got, [this, &it](const reservation& token) {
      static_cast<void>(held_.take(token));
      end(it, token);
    });
  }
}

void policy_store::state::conclude_end(policy_turn& it, std::size_t at, const holder_answer& got) {
  // The operation may have been moved from: its kind and its token stay.
  const operation& what = it.batch[at];
  const reservation token = detail::token_of(what);
  const bool is_done = got.what == holder_answer::kind::done;
  if (got.what == holder_answer::kind::no_space) return;
  if (is_done && std::holds_alternative<touch>(what)) return held_.extend(token, got.expires);
  const std::optional<held_job> held = held_.take(token);
  // That a reservation of another store is not held here does not show that it has ended.
  const bool had_slot = (held || is_done) && end(it, token);
  if (!had_slot && !held) limits_->note_end_elsewhere();
  if (!is_done) return;
  if (!std::holds_alternative<abandon>(what)) own_ends_.erase(token.id);
  switch (it.follows[at]) {
    case fate::retried: ++it.counted_now.retried; break;
    case fate::buried: ++it.counted_now.buried; break;
    case fate::marked: steps_.add(look_at(token.id, held ? held->tube : std::string())); break;
    default: break;
  }
}

void policy_store::state::conclude_claim(policy_turn& it, std::size_t at, claim_answer& got) {
  const auto limited = it.limited.find(at);
  if (limited != it.limited.end()) {
    // It would have claimed nothing.
    if (limited->second.allowed == 0 && got.what == claim_answer::kind::no_space) got = claim_answer{};
    note_limits(it, limited->second, got);
  }
  const bool by_id = std::holds_alternative<claim_job>(it.batch[at]);
  limited_claim* const of = limited == it.limited.end() ? nullptr : &limited->second;
  std::erase_if(got.jobs, [&](const claimed_job& each) {
    if (hands_out(it, each, by_id, got.is_replayed, of)) return false;
    it.named.insert(each.job.tube);
    return true;
  });
  if (of != nullptr) of->slots.give_back();
}

void policy_store::state::note_count(const policy_turn& it, const detail::tube_count& begun, std::uint64_t reserved) {
  const auto of = [&begun](const auto& numbers) {
    const auto found = numbers.find(begun.tube);
    return found == numbers.end() ? std::uint64_t{0} : found->second;
  };
  const std::uint64_t kept = steps_.kept_of(begun.tube);
  limits_->note_count(begun, reserved - std::min(kept, reserved), of(it.planned), of(it.freed));
}

void policy_store::state::note_limits(policy_turn& it, const limited_claim& asked, const claim_answer& got) {
  if (got.what != claim_answer::kind::done || got.is_replayed || asked.allowed == 0) return;
  const bool is_short = got.jobs.size() < asked.allowed;
  for (const std::string& tube : asked.tubes) {
    if (is_short) {
      held_back_.note_empty(tube);
    } else if (asked.allowed < asked.wanted) {
      // Named once it has a slot; the others, too, are not as empty as a short answer makes them seem.
      if (has_limits(policy_of(tube))) {
        hold_back(it, tube);
      } else {
        it.named.insert(tube);
      }
    }
  }
}

judgement policy_store::state::judge_now(const policy_turn& it, const job& one, const tube_policy& by) const {
  reckoned_tries of = tries_of(it, one);
  const utc_time since = detail::waits_since(one, of);
  return judge(by, one, std::move(of), it.utc, since);
}

bool policy_store::state::hands_out(policy_turn& it, const claimed_job& one, bool by_id, bool is_replayed,
                                    limited_claim* of) {
  if (is_replayed && (held_.find(one.token) != nullptr || steps_.has(one.token))) return !steps_.has(one.token);
  const tube_policy* const by = policy_of(one.job.tube);
  static const tube_policy none;
  if (!is_replayed && detail::has_expired_by_itself(one.job, it.utc)) {
    judgement as;
    as.what = fate::expired;
    reject(one, none, std::move(as), it.utc);
    return false;
  }
  if (by == nullptr) {
    if (policies_ != nullptr) hold(it, one, nullptr, {}, false);
    return true;
  }
  judgement as = judge_now(it, one.job, *by);
  // That a job which was claimed before has expired since then is not known.
  if (is_replayed && as.what == fate::expired) as.what = fate::handed_out;
  // A client that names a job gets this one, whatever its tries and the limits. It may be one that does not wait. But
  // one that goes to the dead letters may be there already.
  if (by_id && as.what != fate::moved) {
    as.what = waits_too_long(it, one.job, *by, as.of) ? fate::expired : fate::handed_out;
  }
  it.ended.erase(one.token.id);
  if (as.what != fate::handed_out) {
    reject(one, *by, std::move(as), it.utc);
    return false;
  }
  const bool has_ended = it.expired.contains(one.token);
  const bool is_limited = detail::has_bounds(*by) && !has_ended;
  if (is_limited && (by_id || is_replayed)) {
    limits_->add(one.token, slot_of(one), *by, it.now);
  } else if (is_limited && !takes_slot(it, one, *by, as.of, of)) {
    return false;
  }
  hold(it, one, by, std::move(as.of), is_limited);
  return true;
}

taken_slot policy_store::state::slot_of(const claimed_job& one) const {
  return {.tube = one.job.tube,
          .group = std::string(detail::group_of(one.job)),
          .reserves = one.job.counters.reserves,
          .member = member_};
}

bool policy_store::state::takes_slot(policy_turn& it, const claimed_job& one, const tube_policy& by,
                                     const reckoned_tries& tries, limited_claim* of) {
  switch (limits_->take(one.token, slot_of(one), by, it.now, of == nullptr ? nullptr : &of->slots)) {
    case tube_limits::verdict::taken: return true;
    case tube_limits::verdict::tube_is_full:
      hold_back(it, one.job.tube);
      give_back(one, abandon{one.token}, fate::handed_out);
      break;
    case tube_limits::verdict::group_is_full: park(it, one, by, tries); break;
  }
  return false;
}

void policy_store::state::hold(policy_turn& it, const claimed_job& one, const tube_policy* by, reckoned_tries of,
                               bool has_slot) {
  if (it.expired.contains(one.token)) return;
  held_job held{.tube = one.job.tube,
                .group = std::string(detail::group_of(one.job)),
                .history = by != nullptr ? one.job.history : job_fields(),
                .of = std::move(of),
                .is_plain = by == nullptr,
                .has_slot = has_slot,
                .reserves = one.job.counters.reserves};
  held_.add(one.token, std::move(held), one.job.expires);
}

void policy_store::state::reject(const claimed_job& one, const tube_policy& by, judgement as, utc_time now) {
  const reservation token = one.token;
  switch (as.what) {
    case fate::handed_out: break;
    case fate::expired: return give_back(one, finish{token}, as.what);
    case fate::retried:
      return give_back(one, release{.token = token, .due = as.delay, .history = std::move(as.history)}, as.what);
    case fate::marked: return give_back(one, release{.token = token, .history = std::move(as.history)}, as.what);
    case fate::buried: return give_back(one, bury{.token = token, .history = std::move(as.history)}, as.what);
    case fate::moved:
      steps_.add({.what = policy_step::kind::move,
                  .asks = detail::dead_letter_of(one.job, as.of.tries, by, now),
                  .token = token,
                  .tube = one.job.tube,
                  .known = held_job{.tube = one.job.tube, .group = {}, .history = one.job.history, .of = as.of},
                  .timeouts = one.job.counters.timeouts});
      return;
  }
}

void policy_store::state::give_back(const claimed_job& one, operation by, fate why) {
  policy_step made{.asks = std::move(by), .token = one.token, .why = why};
  made.tube = one.job.tube;
  made.timeouts = one.job.counters.timeouts;
  steps_.add(std::move(made));
}

/// Until its group has a slot; until it expires, if that is before; or for a time. Its history keeps since when it
/// waits.
void policy_store::state::park(policy_turn& it, const claimed_job& one, const tube_policy& by,
                               const reckoned_tries& of) {
  const std::string group(detail::group_of(one.job));
  const utc_time since = detail::waits_since(one.job, of);
  utc_time until = it.utc + parking_time_among(limits_->parked(one.job.tube, group));
  if (by.expires > milliseconds(0)) until = std::min(until, since + by.expires);
  std::optional<job_fields> history;
  if (by.expires > milliseconds(0) && of.is_readable) {
    job_tries tries = of.tries;
    tries.waits_since = since;
    tries.parked_until = until;
    history = one.job.history;
    if (!tries.write(*history)) history.reset();  // then the wait begins anew
  }
  steps_.add({.what = policy_step::kind::park,
              .asks = release{.token = one.token, .due = until, .history = std::move(history)},
              .token = one.token,
              .tube = one.job.tube,
              .group = group,
              .parked = {one.token.id, one.job.counters.reserves, until},
              .timeouts = one.job.counters.timeouts});
  check_group(one.job.tube, group);
}

/// Some of those that the group is full of may have ended elsewhere.
void policy_store::state::check_group(const std::string& tube, const std::string& group) {
  if (inner_.others() == nullptr || checked_.size() >= most_checked) return;
  for (const reservation& token : limits_->some_of(tube, group, most_checked_of_group)) {
    check_held(token, tube, instant::earliest());
  }
}

void policy_store::state::check_held(const reservation& token, const std::string& tube, instant not_before) {
  if (!checked_.insert(token).second) return;
  steps_.add({.what = policy_step::kind::check,
              .asks = peek{token.id, false},
              .tube = tube,
              .of = token,
              .not_before = not_before});
}

bool policy_store::state::end(policy_turn& it, const reservation& ended) {
  std::optional<detail::freed_slot> freed = limits_->remove(ended);
  if (!freed) return false;
  const std::string& tube = freed->was.tube;
  ++it.freed[tube];
  // Other nodes and sessions are told that the tube may be claimed from again.
  const tube_policy* const by = policy_of(tube);
  const bool was_full = by != nullptr && by->most_reserved != 0 && freed->taken_before >= by->most_reserved;
  if (was_full && inner_.others() != nullptr) it.named.insert(tube);
  unpark(tube, freed->was.group, freed->next);
  return true;
}

void policy_store::state::unpark(const std::string& tube, const std::string& group, std::optional<parked_job> one) {
  if (!one) return;
  steps_.add(
      {.what = policy_step::kind::unpark, .asks = peek{one->id, false}, .tube = tube, .group = group, .parked = *one});
}

/// Those of the claim before, if its reservation has just ended: a store may have forgotten counters, and uncounted
/// timeouts are not in the history.
reckoned_tries policy_store::state::tries_of(const policy_turn& it, const job& of) const {
  const auto before = it.ended.find(of.id);
  const bool is_known =
      before != it.ended.end() && before->second.history == of.history && before->second.of.is_readable;
  reckoned_tries made = is_known ? detail::reckon(of, before->second.of.tries) : detail::reckon(of);
  const auto own = own_ends_.find(of.id);
  if (own == own_ends_.end()) return made;
  // Those that the history has seen are not new.
  const std::uint32_t seen = of.counters.timeouts - std::min(made.new_timeouts, of.counters.timeouts);
  const auto left_out = std::ranges::count_if(own->second, [seen](std::uint32_t each) { return each > seen; });
  made.new_timeouts -= std::min(static_cast<std::uint32_t>(left_out), made.new_timeouts);
  return made;
}

/// The TTR of a reservation has ended that was kept for a step: nobody has had the job.
void policy_store::state::note_own_end(const reservation& token) {
  const policy_step& kept = *steps_.of(token);
  if (own_ends_.size() < most_known || own_ends_.contains(token.id)) {
    std::vector<std::uint32_t>& ends = own_ends_[token.id];
    if (ends.size() < most_own_ends) ends.push_back(kept.timeouts + 1);
  }
  if (kept.what != policy_step::kind::move || kept.is_asked) return;
  // The store refuses it. The next claim of the job judges it anew; it is not kept in memory until then.
  policy_step looks = look_at(token.id, kept.tube);
  looks.not_before = kept.not_before;
  steps_.drop(token);
  steps_.add(std::move(looks));
}

/// An end that has written the tries down, or has ended the job.
void policy_store::state::note_written(const operation& end) {
  if (std::holds_alternative<abandon>(end)) return;
  if (const auto* const released = std::get_if<release>(&end); released != nullptr && !released->history) return;
  own_ends_.erase(detail::token_of(end).id);
}

/// Whether a job that was claimed by its id had been ready for too long.
bool policy_store::state::waits_too_long(const policy_turn& it, const job& of, const tube_policy& by,
                                         const reckoned_tries& tries) const {
  const auto found = it.seen.find(of.id);
  const auto* const before = found == it.seen.end() ? nullptr : std::get_if<peek_answer>(&found->second);
  if (before == nullptr || !before->job || before->job->state == job_state::buried) return false;
  return detail::has_waited_too_long(by, detail::waits_since(of, tries), it.utc);
}

void policy_store::state::conclude_page(const std::string& tube, const answer& got) {
  const auto* const page = std::get_if<jobs_answer>(&got);
  const tube_policy* const by = policy_of(tube);
  if (page == nullptr || by == nullptr) return;
  sweep_.note(tube, page->next);
  for (const listed_job& each : page->jobs) {
    if (each.job.state != job_state::ready || each.job.due + by->expires > page->now) continue;
    steps_.add({.what = policy_step::kind::expire, .asks = cancel{each.job.id, each.version}, .tube = tube});
  }
}

void policy_store::state::tell_kept() {
  std::map<std::string, std::uint64_t, std::less<>> kept;
  steps_.for_each_kept([this, &kept](const std::string& tube, std::uint64_t count) {
    const tube_policy* const by = policy_of(tube);
    if (by != nullptr && by->most_reserved != 0) kept.emplace(tube, count);
  });
  const bool tells = !kept.empty();
  if (tells || has_told_kept_) limits_->note_kept(member_, std::move(kept));
  has_told_kept_ = tells;
}

next_change policy_store::state::next() const noexcept {
  next_change found = inner_.next();
  bool is_new = false;
  {
    const lock held(guard_);
    is_new = wanted_ != policies_;
  }
  if (is_new) found.expiry = instant::earliest();
  const auto is_full = [this](const std::string& tube) { return steps_.is_full(tube); };
  found.expiry =
      std::min({found.expiry, steps_.next(), sweep_.next(), held_back_.next(*limits_, policies_.get(), is_full)});
  return found;
}

check_result policy_store::state::check() const {
  if (!held_.is_sound()) return std::unexpected("each reservation is in the order of their ends once");
  if (!steps_.is_sound()) return std::unexpected("the steps are not those that were counted");
  std::set<reservation> with_slots;
  held_.for_each([&with_slots](const reservation& token, const held_job& it) {
    if (it.has_slot) with_slots.insert(token);
  });
  return limits_->check(member_, with_slots);
}

policy_store::policy_store(job_store& inner, store_clocks clocks)
    : inner_(inner), state_(std::make_unique<state>(inner, clocks, std::make_shared<tube_limits>())) {}
policy_store::policy_store(job_store& inner, const policy_store& counts_with, store_clocks clocks)
    : inner_(inner), state_(std::make_unique<state>(inner, clocks, counts_with.state_->shared_limits())) {}
policy_store::~policy_store() = default;

void policy_store::set_policies(std::shared_ptr<const policy_table> policies) noexcept {
  state_->set_policies(std::move(policies));
}
void policy_store::share(std::uint32_t among) noexcept { state_->shared_limits()->share(among); }
void policy_store::sweeps(bool does) noexcept { state_->sweeps(does); }
policy_counters policy_store::counters() const noexcept { return state_->counters(); }

execution policy_store::execute(std::span<operation> batch) { return state_->execute(batch); }
next_change policy_store::next() const noexcept { return state_->next(); }
check_result policy_store::check() {
  check_result right = inner_.check();
  return right ? state_->check() : right;
}
void policy_store::close() { inner_.close(); }
store_figures policy_store::figures() const { return inner_.figures(); }
other_nodes* policy_store::others() noexcept { return inner_.others(); }

}  // namespace foliot::jobs
