#include "checker.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facts.hpp"

namespace foliot::program::worlds {

namespace {

/// Where nothing fails and the store takes no time, a job that is due is handed out within so long. The due time may be
/// rounded up by a millisecond.
constexpr duration lateness = duration::nanoseconds(1'000'000);
/// For so long a reserve with an Idempotency-Key may wait for the answer to an earlier one with it.
constexpr duration answer_leaves = duration::nanoseconds(51'000'000);

constexpr std::array<std::string_view, 17> verb_names{
    "put",    "reserve",    "reserve-job", "delete", "release",    "bury", "touch", "kick", "kick-job",
    "cancel", "reschedule", "fire",        "peek",   "pause-tube", "page", "clear", "other"};

/// The answers that each command may get.
constexpr std::array<std::string_view, 17> right_answers{
    " INSERTED KEPT REPLACED EXISTS IS_RESERVED DRAINING ",
    " RESERVED TIMED_OUT DEADLINE_SOON ",
    " RESERVED NOT_FOUND ",
    " DELETED NOT_FOUND ",
    " RELEASED NOT_FOUND ",
    " BURIED NOT_FOUND ",
    " TOUCHED NOT_FOUND ",
    " KICKED ",
    " KICKED NOT_FOUND ",
    " CANCELLED IS_RESERVED GONE ",
    " RESCHEDULED IS_RESERVED GONE ",
    " FIRED IS_RESERVED GONE ",
    " FOUND NOT_FOUND ",
    " PAUSED NOT_FOUND ",
    " OK ",
    " CLEARED ",
    " ",
};

bool is_one_of(std::string_view words, std::string_view answer) {
  return words.find(fmt::format(" {} ", answer)) != std::string_view::npos;
}

bool is_right(const event& it) {
  if (is_one_of(right_answers[static_cast<std::size_t>(it.what)], it.answer)) return true;
  if (it.answer == "OTHER_VERSION") return it.wanted_version != 0;
  if (it.by != protocol_of::http) return false;
  if (it.answer == "NOT_PUT") return it.group != 0;
  if (it.answer == "ENDED") return it.what == verb::reserve && !it.once.empty();
  // Over HTTP these tell more.
  if (it.what == verb::kick_job) return is_one_of(" GONE IS_RESERVED REFUSED ", it.answer);
  return it.is(verb::peek, "SHOWN");
}

std::string show(const moment& when) { return fmt::format("{} at {} ns", when.order, when.time.nanoseconds()); }

std::string show(const event& it) {
  std::string text =
      fmt::format("[{} {}: {} {} {}{} -> {} {}, from {}", it.by == protocol_of::http ? "http" : "connection",
                  it.connection, verb_names[static_cast<std::size_t>(it.what)], it.asked, it.tube,
                  it.key.empty() ? "" : "=" + it.key, it.answer.empty() ? "?" : it.answer, it.job, show(it.begin));
  if (it.end) text += " to " + show(*it.end);
  if (it.node != 0) text += fmt::format(", node {}", it.node);
  if (it.given_up) text += ", given up " + show(*it.given_up);
  if (!it.token.empty()) text += ", token " + it.token;
  if (!it.once.empty()) text += ", once " + it.once;
  if (it.group != 0) text += fmt::format(", batch {}", it.group);
  if (it.version != 0) text += fmt::format(", {} with version {}", it.state, it.version);
  if (it.wanted_version != 0) text += fmt::format(", wants version {}", it.wanted_version);
  if (it.at) text += fmt::format(", due at {} ms", it.at->time_since_epoch().count());
  if (it.delay.count() != 0) text += fmt::format(", delay {} ms", it.delay.count());
  if (it.ttr.count() != 0) text += fmt::format(", ttr {} ms", it.ttr.count());
  if (it.timeout) text += fmt::format(", timeout {} ms", it.timeout->count());
  if (!it.watched.empty()) text += fmt::format(", {} of {} from {}", it.brought, it.count, fmt::join(it.watched, " "));
  if (!it.prompt) text += ", slow";
  return text + "]";
}

bool succeeds(const event& it) {
  constexpr std::string_view done = " RESERVED DELETED RELEASED BURIED TOUCHED CANCELLED RESCHEDULED FIRED ";
  return done.find(" " + it.answer + " ") != std::string_view::npos || it.is(verb::kick_job, "KICKED");
}

class checker {
 public:
  explicit checker(const history& of) : judged_(of), facts_(of) {}

