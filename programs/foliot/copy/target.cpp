#include "copy/target.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/jobs/names.hpp>

#include "text/printable.hpp"

namespace foliot::program::copying {

namespace {

constexpr std::uint64_t longest_seconds = std::numeric_limits<std::uint32_t>::max();
/// A delay of more than this is that of a job which is to be buried, not one that a client chose.
constexpr std::uint64_t hidden_seconds = longest_seconds - 100'000'000;

bool is_delayed_too_long(const job_record& job) {
  return job.state == jobs::job_state::delayed && job.seconds_left >= longest_seconds;
}

/// Rounded up, so that the job is not early: less than a second is missing in seconds_left.
std::uint64_t delay_of(const job_record& job) {
  switch (job.state) {
    case jobs::job_state::delayed: return job.seconds_left + 1;
    case jobs::job_state::buried: return longest_seconds;
    case jobs::job_state::ready:
    case jobs::job_state::reserved: break;
  }
  return 0;
}

std::string due_of(const job_record& job) {
  if (job.state == jobs::job_state::delayed && job.due) return fmt::format("@{}", *job.due);
  return fmt::format("{}", delay_of(job) * 1000);
}

/// Of a put: a key that its own client chose is not taken from another job.
std::string_view policy_for(const full_job& job) { return job.record.key.empty() ? "replace" : "keep"; }

std::string key_of(const job_record& job, const std::string& instance) {
  if (!job.key.empty()) return job.key;
  return instance.empty() ? "-" : fmt::format("copy-{}-{}", instance, job.id);
}

/// Whether a worker of the target may get the copy before the job is due at the source. A copy that a worker has, or
/// that is buried, does not count.
bool is_earlier(const job_record& copy, const job_record& job) {
  using enum jobs::job_state;
  if (job.state == buried) return copy.state == ready || (copy.state == delayed && copy.seconds_left < hidden_seconds);
  if (job.state != delayed || !job.due) return false;
  const auto now = wall_clock::instance().now().nanoseconds() / 1'000'000;
  if (*job.due <= static_cast<std::uint64_t>(now)) return false;
  return copy.state == ready || (copy.state == delayed && copy.due.value_or(0) < *job.due);
}

}  // namespace

task<> target::connect() {
  auto connecting = link_.connect();
  co_await connecting;
  auto learning = link_.learn();
  facts_ = co_await learning;
}

task<std::vector<placement>> target::place(const std::vector<full_job>& jobs, const std::string& instance) {
  std::vector<placement> all(jobs.size());
  std::set<jobs::job_id> given;
  std::map<std::string_view, std::vector<std::size_t>> by_tube;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    all[i].reason = refusal(jobs[i]);
    if (all[i].reason.empty()) {
      by_tube[jobs[i].record.tube].push_back(i);
    } else {
      all[i].what = placement::kind::refused;
    }
  }
  for (const auto& [tube, which] : by_tube) {
    // Not together with the puts: where it fails, they would go to the tube before.
    auto using_it = use(std::string(tube));
    const std::string failed = co_await using_it;
    std::string requests;
    for (const std::size_t i : which) add_put(requests, jobs[i], instance, policy_for(jobs[i]));
    std::vector<server_reply> replies;
    if (failed.empty()) {
      auto asking = link_.exchange(std::move(requests), which.size());
      replies = co_await asking;
    }
    for (std::size_t n = 0; n < which.size(); ++n) {
      const std::size_t i = which[n];
      if (!failed.empty()) {
        all[i].reason = failed;
        continue;
      }
      all[i] = placed(jobs[i], replies[n], policy_for(jobs[i]));
      if (all[i].what == placement::kind::placed && !given.insert(all[i].id).second)
        throw link_.contradiction(fmt::format("says of two jobs that it has put them as job {}", all[i].id));
      if (replies[n].word == "IS_RESERVED") {
        auto checking = check_reserved(jobs[i], instance, all[i].id);
        co_await checking;
      }
      if (all[i].what == placement::kind::stopped && all[i].id != 0) {  // it is there, buried, and on no disk
        auto ending = take_back({all[i].id});
        co_await ending;
      }
      if (!all[i].is_foreign) continue;
      auto comparing = compare(jobs[i], all[i]);
      co_await comparing;
    }
  }
  std::vector<buried_copy> to_bury;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].record.state == jobs::job_state::buried && all[i].what == placement::kind::placed)
      to_bury.push_back({&jobs[i].record, &all[i]});
  }
  auto burying = bury(std::move(to_bury));
  co_await burying;
  co_return all;
}

