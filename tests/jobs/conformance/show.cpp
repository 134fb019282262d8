#include "show.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string_view>

#include "request.hpp"

namespace foliot::jobs::conformance {
namespace {

using std::to_string;

template <class Kind>
std::string_view name_of(Kind kind, std::span<const std::string_view> names) {
  return names[static_cast<std::size_t>(kind)];
}

constexpr std::array<std::string_view, 4> state_names{"delayed", "ready", "reserved", "buried"};
constexpr std::array<std::string_view, 8> put_names{"inserted", "kept",     "replaced",      "exists",
                                                    "reserved", "no_space", "other_version", "other request"};
constexpr std::array<std::string_view, 3> holder_names{"done", "not_held", "no_space"};
constexpr std::array<std::string_view, 6> change_names{"done", "reserved", "refused",
                                                       "gone", "no_space", "other_version"};
constexpr std::array<std::string_view, 3> holder_kind_names{"none", "of a job that is held", "of late"};
constexpr std::array<std::string_view, 4> expectation_names{"nothing", "the present version", "the first version",
                                                            "a forged version"};

std::string named(std::string_view kind, job_id id) { return std::string(kind) + " " + to_string(id); }

}  // namespace

std::string show(std::uint64_t number) { return to_string(number); }

std::string show(const reservation& token) {
  return to_string(token.id) + "/" + to_string(token.opening) + "/" + to_string(token.attempt);
}

std::string show(job_state state) { return std::string(name_of(state, state_names)); }

std::string show(utc_time when) {
  return when == utc_time::max() ? "none" : to_string(when.time_since_epoch().count()) + " ms";
}

std::string show(instant when) { return when.is_never() ? "never" : to_string(when.nanoseconds()) + " ns"; }

std::string show(const job_counters& counters) {
  return "reserves " + to_string(counters.reserves) + ", timeouts " + to_string(counters.timeouts) + ", releases " +
         to_string(counters.releases) + ", buries " + to_string(counters.buries) + ", kicks " +
         to_string(counters.kicks);
}

std::string show(const job_fields& fields) {
  std::string text = "(";
  for (const job_fields::entry each : fields) {
    text += (text.size() > 1 ? ", " : "") + to_string(each.tag) + ": " + to_string(each.value.size()) + " bytes '";
    text += std::string(each.value.substr(0, 20)) + "'";
  }
  return text + ")";
}

std::string show(const job_counts& counts) {
  return "urgent " + to_string(counts.urgent) + ", ready " + to_string(counts.ready) + ", reserved " +
         to_string(counts.reserved) + ", delayed " + to_string(counts.delayed) + ", buried " + to_string(counts.buried);
}

std::string show(const job& it) {
  return "{id " + to_string(it.id) + ", tube " + it.tube + ", key '" + it.key + "', body '" + it.body + "', priority " +
         to_string(it.priority) + ", " + show(it.state) + ", made " + show(it.made) + ", due " + show(it.due) +
         ", delay " + to_string(it.delay.count()) + " ms, ttr " + to_string(it.ttr.count()) + " ms, expires " +
         show(it.expires) + ", " + show(it.counters) + ", fields " + show(it.fields) + ", history " + show(it.history) +
         "}";
}

std::string show(const put_answer& it) {
  return named(name_of(it.what, put_names), it.id) + (it.is_replayed ? ", replayed" : "");
}

std::string show(const put_all_answer& it) {
  if (it.what == put_all_answer::kind::several_databases) return "several databases";
  if (it.what == put_all_answer::kind::refused) return "refused at " + to_string(it.place) + ": " + show(it.why);
  if (it.what == put_all_answer::kind::other_request) return "other request";
  std::string text = it.is_replayed ? "all put, replayed:" : "all put:";
  for (const put_answer& each : it.puts) text += " " + show(each);
  return text;
}

std::string show(const claim_answer& it) {
  std::string text = it.is_replayed ? "claimed, replayed" : "claimed";
  for (const claimed_job& each : it.jobs) text += " " + show(each.token) + " " + show(each.job);
  if (it.what == claim_answer::kind::cut_short) text += ", cut short";
  if (it.what == claim_answer::kind::no_space) text += ", no space";
  if (it.what == claim_answer::kind::other_request) text += ", other request";
  return text;
}

std::string show(const holder_answer& it) {
  return std::string(name_of(it.what, holder_names)) + ", expires " + show(it.expires);
}

std::string show(const change_answer& it) { return named(name_of(it.what, change_names), it.id); }
std::string show(const bulk_answer& it) {
  return to_string(it.changed) + " changed" + (it.what == bulk_answer::kind::no_space ? ", no space" : "");
}
std::string show(const pause_answer&) { return "paused"; }
std::string show(const peek_answer& it) { return it.job ? show(*it.job) : "no job"; }
std::string show(const count_answer& it) {
  return (it.what == count_answer::kind::cut_short ? "at least " : "") + show(it.counts) + ", paused until " +
         show(it.paused_until);
}

std::string show(const tubes_answer& it) {
  std::string text = "tubes";
  for (const std::string& each : it.tubes) text += " " + each;
  for (const count_answer& each : it.counts) text += ", " + show(each);
  return text + (it.next.empty() ? "" : ", next behind " + it.next);
}

std::string show(const due_answer& it) {
  std::string text = "due";
  for (const due_job& each : it.jobs) {
    text += " {id " + to_string(each.id) + ", tube " + each.tube + ", " + show(each.state) + ", due " + show(each.due) +
            "}";
  }
  return text;
}

std::string show(const nodes_answer& it) {
  std::string text = "at " + show(it.now);
  for (const listed_node& each : it.nodes) {
    text += " {" + each.name + ", since " + show(each.since) + ", heard " + show(each.heard) + "}";
  }
  return text;
}

std::string show(const jobs_answer& it) {
  const auto place = [](const job_place& at) { return to_string(at.rank) + "/" + to_string(at.id); };
  std::string text = "at " + show(it.now);
  for (const listed_job& each : it.jobs) text += " " + place(each.place) + " " + show(each.job);
  return text + (it.next ? ", next behind " + place(*it.next) : "");
}

std::string show(const passed_over_answer&) { return "passed over"; }
std::string show(const unavailable_answer& it) {
  return std::string(it.is_in_doubt ? "in doubt: " : "not executed: ") + it.why;
}

std::ostream& operator<<(std::ostream& out, const request& it) {
  const std::string_view name = detail::table::operations.at(it.what).name;
  const auto among = [name](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  const bool of_job = among({"cancel", "reschedule", "fire_now", "peek"});
  const bool of_token = among({"finish", "release", "abandon", "bury", "touch"});
  const bool of_tube = among({"put", "put_all", "claim", "kick", "pause", "peek_first", "count_tube", "clear_tube",
                              "list_tubes", "list_jobs"});
  out << name << "{";
  if (of_tube || (of_job && it.by_key)) out << " tube " << it.tube;
  if (name == "claim") out << " and " << it.other_tube;
  if (among({"put", "put_all"})) {
    out << " key " << it.key << " existing " << static_cast<int>(it.existing) << " ttr " << it.ttr;
  }
  if (name == "put_all") out << " back " << it.back << " by_key " << it.by_key << " refuses " << it.with_priority;
  if (of_job && it.by_key) out << " key " << it.key + 1;
  if ((of_job && !it.by_key) || among({"claim_job", "kick_job"})) out << " job " << it.back << " back";
  if (of_token) out << (it.forged ? " forged" : "") << " token " << it.back << " back";
  const bool puts = among({"put", "put_all"});
  if (puts || (it.with_priority && among({"release", "bury"}))) out << " priority " << it.priority;
  if (puts && it.fields != 0) out << " fields " << it.fields;
  if (it.history != 0 && (puts || among({"release", "bury"}))) out << " history " << it.history;
  if (puts || among({"release", "reschedule", "pause"}))
    out << " at " << it.ahead << " ms" << (it.utc ? " from now" : "");
  if (it.once != 0 && (puts || name == "claim")) {
    out << " once " << it.once << (it.other_request ? " of another request" : "") << " for " << it.lifetime << " ms";
  }
  if (it.expects != expectation::nothing && (puts || among({"kick_job", "cancel", "reschedule", "fire_now"}))) {
    out << " expects " << name_of(it.expects, expectation_names);
  }
  if (puts && it.holder != shown_holder::none) {
    out << " holder " << name_of(it.holder, holder_kind_names) << (it.forged ? ", forged" : "") << " " << it.back
        << " back";
  }
  if (name == "peek_first") out << " " << show(it.state);
  if (name == "list_jobs") {
    const std::string_view of_state = it.utc ? "reserved" : it.forged ? "any" : name_of(it.state, state_names);
    out << " " << of_state << (it.with_priority ? " by prefix" : "") << " behind job " << it.back << " back";
  }
  if (among({"claim", "kick", "list_due", "clear_tube", "list_tubes", "list_jobs"})) out << " count " << it.count;
  return out << " }";
}

std::ostream& operator<<(std::ostream& out, const step& it) {
  out << "\n  after " << it.pass.count() << " ns";
  if (it.wall != duration::zero()) out << ", wall clock set by " << it.wall.count() << " ns";
  if (it.failing_call != 0) out << ", call " << it.failing_call << " to the disk fails";
  if (it.reopen) return out << ": " << (it.crash ? "crash" : "orderly end") << " and reopening";
  for (const request& each : it.batch) out << "\n    " << each;
  return out;
}

}  // namespace foliot::jobs::conformance