  std::vector<std::string> check() {
    for (const event& each : judged_.events) check_answer(each);
    check_ids();
    check_tokens();
    check_once();
    check_claims_once();
    check_together();
    for (const auto& [id, put] : facts_.puts()) {
      check_lost(id, *put);
      check_back(id);
      check_key(id, *put);
      check_holders(id);
      check_truth(id, *put);
      check_late(id, *put);
      check_versions(id);
    }
    for (const event* each : facts_.reserves()) {
      check_wait(*each);
      check_missed(*each);
      if (each->answer != "RESERVED") continue;
      check_early(*each);
      check_order(*each);
    }
    check_left();
    check_last_pages();
    return std::move(found_);
  }

 private:
  template <class... Parts>
  void breach(fmt::format_string<Parts...> text, Parts&&... parts) {
    found_.push_back(fmt::format(text, std::forward<Parts>(parts)...));
  }

  /// Missing: an answer did not come. Wrong answer: it belongs to no such command.
  void check_answer(const event& it) {
    if (it.answer == "MISSING") breach("missing: no answer came {}", show(it));
    if (it.answer.empty() || it.answer == "MISSING") return;
    if (it.what == verb::other) {
      if (it.answer != it.expected) breach("wrong answer: {} instead of {} {}", it.answer, it.expected, show(it));
    } else if (!is_right(it)) {
      breach("wrong answer: {}", show(it));
    }
    if (it.answer == "RESERVED" || it.answer == "FOUND") check_body(it);
    if (it.is(verb::page, "OK")) check_page(it);
  }

  /// Wrong page: its jobs are not those that are due next, or not in their order.
  void check_page(const event& it) {
    if (judged_.has_clocks_apart) return;
    std::pair last(*it.at, it.after);
    for (const jobs::due_job& each : it.listed) {
      if (std::exchange(last, std::pair(each.due, each.id)) >= std::pair(each.due, each.id)) {
        breach("wrong page: the job {} is not in its place {}", each.id, show(it));
      }
      if (!each.tube.starts_with(it.prefix)) breach("wrong page: the job {} is in {} {}", each.id, each.tube, show(it));
      check_listed(it, each);
    }
    const bool is_full = it.listed.size() >= it.count;
    if (it.listed.size() > it.count) breach("wrong page: too many jobs {}", show(it));
    for (const auto& [id, put] : facts_.puts()) {
      if (!put->tube.starts_with(it.prefix) || std::pair(facts_.earliest_due(*put), id) <= std::pair(*it.at, it.after))
        continue;
      if (is_full && std::pair(facts_.latest_due(*put), id) > last) continue;
      const auto is_it = [&](const jobs::due_job& each) { return each.id == id; };
      if (std::ranges::any_of(it.listed, is_it) || !facts_.stays_delayed(*put, it)) continue;
      breach("wrong page: a job is left out {} {}", show(*put), show(it));
    }
  }