task<bool> target::place_again(const full_job& job, const std::string& instance, jobs::job_id before) {
  auto using_it = use(job.record.tube);
  std::string failed = co_await using_it;
  std::string request;
  add_put(request, job, instance, "replace");
  server_reply reply;
  if (failed.empty()) {
    auto asking = link_.ask(std::move(request));
    reply = co_await asking;
  }
  placement copy;
  if (failed.empty()) copy = placed(job, reply, "replace");
  if (reply.word == "IS_RESERVED") co_return false;
  if (copy.what == placement::kind::placed && job.record.state == jobs::job_state::buried) {
    std::vector<buried_copy> to_bury{buried_copy{&job.record, &copy}};
    auto burying = bury(std::move(to_bury));
    co_await burying;
  }
  if (copy.what != placement::kind::placed) {
    throw failure(
        fmt::format("job {} of tube '{}' was changed at its source while it was moved, and {} cannot take the "
                    "change: {}; it is there as job {}, as it was before",
                    job.record.id, job.record.tube, name(), failed.empty() ? copy.reason : failed, before));
  }
  if (reply.word == "REPLACED") co_return false;
  auto ending = take_back({before});
  const std::size_t missing = co_await ending;
  co_return missing > 0;
}

task<std::size_t> target::take_back(std::vector<jobs::job_id> ids) {
  std::string requests;
  for (const jobs::job_id id : ids) requests += fmt::format("delete {}\r\n", id);
  auto asking = link_.exchange(std::move(requests), ids.size());
  const auto replies = co_await asking;
  std::size_t missing = 0;
  for (const server_reply& each : replies) {
    if (each.word != "DELETED" && each.word != "NOT_FOUND") throw link_.unexpected("delete", each);
    if (each.word == "NOT_FOUND") ++missing;
  }
  co_return missing;
}

/// Why this job cannot be at the target, as far as is known before it was asked; else empty.
std::string target::refusal(const full_job& job) const {
  const std::string& key = job.record.key;
  if (facts_.is_foliot && !key.empty() && !jobs::is_command_key(key)) {
    return fmt::format("its key '{}' cannot be in a command: that takes 1 to {} visible ASCII characters",
                       printable(key), jobs::longest_command_key);
  }
  if (job.body_size > facts_.max_job_size) {
    return fmt::format("its body of {} bytes is over the limit of {} bytes at {}", job.body_size, facts_.max_job_size,
                       name());
  }
  if (job.record.fields.bytes().size() > facts_.most_field_bytes) {
    return fmt::format("it has fields of {} bytes, and {} takes {}", job.record.fields.bytes().size(), name(),
                       facts_.most_field_bytes == 0 ? "none" : fmt::format("{} at most", facts_.most_field_bytes));
  }
  if (job.record.state == jobs::job_state::buried && !facts_.can_reserve_job)
    return fmt::format("nothing can be buried at {}, which is older than beanstalkd 1.12", name());
  const bool is_exact = facts_.is_foliot && job.record.due;
  if (is_delayed_too_long(job.record) && !is_exact)
    return fmt::format("it is due in {} seconds, and {} takes {} at most", job.record.seconds_left, name(),
                       longest_seconds);
  return {};
}

void target::add_put(std::string& requests, const full_job& job, const std::string& instance,
                     std::string_view policy) const {
  const job_record& record = job.record;
  const std::string_view fields = record.fields.bytes();
  std::string_view history = record.history.bytes();
  if (history.size() > facts_.most_field_bytes) history = {};
  if (facts_.is_foliot) {
    const std::string sizes =
        fields.empty() && history.empty() ? "" : fmt::format(" {} {}", fields.size(), history.size());
    requests += fmt::format("x-put {} {} {} {} {} {}{}\r\n", policy, key_of(record, instance), record.priority,
                            due_of(record), std::max<std::int64_t>(record.ttr.count(), 1), job.body.size(), sizes);
  } else {
    const auto ttr = std::chrono::ceil<std::chrono::seconds>(record.ttr);
    requests += fmt::format("put {} {} {} {}\r\n", record.priority, delay_of(record), ttr.count(), job.body.size());
  }
  requests += job.body;
  requests += fields;
  requests += history;
  requests += "\r\n";
}

placement target::placed(const full_job& job, const server_reply& reply, std::string_view policy) const {
  const bool may_replace = facts_.is_foliot && policy == "replace";
  const bool may_keep = facts_.is_foliot && policy == "keep";
  placement copy;
  copy.id = reply.number;
  // IS_RESERVED: the copy of an earlier run, which a worker has.
  const bool was_there =
      (may_replace && (reply.word == "REPLACED" || reply.word == "IS_RESERVED")) || (may_keep && reply.word == "KEPT");
  if (was_there || reply.word == "INSERTED") {
    link_.expect(reply, reply.word, "put");
    copy.what = placement::kind::placed;
    copy.is_foreign = reply.word == "KEPT";
  } else if (reply.word == "JOB_TOO_BIG") {
    copy.what = placement::kind::refused;
    copy.reason = fmt::format("its body of {} bytes is too big for {}", job.body.size(), name());
  } else if (reply.word == "DRAINING") {
    copy.reason = fmt::format("{} drains: it takes no more jobs until it is started again", name());
  } else if (reply.word == "OUT_OF_MEMORY") {
    copy.reason = fmt::format("{} has no room for more jobs", name());
  } else if (reply.word == "BURIED" && reply.number > 0) {
    copy.reason = fmt::format("{} could not write job {} to its log, and has buried it", name(), reply.number);
  } else {
    throw link_.unexpected("put", reply);
  }
  return copy;
}

