#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "world.hpp"

namespace foliot::jobs::nodes {

namespace {

/// How often a thing was committed: in the history that is there now, and in one that a failover has lost.
struct count {
  std::size_t now = 0;
  std::size_t lost = 0;

  /// A failover may have lost it, and also a commit whose number was looked up afterwards.
  [[nodiscard]] bool is_once() const { return now == 1 || (now == 0 && lost > 0); }
};

using token_key = std::pair<effect::kind, reservation>;

class history {
 public:
  explicit history(world& in) : in_(in) {
    for (const auto& each : in.databases) {
      for (const effect& one : each->primary().log()) add(one, &count::now);
      for (const effect& one : each->lost) add(one, &count::lost);
    }
  }

  void expect_once() {
    for (const auto& [body, times] : puts_) {
      if (times.now > 1) breach("once: '" + body + "' was put " + std::to_string(times.now) + " times");
    }
    for (const auto& [key, times] : tokens_) {
      if (times.now > 1)
        breach("once: a change by the token of the job " + std::to_string(key.second.id) + " came twice");
    }
    expect_asked();
    for (const request& each : in_.requests) expect_fate(each);
    std::set<reservation> received;
    for (const receipt& each : in_.receipts) {
      if (!received.insert(each.token).second) breach("once: two clients got '" + each.body + "' by one token");
      if (!tokens_[{effect::kind::claim, each.token}].is_once()) breach("once: the claim of '" + each.body + "'");
    }
  }

  /// A put_all has put all of its jobs, or none, and ended the job whose holder it shows, or not.
  void expect_together() {
    std::map<std::size_t, std::set<std::size_t>> times;
    for (const request& each : in_.requests) {
      if (each.group != 0) times[each.group].insert(times_of(each).now);
    }
    for (const auto& [group, counts] : times) {
      if (counts.size() > 1) breach("together: only a part of a put_all has happened");
    }
  }

  /// A client that ends a job had it: nobody else got the job before, and nobody at all gets a finished one. It has the
  /// job until it ends it, unless time ends the reservation.
  void expect_held() {
    std::map<job_id, std::vector<const receipt*>> all;
    for (const receipt& each : in_.receipts) all[each.token.id].push_back(&each);
    for (const request& each : in_.requests) {
      if (each.what == request::kind::put || each.became != request::fate::done) continue;
      for (const receipt* const got : all[each.token.id]) {
        const bool is_late = each.what == request::kind::finish || got->order < each.begin;
        const bool is_later = got->token.attempt > each.token.attempt && is_late;
        if (is_later && !is_lost({effect::kind::claim, got->token}) && !is_lost({kind_of(each.what), each.token})) {
          breach("held: the job " + std::to_string(each.token.id) + " was ended by a client that had lost it");
        }
      }
    }
    for (const effect& each : given_back_) {
      for (const receipt* const got : all[each.token.id]) {
        if (got->token == each.token && each.time < got->given_up) {
          breach("held: the reservation of '" + got->body + "' was given back, and its client has it");
        }
      }
    }
  }

  void expect_not_early() {
    if (in_.has_clocks_apart) return;
    std::map<std::string, instant> due;
    std::map<std::pair<job_id, decltype(reservation::attempt)>, instant> due_after_release;
    for (const request& each : in_.requests) {
      if (each.what == request::kind::put) due[each.body] = each.due;
      const bool is_release = each.what == request::kind::release && each.became == request::fate::done;
      if (is_release && !is_lost({effect::kind::release, each.token})) {
        due_after_release[{each.token.id, each.token.attempt + 1}] = each.due;
      }
    }
    for (const receipt& each : in_.receipts) {
      if (each.time < due[each.body]) breach("early: a client got '" + each.body + "' before it was due");
      const auto released = due_after_release.find({each.token.id, each.token.attempt});
      if (released == due_after_release.end() || is_lost({effect::kind::claim, each.token})) continue;
      if (each.time < released->second) breach("early: a client got '" + each.body + "' again before it was due");
    }
  }