  /// A job on a page was put, has not ended, and will be due at this time, which some command has given.
  void check_listed(const event& it, const jobs::due_job& listed) {
    if (listed.due <= judged_.wall.trough(it.begin.time, it.end->time)) {
      breach("wrong page: the job {} is due already {}", listed.id, show(it));
    }
    const event* const put = facts_.put_of(listed.id);
    if (put == nullptr) return;  // its put was not answered
    if (listed.tube != put->tube) breach("wrong page: in another tube {} {}", show(*put), show(it));
    const event* const end = facts_.end_of(listed.id);
    if (end != nullptr && end->end->order < it.begin.order) breach("wrong page: {} {}", show(*end), show(it));
    const auto gives_it = [&](const event* each) {
      const bool sets_due = each == put || each->what == verb::release || each->what == verb::reschedule;
      if (!sets_due || each->begin.order > it.end->order) return false;
      if (!each->end) return !each->at || *each->at == listed.due;
      return facts_.earliest_due(*each) <= listed.due && listed.due <= facts_.latest_due(*each);
    };
    if (std::ranges::none_of(facts_.about(listed.id), gives_it)) {
      breach("wrong page: due at {} ms {} {}", listed.due.time_since_epoch().count(), show(*put), show(it));
    }
  }

  /// Invented: a job was handed out that was not put so.
  void check_body(const event& it) {
    if (it.asked != 0 && it.asked != it.job) breach("invented: the answer shows another job {}", show(it));
    const event* const put = facts_.put_of(it.job);
    const auto is_its_put = [&](const event& each) {
      return each.what == verb::put && !each.end && each.body == it.body;
    };
    if (put == nullptr ? std::ranges::none_of(judged_.events, is_its_put) : put->body != it.body) {
      breach("invented: nobody put the body {} {}", it.body, show(it));
    }
    if (it.what == verb::reserve && put != nullptr && !it.watched.contains(put->tube)) {
      breach("invented: the job lies in a tube that is not watched {} {}", show(*put), show(it));
    }
  }

  /// Same id: two jobs have it, or a later one has a lower one.
  void check_ids() {
    std::vector<const event*> puts;
    for (const event& each : judged_.events) {
      if (each.what == verb::put && (each.answer == "INSERTED" || each.answer == "REPLACED")) puts.push_back(&each);
    }
    std::ranges::sort(puts, {}, [](const event* each) { return std::pair(each->job, each->begin.order); });
    for (std::size_t i = 1; i < puts.size(); ++i) {
      const event& first = *puts[i - 1];
      const event& second = *puts[i];
      if (!first.once.empty() && first.once == second.once) continue;  // it was sent again
      if (first.job == second.job) breach("same id: {} {}", show(first), show(second));
      if (second.end->order < first.begin.order && !judged_.has_several_databases) {
        breach("same id: not ascending {} {}", show(first), show(second));
      }
    }
  }

  /// The jobs that somebody has seen, by their bodies: no two puts have the same one.
  [[nodiscard]] std::map<std::string, std::set<jobs::job_id>> seen_bodies() const {
    std::map<std::string, std::set<jobs::job_id>> seen;
    for (const event& each : judged_.events) {
      if (each.answer == "RESERVED" || each.answer == "FOUND") seen[each.body].insert(each.job);
    }
    for (const auto& [id, job] : judged_.left) seen[job.body].insert(id);
    return seen;
  }

  /// Once: a put that happens once has brought two jobs, or its answers differ.
  void check_once() {
    const std::map<std::string, std::set<jobs::job_id>> seen = seen_bodies();
    std::map<std::string, const event*> answered;
    for (const event& each : judged_.events) {
      if (each.what != verb::put || each.once.empty()) continue;
      const auto found = seen.find(each.body);
      if (found != seen.end() && found->second.size() > 1) breach("once: {} jobs {}", found->second.size(), show(each));
      if (each.answer != "INSERTED" && each.answer != "REPLACED" && each.answer != "KEPT") continue;
      const auto [at, is_new] = answered.emplace(each.once, &each);
      const event& first = *at->second;
      if (!is_new && std::pair(first.job, first.answer) != std::pair(each.job, each.answer)) {
        breach("once: {} {}", show(first), show(each));
      }
      const bool is_its_own = each.answer != "KEPT" && found != seen.end();
      if (is_its_own && !found->second.contains(each.job)) breach("once: another job {}", show(each));
    }
  }