/// Uses the tube. Returns why that failed, or an empty text.
task<std::string> target::use(std::string tube) {
  const std::string request = fmt::format("use {}\r\n", tube);
  auto asking = link_.ask(request);
  const server_reply reply = co_await asking;
  if (reply.word == "OUT_OF_MEMORY") co_return fmt::format("{} has no room for tube '{}'", name(), tube);
  link_.expect_using(reply, tube, request);
  co_return std::string();
}

/// The job is not put, because the target says that a worker has the copy of an earlier run: asks for that copy.
task<> target::check_reserved(const full_job& job, const std::string& instance, jobs::job_id id) {
  const std::string request = fmt::format("x-stats-job {}\r\n", id);
  auto asking = link_.ask(request);
  const server_reply reply = co_await asking;
  if (reply.word == "NOT_FOUND") co_return;  // the worker has ended it meanwhile
  link_.expect(reply, "OK", request);
  const auto there = client::parse_job(reply.body);
  if (there && there->id == id && there->tube == job.record.tube && there->key == key_of(job.record, instance))
    co_return;
  throw link_.contradiction(
      fmt::format("says that job {} is the copy of job {}, and shows another job", id, job.record.id));
}

/// Refuses the job if the one that has its key is another one, or is due before it.
task<> target::compare(const full_job& job, placement& kept) {
  wanted_replies wanted;
  wanted.of_job = job.body.size();  // a larger one is another one
  auto asking = link_.exchange(fmt::format("peek {}\r\nx-stats-job {}\r\n", kept.id, kept.id), 2, wanted);
  const auto replies = co_await asking;
  if (replies[0].word != "NOT_FOUND") link_.expect(replies[0], "FOUND", "peek");
  if (replies[1].word != "NOT_FOUND") link_.expect(replies[1], "OK", "x-stats-job");
  const auto there = client::parse_job(replies[1].body);
  const bool is_right =
      replies[1].word == "NOT_FOUND" ||
      (there && there->id == kept.id && there->tube == job.record.tube && there->key == job.record.key);
  if (!is_right || (replies[0].word == "FOUND" && replies[0].number != kept.id))
    throw link_.contradiction(
        fmt::format("says that job {} has the key '{}', and shows another job", kept.id, job.record.key));
  const bool is_same = replies[0].word == "FOUND" && replies[0].size == job.body.size() &&
                       replies[0].body == job.body && (!there || there->fields == job.record.fields);
  if (is_same && !(there && is_earlier(*there, job.record))) co_return;
  kept.what = placement::kind::refused;
  kept.reason = is_same ? fmt::format("{} has it as job {}, which is due earlier", name(), kept.id)
                        : fmt::format("{} has another job with its key '{}', job {}", name(), job.record.key, kept.id);
}

/// Buries copies that are hidden by their delay. One that a client of the target has changed meanwhile stays as it is;
/// one that cannot be buried is taken back.
task<> target::bury(std::vector<buried_copy> copies) {
  std::string looks;
  for (const buried_copy& each : copies) looks += fmt::format("stats-job {}\r\n", each.copy->id);
  auto looking = link_.exchange(std::move(looks), copies.size());
  const auto seen = co_await looking;
  std::vector<buried_copy> hidden;
  std::string requests;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (seen[i].word == "NOT_FOUND") continue;  // a client of the target has ended it
    link_.expect(seen[i], "OK", "stats-job");
    const auto now = client::parse_job(seen[i].body);
    if (!now || now->id != copies[i].copy->id || now->tube != copies[i].job->tube) {
      throw link_.contradiction(
          fmt::format("says that it has put job {}, and shows another job or none", copies[i].copy->id));
    }
    if (now->state != jobs::job_state::delayed || now->seconds_left < hidden_seconds) continue;
    hidden.push_back(copies[i]);
    requests += fmt::format("reserve-job {}\r\nbury {} {}\r\n", now->id, now->id, copies[i].job->priority);
  }
  auto asking = link_.exchange(std::move(requests), 2 * hidden.size());
  const auto replies = co_await asking;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const server_reply& reserved = replies[2 * i];
    const server_reply& buried = replies[2 * i + 1];
    const bool is_reserved = reserved.word == "RESERVED" && reserved.number == hidden[i].copy->id;
    if (is_reserved && buried.word == "BURIED" && buried.number == 0) continue;
    auto ending = take_back({hidden[i].copy->id});
    const std::size_t missing = co_await ending;
    if (missing > 0 && buried.word == "NOT_FOUND") continue;  // a worker has it
    hidden[i].copy->what = placement::kind::stopped;
    hidden[i].copy->reason = fmt::format("{} cannot bury jobs now: it answered {}", name(),
                                         buried.word == "BURIED" ? reserved.word : buried.word);
  }
}

}  // namespace foliot::program::copying
