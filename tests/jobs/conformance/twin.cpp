#include "twin.hpp"

#include <algorithm>
#include <span>
#include <sstream>

#include "show.hpp"

namespace foliot::jobs::conformance {
namespace {

constexpr job_id no_such_job = job_id{1} << 62;

std::string tube_name(unsigned number) { return std::string(1, static_cast<char>('a' + number % 3)); }
std::string key_name(unsigned number) { return number == 0 ? "" : "key " + std::to_string(number); }

/// The digest of a text that is short.
sha256 digest_of(const std::string& text) {
  sha256 digest{};
  std::ranges::transform(text, digest.begin(), [](char each) { return static_cast<std::byte>(each); });
  return digest;
}

std::string once_key(std::size_t what, unsigned number, unsigned wall_steps) {
  return std::to_string(what) + "/" + std::to_string(number) + "/" + std::to_string(wall_steps);
}

/// An operation that is answered by `other_request` if this key is remembered, and else changes nothing.
operation probe(std::size_t what, const std::string& key) {
  const once unknown(digest_of(key), digest_of("of no request"), milliseconds(1));
  const put refused{.tube = "a", .key = "of no job", .body = "", .existing = on_existing::replace, .expected = 1};
  if (what != 0) return put_all{{refused}, unknown};
  put one = refused;
  one.once = unknown;
  return one;
}

/// Both operands as text, if they differ.
template <class Value>
std::optional<std::string> unequal(const char* what, const Value& expected, const Value& got) {
  if (expected == got) return std::nullopt;
  std::ostringstream text;
  text << what << ": expected " << show(expected) << ", got " << show(got);
  return text.str();
}

}  // namespace

void twin::fail(std::string why) {
  if (!failure_) failure_ = std::move(why);
}

void twin::perform(const step& it) {
  if (failure_) return;
  store_.pass(it.pass);
  store_.step_wall(it.wall);
  if (it.wall < duration::zero()) ++wall_steps_;
  if (it.reopen) {
    if (store_.disk().durable()) reopen(it.crash ? ending::crash : ending::orderly);
    return;
  }
  try {
    if (difference found = look_at_versions(it.batch)) return fail("at a look for versions: " + *found);
  } catch (const store_failure&) {  // a call of the step before has failed behind its batch, in a thread of the store
    return recover({});
  }
  if (it.failing_call != 0) static_cast<void>(store_.disk().fail_call(it.failing_call));
  perform(it.batch);
  static_cast<void>(store_.disk().fail_call(0));
}

void twin::reopen(ending how) {
  // A store may delay ready jobs again that are opened before their due time: that is no matter of this test.
  const duration behind = duration(oracle_.latest_ready() - store_.utc());
  if (behind > duration::zero()) store_.step_wall(behind);
  store_.reopen(how);
  ++openings_;
  oracle_.reopen();
  if (difference found = audit()) fail("after the store was opened again: " + *found);
}

twin::difference twin::look_at_versions(const std::vector<request>& batch) {
  std::vector<operation> for_oracle;
  std::vector<operation> for_store;
  for (const request& each : batch) {
    if (each.expects != expectation::present) continue;
    const pair_of_operations both = address(each);
    const auto look = [](const operation& at) -> std::optional<operation> {
      if (const auto* what = std::get_if<put>(&at); what != nullptr && !what->key.empty()) {
        return peek{job_key{what->tube, what->key}};
      }
      if (const auto* what = std::get_if<kick_job>(&at)) return peek{what->id};
      if (const auto* what = std::get_if<cancel>(&at)) return peek{what->name};
      if (const auto* what = std::get_if<reschedule>(&at)) return peek{what->name};
      if (const auto* what = std::get_if<fire_now>(&at)) return peek{what->name};
      return std::nullopt;
    };
    if (!look(both.oracles)) continue;
    for_oracle.push_back(*look(both.oracles));
    for_store.push_back(*look(both.stores));
  }
  if (for_store.empty()) return std::nullopt;
  const execution got = store_->execute(for_store);
  return compare(oracle_.execute(for_oracle, store_.wall(), store_.now()), got);
}

void twin::perform(const std::vector<request>& batch) {
  std::vector<operation> for_oracle;
  std::vector<operation> for_store;
  for (const request& each : batch) {
    pair_of_operations both = address(each);
    if (auto* put_one = std::get_if<put>(&both.oracles)) {
      put_one->body = "body " + std::to_string(++bodies_);
      std::get<put>(both.stores).body = put_one->body;
    }
    if (auto* some = std::get_if<put_all>(&both.oracles)) {
      for (std::size_t i = 0; i < some->puts.size(); ++i) {
        some->puts[i].body = "body " + std::to_string(++bodies_);
        std::get<put_all>(both.stores).puts[i].body = some->puts[i].body;
      }
    }
    for_oracle.push_back(std::move(both.oracles));
    for_store.push_back(std::move(both.stores));
  }
  execution got;
  try {
    got = store_->execute(for_store);
  } catch (const store_failure&) {
    return recover(for_oracle);
  }
  const execution expected = oracle_.execute(for_oracle, store_.wall(), store_.now());
  if (difference found = compare(expected, got)) return fail(*found);
  for (std::size_t i = 0; i < for_oracle.size(); ++i) note_holders(for_oracle[i], expected.answers[i]);
  if (difference found = compare_next()) return fail(*found);
  const check_result right = store_->check();
  if (!right) fail("check(): " + right.error());
}

void twin::note_holders(const operation& what, const answer& got) {
  if (const auto* const all = std::get_if<put_all>(&what)) return note_holders(*all, std::get<put_all_answer>(got));
  const auto* const one = std::get_if<put>(&what);
  if (one == nullptr || !one->holder) return;
  const auto& its = std::get<put_answer>(got);
  if (its.what == put_answer::kind::replaced) ++met_holders_.replaced;
  if (is_refused(its)) ++met_holders_.refused;
}

void twin::note_holders(const put_all& what, const put_all_answer& got) {
  const bool is_alone = what.puts.size() == 1;
  if (got.what == put_all_answer::kind::refused && got.place < what.puts.size()) {
    const auto before = std::span(what.puts).first(got.place);
    if (std::ranges::any_of(before, [](const put& each) { return each.holder.has_value(); })) {
      ++met_holders_.refused_behind;
    }
    if (!what.puts[got.place].holder) return;
    ++met_holders_.refused;
    if (!is_alone) ++met_holders_.refused_in_all;
  }
  if (got.puts.size() != what.puts.size()) return;  // the answer of an earlier one, whose puts were others
  for (std::size_t i = 0; i < got.puts.size(); ++i) {
    if (!what.puts[i].holder || got.puts[i].what != put_answer::kind::replaced) continue;
    ++met_holders_.replaced;
    if (!is_alone) ++met_holders_.replaced_in_all;
  }
}

void twin::recover(const std::vector<operation>& failed) {
  ++failed_batches_;
  try {
    static_cast<void>(store_->execute({}));
    return fail("a store that has failed executes another batch");
  } catch (const store_failure&) {
  }
  const oracle without = oracle_;
  oracle with = oracle_;
  static_cast<void>(with.execute(failed, store_.wall(), store_.now()));
  const auto ids = store_ids_;
  const auto back = oracle_ids_;
  const auto versions = versions_;

  oracle_ = with;
  const utc_time latest = std::max(with.latest_ready(), without.latest_ready());
  if (latest > store_.utc()) store_.step_wall(duration(latest - store_.utc()));
  static_cast<void>(store_.disk().fail_call(0));
  store_.reopen(ending::crash);
  ++openings_;
  oracle_.reopen();
  look_for_unacknowledged();
  const difference happened = audit();
  if (!happened) return;
  oracle_ = without;
  store_ids_ = ids;
  oracle_ids_ = back;
  versions_ = versions;
  oracle_.reopen();
  if (const difference not_happened = audit()) {
    fail("a failed batch has happened in part. If it had happened: " + *happened + "; if not: " + *not_happened);
  }
}

void twin::look_for_unacknowledged() {
  // A put that is acknowledged bounds the ids that were given before it. A store may skip many of them.
  const put_answer bound = execute_one(*store_, put{.tube = "bound", .body = ""});
  execute_one(*store_, cancel{bound.id});
  constexpr job_id far = 200;
  for (job_id id = highest_id_ + 1; id < bound.id; ++id) {
    if (id == highest_id_ + far) id = std::max(id, bound.id - std::min(far, bound.id));
    const peek_answer seen = execute_one(*store_, peek{id});
    if (!seen.job) continue;
    const auto& all = oracle_.entries();
    const auto found = std::ranges::find(all, seen.job->body, [](const oracle::entry& it) { return it.job.body; });
    if (found != all.end()) static_cast<void>(same_job(found->job.id, id));
  }
  highest_id_ = bound.id;
}

// ---- from requests to operations ----

job_id twin::recent_job(unsigned back) const {
  return oracle_.last_id() > back ? oracle_.last_id() - back : no_such_job;
}

job_id twin::store_id(job_id oracles) const {
  const auto found = store_ids_.find(oracles);
  return found == store_ids_.end() ? no_such_job : found->second;
}

std::pair<reservation, reservation> twin::recent_token(const request& it) const {
  if (it.back >= tokens_.size()) return {{no_such_job, 1, 1}, {no_such_job, 1, 1}};
  auto both = tokens_[tokens_.size() - 1 - it.back];
  if (it.forged) {
    both.first.attempt += 1'000'000;
    both.second.attempt += 1'000'000;
  }
  return both;
}

twin::pair_of_versions twin::expected_by(const request& it) const {
  constexpr job_version of_no_job = 1;  // with a probability of one in 2^63 it is that of one
  if (it.expects == expectation::nothing) return {};
  job_id id = recent_job(it.back);
  if (it.what == 0 || (it.by_key && it.what != 9)) {
    const std::string key = key_name(it.what == 0 ? it.key : 1 + it.key);
    const auto& all = oracle_.entries();
    const auto found = std::ranges::find_if(all, [&](const oracle::entry& each) {
      return each.job.tube == tube_name(it.tube) && each.job.key == key && !key.empty();
    });
    id = found == all.end() ? no_such_job : found->job.id;
  }
  const auto seen = versions_.find(id);
  if (it.expects == expectation::forged || seen == versions_.end()) return {of_no_job, of_no_job};
  if (it.expects == expectation::first) return seen->second.front();
  return *seen->second.rbegin();
}

due_at twin::due(const request& it) const {
  if (it.utc) return std::max(store_.utc() + milliseconds(it.ahead), utc_time{});
  return milliseconds(std::max<std::int64_t>(it.ahead, 0));
}

list_tubes twin::tubes_behind(const request& it) {
  if (it.count == 0) return {};
  return {.prefix = it.by_key ? tube_name(it.tube) : "",
          .after = it.with_priority ? tube_name(it.other_tube) : "",
          .count = it.count,
          .with_counts = !it.utc};
}

twin::pair_of_operations twin::address(const request& it) const {
  const std::string tube = tube_name(it.tube);
  // A job whose put was not acknowledged has no id that a client knows.
  job_id job = recent_job(it.back);
  if (store_id(job) == no_such_job) job = no_such_job;
  const auto token = recent_token(it);
  const auto urgency = it.with_priority ? std::optional(it.priority) : std::nullopt;
  const auto named = [&](job_id id) {
    return it.by_key ? job_name(job_key{tube, key_name(1 + it.key)}) : job_name(id);
  };
  const pair_of_versions expected = expected_by(it);
  const auto for_both = [](operation both) { return pair_of_operations{both, both}; };
  const std::optional<job_fields> history = it.history != 0 ? std::optional(fields_of(it.history)) : std::nullopt;
  switch (it.what) {
    case 0: return address_put(it);
    case 1: return for_both(claim{.tubes = {tube, tube_name(it.other_tube)}, .count = it.count, .once = once_of(it)});
    case 2: return {claim_job{job}, claim_job{store_id(job)}};
    case 3: return {finish{token.first}, finish{token.second}};
    case 4: return {release{token.first, urgency, due(it), history}, release{token.second, urgency, due(it), history}};
    case 5: return {abandon{token.first}, abandon{token.second}};
    case 6: return {bury{token.first, urgency, history}, bury{token.second, urgency, history}};
    case 7: return {touch{token.first}, touch{token.second}};
    case 8: {
      const bool is_limited = it.state == job_state::buried || it.state == job_state::delayed;
      return for_both(kick{tube, it.count, is_limited ? std::optional(it.state) : std::nullopt});
    }
    case 9: return {kick_job{job, expected.oracles}, kick_job{store_id(job), expected.stores}};
    case 10: return {cancel{named(job), expected.oracles}, cancel{named(store_id(job)), expected.stores}};
    case 11:
      return {reschedule{named(job), due(it), expected.oracles},
              reschedule{named(store_id(job)), due(it), expected.stores}};
    case 12: return {fire_now{named(job), expected.oracles}, fire_now{named(store_id(job)), expected.stores}};
    case 13: return for_both(pause{tube, milliseconds(std::max<std::int64_t>(it.ahead, 0))});
    case 14: return {peek{named(job), it.with_priority}, peek{named(store_id(job)), it.with_priority}};
    case 15: return for_both(peek_first{tube, it.state});
    case 16: return for_both(count_tube{tube});
    case 17: return for_both(count_all{});
    case 18: return for_both(tubes_behind(it));
    case 19: return due_behind(it, job);
    case 20: return for_both(clear_tube{tube, it.count});
    case detail::operation_rows::place_of<put_all>(): return address_all(it);
    default: return list_behind(it, job);
  }
}

twin::pair_of_operations twin::address_put(const request& it) const {
  put both{.tube = tube_name(it.tube),
           .key = key_name(it.key),
           .body = {},
           .priority = it.priority,
           .due = due(it),
           .ttr = milliseconds(it.ttr),
           .existing = it.existing,
           .fields = fields_of(it.fields),
           .history = it.history != 0 ? fields_of(it.history) : job_fields(),
           .once = it.what == 0 ? once_of(it) : once()};
  put stores = both;
  if (it.holder != shown_holder::none) return address_to_held(it, both);
  if (!both.key.empty() && both.existing == on_existing::replace) {
    const pair_of_versions expected = expected_by(it);
    both.expected = expected.oracles;
    stores.expected = expected.stores;
  }
  return {both, stores};
}

twin::pair_of_operations twin::address_to_held(const request& it, put both) const {
  std::vector<const oracle::entry*> held;
  for (const oracle::entry& each : oracle_.entries()) {
    const bool is_of_key = each.job.tube == both.tube && !each.job.key.empty();
    if (is_of_key && each.job.state == job_state::reserved) held.push_back(&each);
  }
  const bool is_of_held = it.holder == shown_holder::of_held && !held.empty();
  std::pair<reservation, reservation> token = recent_token(it);
  if (is_of_held) {
    const oracle::entry& present = *held[it.back % held.size()];
    both.key = present.job.key;
    const auto is_its = [&present](const auto& each) {
      return each.first == reservation{present.job.id, present.opening, present.attempts};
    };
    const auto its = std::ranges::find_if(tokens_, is_its);
    if (its != tokens_.end() && !it.forged) token = *its;
  }
  if (both.key.empty()) return {both, both};  // such a put has no holder
  both.existing = on_existing::replace;
  both.once = {};
  put stores = both;
  both.holder = token.first;
  stores.holder = token.second;
  return {both, stores};
}

once twin::once_of(const request& it) const {
  if (it.once == 0) return {};
  const bool is_claim = it.what == detail::operation_rows::place_of<claim>();
  return {digest_of(once_key(it.what, it.once, wall_steps_) + (is_claim ? "/" + std::to_string(openings_) : "")),
          digest_of(it.other_request ? "other" : "usual"), milliseconds(it.lifetime)};
}

twin::pair_of_operations twin::due_behind(const request& it, job_id recent) const {
  // Behind the due time of a recent job, with or without those that are due at the same time.
  const auto& all = oracle_.entries();
  const auto known = std::ranges::find(all, recent, [](const oracle::entry& each) { return each.job.id; });
  const bool is_known = known != all.end();
  list_due both{.prefix = it.by_key ? "" : tube_name(it.tube), .count = std::max(it.count, 1U)};
  both.from = is_known ? known->job.due : std::max(store_.utc() + milliseconds(it.ahead), utc_time{});
  list_due stores = both;
  if (is_known && it.with_priority) {
    both.after = recent;
    stores.after = store_id(recent);
  }
  return {both, stores};
}

twin::pair_of_operations twin::address_all(const request& it) const {
  pair_of_operations all{put_all{{}, once_of(it)}, put_all{{}, once_of(it)}};
  const unsigned count = 1 + it.back % 4;
  for (unsigned i = 0; i < count; ++i) {
    request one = it;
    one.what = 0;
    one.once = 0;
    one.tube = it.tube + i;
    // Of the puts in one tube, the first and the fourth, at most one has a key.
    one.key = i == 3 || (i == 1 && it.by_key) ? 0 : it.key;
    if (i > 0) one.ahead = it.ahead / 2;
    if (i == 2 && it.with_priority) one.existing = on_existing::refuse;
    if (i == 3 || (i == 2 && it.with_priority)) one.holder = shown_holder::none;
    pair_of_operations both = address_put(one);
    if (i == 2 && it.with_priority) {
      const auto is_met = [&](const oracle::entry& each) {
        return each.job.tube == tube_name(one.tube) && !each.job.key.empty();
      };
      const auto met = std::ranges::find_if(oracle_.entries(), is_met);
      if (met != oracle_.entries().end()) {
        std::get<put>(both.oracles).key = std::get<put>(both.stores).key = met->job.key;
      }
    }
    std::get<put_all>(all.oracles).puts.push_back(std::get<put>(both.oracles));
    std::get<put_all>(all.stores).puts.push_back(std::get<put>(both.stores));
  }
  if (std::ranges::any_of(std::get<put_all>(all.oracles).puts,
                          [](const put& each) { return each.holder.has_value(); })) {
    std::get<put_all>(all.oracles).once = {};
    std::get<put_all>(all.stores).once = {};
  }
  return all;
}

twin::pair_of_operations twin::list_behind(const request& it, job_id recent) const {
  list_jobs both{.tube = tube_name(it.tube), .count = std::max(it.count, 1U)};
  if (it.utc || !it.forged) both.which = it.utc ? job_state::reserved : it.state;
  const bool by_id = !both.which || *both.which == job_state::reserved;
  if (by_id && it.with_priority) both.prefixes = {std::exchange(both.tube, "")};
  list_jobs stores = both;
  const auto& all = oracle_.entries();
  const auto known = std::ranges::find(all, recent, [](const oracle::entry& each) { return each.job.id; });
  // A store has other numbers of burials.
  if (known == all.end() || both.which == job_state::buried) return {both, stores};
  if (both.which == job_state::ready) both.after.rank = known->job.priority;
  if (both.which == job_state::delayed) {
    both.after.rank = static_cast<std::uint64_t>(std::max<std::int64_t>(known->job.due.time_since_epoch().count(), 0));
  }
  stores.after.rank = both.after.rank;
  both.after.id = recent;
  stores.after.id = store_id(recent);
  return {both, stores};
}

job_fields twin::fields_of(unsigned kind) const {
  job_fields made;
  const auto add = [&made](field_tag tag, std::string value) { static_cast<void>(made.set(tag, value)); };
  const std::string unique = std::to_string(bodies_);
  if (kind >= 1 && kind <= 3) add(first_own_tag, unique);
  if (kind == 2) {
    add(1, "");
    add(0xffff, std::string("zero \0 and \xff", 12));
    add(static_cast<field_tag>(0x0200 + bodies_ % 1000), "of a later version");
  }
  if (kind == 3) add(0x0200, std::string(most_field_bytes - made.bytes().size() - 4, 'x'));
  return made;
}

// ---- comparing ----

bool twin::same_version(job_id oracles_id, job_version oracles, job_version stores) {
  if (stores == 0 || stores >> 63U != 0) return false;
  std::vector<pair_of_versions>& seen = versions_[oracles_id];
  const auto known = std::ranges::find_if(
      seen, [&](const pair_of_versions& each) { return each.oracles == oracles || each.stores == stores; });
  const pair_of_versions present = known == seen.end() ? pair_of_versions{oracles, stores} : *known;
  if (present.oracles != oracles || present.stores != stores) return false;
  if (known == seen.end()) {
    seen.push_back(present);
  } else {
    std::rotate(known, known + 1, seen.end());  // the last one is the present one
  }
  return true;
}

bool twin::same_job(job_id oracles, job_id stores) {
  const auto known = store_ids_.find(oracles);
  if (known != store_ids_.end()) return known->second == stores;
  const auto after = store_ids_.lower_bound(oracles);
  if (after != store_ids_.end() && after->second <= stores) return false;
  if (after != store_ids_.begin() && std::prev(after)->second >= stores) return false;
  store_ids_.emplace(oracles, stores);
  oracle_ids_.emplace(stores, oracles);
  highest_id_ = std::max(highest_id_, stores);
  return true;
}

twin::difference twin::compare(const execution& expected, const execution& got) {
  if (expected.answers.size() != got.answers.size()) return "as many answers as operations are expected";
  std::vector<reservation> expired;
  for (const reservation& token : got.expired) {
    const auto found = std::ranges::find(tokens_, token, [](const auto& both) { return both.second; });
    if (found == tokens_.end()) return "a reservation has expired that was not given: " + show(token);
    expired.push_back(found->first);
  }
  if (auto found = unequal("expired", expected.expired, expired)) return found;
  for (std::size_t i = 0; i < expected.answers.size(); ++i) {
    if (difference found = compare_answers(expected.answers[i], got.answers[i])) {
      return "operation " + std::to_string(i) + ": " + *found;
    }
  }
  for (const std::string& tube : expected.ready_tubes) {
    const auto named = std::ranges::count(got.ready_tubes, tube);
    if (named != 1) return "tube " + tube + " is named " + std::to_string(named) + " times in ready_tubes";
  }
  auto emptied = got.emptied_tubes;
  std::ranges::sort(emptied);
  return unequal("emptied_tubes", tubes_answer{expected.emptied_tubes}, tubes_answer{emptied});
}

twin::difference twin::compare_next() {
  const next_change expected = oracle_.next();
  const next_change got = store_->next();
  if (got.due > expected.due) return unequal("next().due", expected.due, got.due);
  if (got.expiry > expected.expiry) return unequal("next().expiry", expected.expiry, got.expiry);
  return std::nullopt;
}

template <class Answer>
twin::difference twin::compare_one(const Answer& expected, const Answer& got) {
  return unequal("answer", expected, got);
}

twin::difference twin::compare_answers(const answer& expected, const answer& got) {
  if (expected.index() != got.index()) return "the answer has another type";
  return std::visit(
      [&](const auto& mine) -> difference {
        return compare_one(mine, std::get<std::remove_cvref_t<decltype(mine)>>(got));
      },
      expected);
}

twin::difference twin::compare_one(const put_answer& expected, const put_answer& got) {
  using enum put_answer::kind;
  if (expected.what != got.what) return unequal("answer", expected, got);
  if (got.what == other_version && expected.id == 0) return unequal("answer", expected, got);
  if (got.what == other_version && !same_version(expected.id, expected.version, got.version)) {
    return unequal("version", expected.version, got.version);
  }
  if (expected.is_replayed != got.is_replayed) return unequal("answer", expected, got);
  if (got.what == other_request) return unequal("answer", expected, got);
  const bool is_new = (got.what == inserted || got.what == replaced) && !got.is_replayed;
  if (is_new && got.id <= highest_id_) return "a new job has the id " + std::to_string(got.id) + ", which is not new";
  if (!same_job(expected.id, got.id)) return "put answers with another job: " + show(got);
  return std::nullopt;
}

twin::difference twin::compare_one(const put_all_answer& expected, const put_all_answer& got) {
  if (expected.what != got.what || expected.place != got.place || expected.puts.size() != got.puts.size()) {
    return unequal("answer", expected, got);
  }
  if (expected.is_replayed != got.is_replayed) return unequal("answer", expected, got);
  if (expected.what == put_all_answer::kind::refused) return compare_one(expected.why, got.why);
  for (std::size_t i = 0; i < got.puts.size(); ++i) {
    const auto as_sent = [&](put_answer it) {
      it.is_replayed = it.is_replayed || got.is_replayed;  // so that its job need not be new
      return it;
    };
    if (got.puts[i].is_replayed) return "a put of a put_all is replayed by itself";
    if (difference found = compare_one(as_sent(expected.puts[i]), as_sent(got.puts[i]))) return found;
  }
  return std::nullopt;
}

twin::difference twin::compare_one(const claim_answer& expected, const claim_answer& got) {
  if (expected.what != got.what) return unequal("answer", expected, got);
  if (expected.is_replayed != got.is_replayed) return unequal("answer", expected, got);
  if (auto found = unequal("claimed jobs", expected.jobs.size(), got.jobs.size())) return found;
  for (std::size_t i = 0; i < expected.jobs.size(); ++i) {
    const reservation& token = got.jobs[i].token;
    if (difference found = compare_job(expected.jobs[i].job, got.jobs[i].job)) return found;
    if (token.id != got.jobs[i].job.id) return "the token " + show(token) + " is for another job";
    const std::pair both(expected.jobs[i].token, token);
    if (got.is_replayed) {
      if (std::ranges::find(tokens_, both) == tokens_.end()) return "a replay has another token: " + show(token);
      continue;
    }
    if (!given_.insert(token).second) return "the token " + show(token) + " was given before";
    tokens_.push_back(both);
  }
  return std::nullopt;
}

twin::difference twin::compare_one(const change_answer& expected, const change_answer& got) {
  if (expected.what != got.what) return unequal("answer", expected, got);
  if (expected.id == 0 ? got.id != 0 : !same_job(expected.id, got.id)) return unequal("job", expected, got);
  if (expected.version == 0 ? got.version != 0 : !same_version(expected.id, expected.version, got.version)) {
    return unequal("version", expected.version, got.version);
  }
  return std::nullopt;
}

twin::difference twin::compare_one(const peek_answer& expected, const peek_answer& got) {
  if (!expected.job || !got.job) return unequal("answer", expected, got);
  if (expected.now != got.now) return unequal("time", expected.now, got.now);
  if (difference found = compare_job(*expected.job, *got.job)) return found;
  if (!same_version(expected.job->id, expected.version, got.version)) {
    return unequal("version", expected.version, got.version);
  }
  return std::nullopt;
}

twin::difference twin::compare_one(const due_answer& expected, const due_answer& got) {
  if (expected.jobs.size() != got.jobs.size()) return unequal("answer", expected, got);
  for (std::size_t i = 0; i < got.jobs.size(); ++i) {
    due_job translated = got.jobs[i];
    translated.id = expected.jobs[i].id;
    if (translated != expected.jobs[i] || !same_job(expected.jobs[i].id, got.jobs[i].id)) {
      return unequal("answer", expected, got);
    }
  }
  return std::nullopt;
}

twin::difference twin::compare_one(const jobs_answer& expected, const jobs_answer& got) {
  if (expected.jobs.size() != got.jobs.size()) return unequal("answer", expected, got);
  if (expected.now != got.now) return unequal("time", expected.now, got.now);
  for (std::size_t i = 0; i < got.jobs.size(); ++i) {
    const listed_job& mine = expected.jobs[i];
    const listed_job& its = got.jobs[i];
    if (difference found = compare_job(mine.job, its.job)) return found;
    if (!same_version(mine.job.id, mine.version, its.version)) return unequal("version", mine.version, its.version);
    const bool has_own_rank = mine.job.state == job_state::buried && mine.place.rank != 0;
    const bool is_in_place = its.place.id == its.job.id && (has_own_rank || its.place.rank == mine.place.rank);
    if (!is_in_place) return unequal("places", expected, got);
  }
  if (expected.next.has_value() != got.next.has_value()) return unequal("next", expected, got);
  if (got.next && *got.next != got.jobs.back().place) return unequal("next", expected, got);
  return std::nullopt;
}

twin::difference twin::compare_job(const job& expected, const job& got) {
  if (!same_job(expected.id, got.id)) return unequal("job", expected, got);
  job translated = got;
  translated.id = expected.id;
  // What is expected may be older than the oracle's entry, which later operations of the batch have changed or ended:
  // the counters that a store has forgotten are taken from audits, which come before all batches.
  return unequal("job", expected, translated);
}

twin::difference twin::audit() {
  // What became ready while the store was closed need not be reported.
  static_cast<void>(oracle_.execute({}, store_.wall(), store_.now()));
  // First the counters that the store may have forgotten.
  for (const auto& [oracles, stores] : store_ids_) {
    if (oracle_.find(oracles) == nullptr) continue;
    const peek_answer seen = execute_one(*store_, peek{stores});
    if (!seen.job) return "job " + std::to_string(stores) + " is lost";
    if (!oracle_.learn(oracles, seen.job->counters)) {
      return unequal("counters", oracle_.find(oracles)->job.counters, seen.job->counters);
    }
  }
  std::vector<operation> for_oracle{list_tubes{}, list_tubes{.count = 1000, .with_counts = true}, count_all{},
                                    list_due{.count = 1000}, list_jobs{.count = 1000}};
  for (unsigned number = 0; number < 3; ++number) {
    const std::string tube = tube_name(number);
    for_oracle.emplace_back(count_tube{tube});
    for (const job_state state : {job_state::ready, job_state::delayed, job_state::buried}) {
      for_oracle.emplace_back(peek_first{tube, state});
      for_oracle.emplace_back(list_jobs{.tube = tube, .which = state, .count = 1000});
    }
    for (unsigned key = 1; key < 5; ++key) for_oracle.emplace_back(peek{job_key{tube, key_name(key)}});
  }
  for (unsigned number = 1; number < 4; ++number) {
    for (const std::size_t what : {std::size_t{0}, detail::operation_rows::place_of<put_all>()}) {
      for_oracle.push_back(probe(what, once_key(what, number, wall_steps_)));
    }
  }
  std::vector<operation> for_store = for_oracle;
  for (const auto& [oracles, stores] : store_ids_) {
    for_oracle.emplace_back(peek{oracles});
    for_store.emplace_back(peek{stores});
  }
  const execution got = store_->execute(for_store);
  const check_result right = store_->check();
  if (!right) return "check(): " + right.error();
  return compare(oracle_.execute(for_oracle, store_.wall(), store_.now()), got);
}

}  // namespace foliot::jobs::conformance