  /// Once: a reserve that happens once has brought other reservations, or says that they have ended while they live.
  void check_claims_once() {
    std::map<std::string, std::vector<const event*>> all;
    for (const event* each : facts_.reserves()) {
      if (!each->once.empty() && each->end) all[each->once].push_back(each);
    }
    for (const auto& [once, events] : all) {
      for (const event* one : events) {
        if (one->answer == "RESERVED") check_claim_once(*one, events);
      }
    }
  }

  /// How many reservations all requests that have sent this reserve may have got. Over several databases twins at two
  /// nodes may both get some (docs/decisions/0021-operations-that-happen-once.md).
  [[nodiscard]] std::size_t most_claimed_once(const event& one, const std::vector<const event*>& events) const {
    if (!judged_.has_several_databases) return one.count;
    std::set<std::size_t> nodes;
    for (const event* each : events) nodes.insert(each->node);
    return one.count * nodes.size();
  }

  void check_claim_once(const event& one, const std::vector<const event*>& events) {
    std::set<std::string> tokens{one.token};
    for (const event* other : events) {
      if (facts_.may_have_restarted(one.begin.order, std::max(one.end->order, other->end->order))) continue;
      if (other->answer == "RESERVED") tokens.insert(other->token);
      const bool is_other = other->answer == "RESERVED" && other->job == one.job && other->token != one.token;
      if (is_other) breach("once: {} {}", show(one), show(*other));
      if (other->answer != "ENDED") continue;
      for (const hold& each : facts_.holds(one.job)) {
        const bool lives = other->end->order < each.until && other->end->time <= each.until_time;
        if (each.by == &one && lives) breach("once: its reservation lives {} {}", show(one), show(*other));
      }
    }
    if (tokens.size() > most_claimed_once(one, events)) breach("once: {} reservations {}", tokens.size(), show(one));
  }

  /// Refused: a put that was refused has brought a job. Together: a batch that takes all or none has brought some.
  void check_together() {
    const std::map<std::string, std::set<jobs::job_id>> seen = seen_bodies();
    // Bodies of puts that have happened, or may have: one that is sent again has its own.
    std::set<std::string> put;
    std::set<std::string> maybe_put;
    std::map<std::size_t, const event*> there;
    for (const event& each : judged_.events) {
      if (each.what != verb::put) continue;
      if (!each.end) maybe_put.insert(each.body);
      if (each.answer == "INSERTED" || each.answer == "REPLACED") put.insert(each.body);
      const bool is_there = seen.contains(each.body) || put.contains(each.body);
      if (each.group != 0 && is_there) there.emplace(each.group, &each);
    }
    for (const event& each : judged_.events) {
      if (each.what != verb::put || each.body.empty()) continue;
      const bool is_there = seen.contains(each.body);
      const bool was_put = put.contains(each.body);
      if (is_there && !was_put && !maybe_put.contains(each.body)) breach("refused: its job is there {}", show(each));
      const auto of_group = there.find(each.group);
      if (of_group != there.end() && !is_there && !was_put && facts_.never_was(each)) {
        breach("together: {} {}", show(*of_group->second), show(each));
      }
    }
  }

  /// Lost: a job was acknowledged, nobody ended it, and it is not there at the end.
  void check_lost(jobs::job_id id, const event& put) {
    if (!judged_.left.contains(id) && !facts_.may_have_ended(id)) breach("lost: {}", show(put));
  }

  /// Back: a job has ended and something still happens to it. Twice: it has ended twice.
  void check_back(jobs::job_id id) {
    const event* const end = facts_.end_of(id);
    if (end == nullptr) return;
    if (judged_.left.contains(id)) breach("back: the job is there at the end {}", show(*end));
    for (const event* each : facts_.about(id)) {
      const bool says_so = succeeds(*each) || each->answer == "FOUND" || each->answer == "SHOWN" ||
                           each->answer == "IS_RESERVED" || each->answer == "REFUSED" || each->answer == "KEPT" ||
                           each->answer == "EXISTS";
      if (each == end || !says_so || each->job != id) continue;
      const bool is_end = each->answer == "DELETED" || each->answer == "CANCELLED";
      if (is_end && end->answer != "REPLACED") breach("twice: {} {}", show(*end), show(*each));
      if (facts_.is_after(*each, *end)) breach("back: {} {}", show(*end), show(*each));
    }
  }