  /// One client that gets all jobs of a database gets them by priority, and then in the order of their puts.
  void expect_order() {
    if (in_.databases.size() > 1) return;
    std::map<std::string, priority> priorities;
    for (const request& each : in_.requests) {
      if (each.what == request::kind::put) priorities[each.body] = each.priority;
    }
    std::pair<priority, job_id> before{};
    for (const receipt& each : in_.receipts) {
      if (!each.is_of_drain) continue;
      const std::pair rank(priorities[each.body], each.token.id);
      if (rank < before) breach("order: '" + each.body + "' came too late");
      before = rank;
    }
  }

  /// A change that expects a version gives the job another one.
  void expect_one_edit() {
    if (in_.loses_commits) return;
    for (const auto& [version, times] : in_.done_edits) {
      if (times > 1) breach("version: one of the job " + std::to_string(version.first) + " was changed twice");
    }
  }

  /// A process uses no server that it knows to be replaced.
  void expect_no_old_primary() {
    for (const auto& each : in_.databases) {
      if (each->confirmed_by_known_old > 0) breach("replaced: a primary that was known to be replaced was used");
    }
  }

  /// All jobs have ended at the end of a world.
  void expect_nothing_left() {
    for (const auto& each : in_.databases) {
      const content& stored = each->primary().stored();
      for (const auto& one : stored.jobs.entries()) {
        breach("left: '" + one.job.body + "' in the state " + std::to_string(static_cast<int>(one.job.state)));
      }
      if (!stored.registrations.empty()) breach("left: a registration");
      if (each->primary().has_kept_for_nobody) breach("left: a reservation for a registration that was over");
    }
    for (const auto& [body, times] : puts_) {
      if (times.now == 0) continue;
      const bool was_received =
          std::ranges::any_of(in_.receipts, [&](const receipt& each) { return each.body == body; });
      if (!was_received) breach("left: no client got '" + body + "'");
    }
  }

 private:
  void breach(std::string what) { in_.breaches.push_back(std::move(what)); }

  void add(const effect& one, std::size_t count::* where) {
    if (one.what == effect::kind::put) {
      ++(puts_[one.body].*where);
    } else {
      ++(tokens_[{one.what, one.token}].*where);
    }
    if (one.what == effect::kind::abandon) given_back_.push_back(one);
  }

  static effect::kind kind_of(request::kind what) {
    if (what == request::kind::finish) return effect::kind::finish;
    return what == request::kind::release ? effect::kind::release : effect::kind::bury;
  }

  const count& times_of(const request& of) {
    return of.what == request::kind::put ? puts_[of.body] : tokens_[{kind_of(of.what), of.token}];
  }

  /// No job that a client has received ends, or changes, by itself. Reservations are given back without a request.
  void expect_asked() {
    std::set<token_key> asked;
    for (const request& each : in_.requests) {
      if (each.what != request::kind::put) asked.insert({kind_of(each.what), each.token});
    }
    for (const auto& [key, times] : tokens_) {
      if (key.first == effect::kind::claim || key.first == effect::kind::abandon || asked.contains(key)) continue;
      breach("once: the job " + std::to_string(key.second.id) + " was changed by its token, and nobody asked for it");
    }
  }

  bool is_lost(const token_key& what) { return tokens_[what].now == 0; }

  void expect_fate(const request& each) {
    const count& times = times_of(each);
    const std::string name =
        "once: the change " + std::to_string(static_cast<int>(each.what)) + " of '" + each.body + "' ";
    if (each.became == request::fate::unanswered) breach(name + "has no answer");
    if (each.became == request::fate::done && !times.is_once()) {
      breach(name + "was answered, and was committed " + std::to_string(times.now) + " times");
    }
    if (each.became == request::fate::refused && times.now > 0) breach(name + "was refused, and is committed");
  }

  world& in_;
  std::map<std::string, count> puts_;
  std::map<token_key, count> tokens_;
  std::vector<effect> given_back_;
};

}  // namespace

void judge(world& in) {
  history all(in);
  all.expect_once();
  all.expect_together();
  all.expect_held();
  all.expect_not_early();
  all.expect_order();
  all.expect_one_edit();
  all.expect_no_old_primary();
  all.expect_nothing_left();
}

}  // namespace foliot::jobs::nodes