  /// Same key: a put was inserted while another living job had its key.
  void check_key(jobs::job_id id, const event& put) {
    if (put.key.empty()) return;
    for (const event* each : facts_.about(id)) {
      if (each->is(verb::put, "INSERTED") && each->key == put.key && each->begin.order > put.end->order &&
          !facts_.may_have_ended(id, each->end->order)) {
        breach("same key: {} {}", show(put), show(*each));
      }
    }
  }

  /// Held by two: while one connection certainly has a job, another one gets or changes it. Refused: the holder of a
  /// living reservation is.
  void check_holders(jobs::job_id id) {
    for (const hold& one : facts_.holds(id)) {
      for (const event* each : facts_.about(id)) {
        if (each == one.by || !each->end || each->end->order >= one.until || each->end->time > one.until_time) continue;
        const bool is_own = one.is_shown_by(*each);
        if (!is_own && succeeds(*each) && each->job == id && facts_.is_after(*each, *one.by)) {
          breach("held by two: {} {}", show(*one.by), show(*each));
        }
        const bool is_holders = each->what == verb::remove || each->what == verb::release || each->what == verb::bury ||
                                each->what == verb::touch;
        if (is_own && is_holders && each->asked == id && each->begin.order > one.by->begin.order &&
            each->answer == "NOT_FOUND") {
          breach("refused: {} {}", show(*one.by), show(*each));
        }
      }
    }
  }

  /// Lie: a living job is said to be gone, or one that no client can have is said to be reserved.
  void check_truth(jobs::job_id id, const event& put) {
    for (const event* each : facts_.about(id)) {
      if (!each->end || each->begin.order < put.end->order) continue;
      const bool says_gone = each->answer == "GONE" || each->is(verb::peek, "NOT_FOUND");
      if (says_gone && !facts_.may_have_ended(id, each->end->order)) breach("lie: gone {} {}", show(put), show(*each));
      if (each->answer == "IS_RESERVED" && each->job == id && !facts_.may_have_been_held(id, each->end->order)) {
        breach("lie: reserved {} {}", show(put), show(*each));
      }
    }
  }

  /// Early: a job was handed out before the wall clock had shown its due time.
  void check_early(const event& got) {
    if (judged_.has_clocks_apart) return;
    for (const event* each : facts_.about(got.job)) {
      const bool sets_due = each == facts_.put_of(got.job) || each->is(verb::release, "RELEASED") ||
                            each->is(verb::reschedule, "RESCHEDULED");
      if (!sets_due || !each->end || each->job != got.job) continue;
      if (each->what != verb::put && !facts_.is_after(got, *each)) continue;
      const jobs::utc_time due = facts_.earliest_due(*each);
      if (judged_.wall.peak(each->begin.time, got.end->time) >= due || has_other_reason(got, *each)) continue;
      breach("early: due at {} ms {} {}", due.time_since_epoch().count(), show(*each), show(got));
    }
  }

  /// Whether something besides `due` may have made the job ready before it was handed out.
  bool has_other_reason(const event& got, const event& due) {
    const auto may_be_between = [&](const event& it) {
      if (&it == &got || &it == &due || (it.end && it.end->order < due.begin.order)) return false;
      return it.begin.order < got.end->order && !(it.end && it.answer == "RESERVED" && facts_.is_after(it, got));
    };
    for (const event* each : facts_.about(got.job)) {
      const bool makes_ready = each->what != verb::peek && each->what != verb::touch && each->what != verb::bury &&
                               each->answer != "NOT_FOUND" && each->answer != "GONE" && each->answer != "IS_RESERVED";
      if (makes_ready && may_be_between(*each)) return true;
    }
    const event* const put = facts_.put_of(got.job);
    return put == nullptr || std::ranges::any_of(judged_.events, [&](const event& each) {
             return each.what == verb::kick && each.tube == put->tube && may_be_between(each);
           });
  }

  /// Out of order: a job was handed out while a better one was ready.
  void check_order(const event& got) {
    const event* const mine = facts_.put_of(got.job);
    if (mine == nullptr || has_new_priority(got.job)) return;
    if (judged_.has_clocks_apart || judged_.has_several_databases) return;
    const instant took = facts_.is_exact(got) ? got.end->time : got.begin.time;
    for (const auto& [id, put] : facts_.puts()) {
      const bool is_better = std::pair(put->priority, id) < std::pair(mine->priority, got.job);
      if (!is_better || !got.watched.contains(put->tube) || put->end->time >= took) continue;
      if (facts_.latest_due(*put) >= judged_.wall.trough(took, got.end->time)) continue;
      if (facts_.may_be_paused(put->tube, got.end->order) || !facts_.is_untouched(id, got.end->time, nullptr)) continue;
      breach("out of order: {} {}", show(*put), show(got));
    }
  }

  bool has_new_priority(jobs::job_id id) {
    return std::ranges::any_of(
        facts_.about(id), [](const event* each) { return each->what == verb::release || each->what == verb::bury; });
  }

  /// Late: a job is due, and a client waits for it.
  void check_late(jobs::job_id id, const event& put) {
    if (judged_.has_stalls || !judged_.wall.is_steady()) return;
    const instant ready = std::max(put.end->time, judged_.wall.when_shown(facts_.latest_due(put)));
    const instant latest = ready + lateness;
    if (facts_.may_be_paused(put.tube, whole_history)) return;
    for (const event* each : facts_.reserves()) {
      const std::optional<moment>& end = each->end ? each->end : each->given_up;
      const bool waits = each->prompt && each->watched.contains(put.tube) && each->front.time <= ready;
      // A repeat waits for the answer before it to leave, before it waits for jobs.
      const instant until = each->once.empty() ? latest : latest + answer_leaves;
      if (!waits || !end || end->time <= until || !facts_.is_untouched(id, until, each)) continue;
      breach("late: {} {}", show(put), show(*each));
    }
  }

  /// Same token: two reservations have it. Stale: one that has ended is accepted.
  void check_tokens() {
    std::map<std::string, const event*> reserved;
    for (const event* each : facts_.reserves()) {
      if (each->token.empty() || each->answer != "RESERVED") continue;
      const auto [at, is_new] = reserved.emplace(each->token, each);
      const bool is_again = !each->once.empty() && each->once == at->second->once;
      if (!is_new && !is_again) breach("same token: {} {}", show(*at->second), show(*each));
    }
    for (const event& each : judged_.events) {
      if (each.token.empty() || each.what == verb::reserve || !each.end || !succeeds(each)) continue;
      const auto found = reserved.find(each.token);
      if (found == reserved.end()) continue;
      const char* const why = facts_.why_ended(*found->second, each);
      if (why != nullptr) breach("stale: {} {} {}", why, show(*found->second), show(each));
    }
  }

  /// Version: a change that expects a version happens although the job has got another one since, or two looks show the
  /// same one. Lie: it is refused although the job has the version.
  void check_versions(jobs::job_id id) {
    const std::vector<const event*> all = facts_.about(id);
    for (const event* look : all) {
      if (look->version == 0 || look->job != id || !look->end) continue;
      for (const event* each : all) {
        if (!each->end || each->begin.order < look->end->order || !facts_.names(*each, id)) continue;
        const bool happens = each->wanted_version == look->version && (succeeds(*each) || each->answer == "REPLACED");
        const bool shows_it = each->version == look->version && each->job == id;
        const event* const change = happens || shows_it ? facts_.change_between(id, *look, *each) : nullptr;
        if (change != nullptr) breach("version: {} {} {}", show(*look), show(*change), show(*each));
        const bool is_refused = each->answer == "OTHER_VERSION" && each->wanted_version == look->version;
        const bool is_shown_changed = each->version != 0 && each->job == id && each->version != look->version;
        if (((is_refused && each->asked == id) || is_shown_changed) && !facts_.may_have_changed(id, *look, *each)) {
          breach("lie: other version {} {}", show(*look), show(*each));
        }
      }
    }
  }

  /// Impatient: a reserve ends without a job before its timeout. Late: it ends after that.
  void check_wait(const event& it) {
    if (!it.timeout || !it.end || it.given_up || it.answer != "TIMED_OUT") return;
    const duration wait(*it.timeout);
    if (it.end->time < it.begin.time + wait) breach("impatient: {}", show(it));
    const bool is_late = it.prompt && !judged_.has_stalls && it.end->time > it.front.time + wait + lateness;
    if (is_late) breach("late: after its timeout {}", show(it));
  }

  /// Missed: a reserve brings fewer jobs than it has asked for, although another one was ready all the time.
  void check_missed(const event& it) {
    if (!it.once.empty()) return;
    const bool has_few = it.answer == "TIMED_OUT" || (it.answer == "RESERVED" && it.brought < it.count);
    if (!has_few || !it.end || it.given_up || judged_.has_clocks_apart) return;
    for (const auto& [id, put] : facts_.puts()) {
      if (id == it.job || !it.watched.contains(put->tube) || put->end->order > it.begin.order) continue;
      if (facts_.latest_due(*put) >= judged_.wall.trough(it.begin.time, it.end->time)) continue;
      if (facts_.may_be_paused(put->tube, it.end->order) || !facts_.is_untouched(id, it.end->time, nullptr)) continue;
      breach("missed: {} {}", show(*put), show(it));
    }
  }

  /// Wrong page: at the end, pages of the store, one behind the other, have the delayed jobs that are there. They may
  /// have others of which no client has heard.
  void check_last_pages() {
    for (const auto& [prefix, listed] : judged_.listed) {
      std::vector<std::pair<jobs::utc_time, jobs::job_id>> right;
      for (const auto& [id, job] : judged_.left) {
        if (job.state == jobs::job_state::delayed && job.tube.starts_with(prefix)) right.emplace_back(job.due, id);
      }
      std::ranges::sort(right);
      std::vector<std::pair<jobs::utc_time, jobs::job_id>> all;
      std::vector<std::pair<jobs::utc_time, jobs::job_id>> known;
      for (const jobs::due_job& each : listed) {
        all.emplace_back(each.due, each.id);
        if (judged_.left.contains(each.id)) known.push_back(all.back());
      }
      const bool is_in_order = std::ranges::is_sorted(all) && std::ranges::adjacent_find(all) == all.end();
      if (known != right || !is_in_order) {
        breach("wrong page: at the end there are {} of {} delayed jobs in '{}'", known.size(), right.size(), prefix);
      }
    }
  }

  /// Left: no job is reserved after a start of the server, and no two have the same key.
  void check_left() {
    std::set<std::pair<std::string, std::string>> keys;
    for (const auto& [id, job] : judged_.left) {
      if (job.state == jobs::job_state::reserved) breach("left: job {} is reserved at the end", id);
      if (!job.key.empty() && !keys.emplace(job.tube, job.key).second) breach("left: two jobs are {}", job.key);
    }
  }

  const history& judged_;
  const facts facts_;
  std::vector<std::string> found_;
};

}  // namespace

std::string shown(const event& it) { return show(it); }

std::vector<std::string> breaches(const history& of) { return checker(of).check(); }

}  // namespace foliot::program::worlds
