#include "copy/source.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "server/core/tube_name.hpp"
#include "text/printable.hpp"

namespace foliot::program::copying {

namespace {

/// Of some 300,000 tubes with the longest names.
constexpr std::uint64_t longest_list_of_tubes = std::uint64_t{64} << 20;
/// How much of an impossible name of a tube a message shows.
constexpr std::size_t longest_shown = 200;
/// Nothing if a count is missing: foliot leaves them out while its store is unavailable.
std::optional<jobs::job_counts> counts_of(std::string_view dictionary) {
  const auto ready = client::dictionary_number(dictionary, "current-jobs-ready");
  const auto reserved = client::dictionary_number(dictionary, "current-jobs-reserved");
  const auto delayed = client::dictionary_number(dictionary, "current-jobs-delayed");
  const auto buried = client::dictionary_number(dictionary, "current-jobs-buried");
  if (!ready || !reserved || !delayed || !buried) return std::nullopt;
  jobs::job_counts all;
  all.ready = *ready;
  all.reserved = *reserved;
  all.delayed = *delayed;
  all.buried = *buried;
  return all;
}

std::string_view peek_command(jobs::job_state state) {
  switch (state) {
    case jobs::job_state::delayed: return "peek-delayed";
    case jobs::job_state::buried: return "peek-buried";
    case jobs::job_state::ready:
    case jobs::job_state::reserved: break;
  }
  return "peek-ready";
}

}  // namespace

task<> source::connect() {
  auto connecting = link_.connect();
  co_await connecting;
  auto learning = link_.learn();
  facts_ = co_await learning;
}

task<> source::connect(server_facts known) {
  facts_ = std::move(known);
  return link_.connect();
}

task<std::vector<std::string>> source::tubes() {
  const std::string request = "list-tubes\r\n";
  auto asking = link_.ask(request, longest_list_of_tubes);
  const server_reply reply = co_await asking;
  link_.expect(reply, "OK", request);
  auto names = client::list_entries(reply.body);
  const auto strange = std::ranges::find_if_not(names, is_tube_name);
  if (strange != names.end()) {
    throw contradiction(fmt::format("has '{}' in its list of tubes, which cannot be the name of one",
                                    printable(std::string_view(*strange).substr(0, longest_shown))));
  }
  co_return names;
}

task<jobs::job_counts> source::counts() {
  const std::string request = "stats\r\n";
  auto asking = link_.ask(request);
  const server_reply reply = co_await asking;
  co_return counts_in(reply, request);
}

task<jobs::job_counts> source::counts(std::string tube) {
  const std::string request = fmt::format("stats-tube {}\r\n", tube);
  auto asking = link_.ask(request);
  const server_reply reply = co_await asking;
  if (reply.word == "NOT_FOUND") co_return jobs::job_counts();
  co_return counts_in(reply, request);
}

jobs::job_counts source::counts_in(const server_reply& reply, const std::string& request) const {
  link_.expect(reply, "OK", request);
  const auto counts = counts_of(reply.body);
  if (counts) return *counts;
  throw failure(fmt::format("{} does not say how many jobs it has: is its store available?", name()));
}

task<jobs::job_id> source::first(std::string tube, jobs::job_state state) {
  const std::string requests = fmt::format("use {}\r\n{}\r\n", tube, peek_command(state));
  auto asking = link_.exchange(requests, 2);
  const auto replies = co_await asking;
  link_.expect_using(replies[0], tube, requests);
  if (replies[1].word == "NOT_FOUND") co_return 0;
  link_.expect(replies[1], "FOUND", std::string(peek_command(state)));
  co_return replies[1].number;
}

task<std::vector<job_record>> source::look(jobs::job_id begin, jobs::job_id end) {
  std::vector<jobs::job_id> ids(end - begin);
  std::iota(ids.begin(), ids.end(), begin);
  return look_at(std::move(ids));
}

wanted_replies source::bodies_in(std::uint64_t room) const noexcept {
  wanted_replies wanted;
  wanted.of_job = largest_body_;
  wanted.in_all = room;
  wanted.first_in_any_case = room == most_room;
  return wanted;
}

bool source::is_left_out(const server_reply& job) const noexcept {
  return job.body.size() < job.size && job.size <= largest_body_;
}

task<std::vector<full_job>> source::read(std::vector<job_record> found, std::uint64_t room) {
  std::string requests;
  for (const job_record& each : found) requests += fmt::format("peek {}\r\n", each.id);
  auto asking = link_.exchange(std::move(requests), found.size(), bodies_in(room));
  auto replies = co_await asking;
  lacked_room_ = false;
  std::vector<full_job> jobs;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (replies[i].word == "NOT_FOUND") continue;
    link_.expect(replies[i], "FOUND", "peek");
    if (replies[i].number != found[i].id)
      throw contradiction(fmt::format("shows job {} to a peek at job {}", replies[i].number, found[i].id));
    if (is_left_out(replies[i])) {
      lacked_room_ = true;
    } else {
      jobs.push_back({std::move(found[i]), std::move(replies[i].body), replies[i].size});
    }
  }
  co_return jobs;
}

task<std::vector<full_job>> source::reserve(std::string tube, std::size_t count, std::uint64_t room) {
  if (tube != watched_) {
    const std::string requests = fmt::format("watch {}\r\nignore {}\r\n", tube, watched_);
    auto asking = link_.exchange(requests, 2);
    const auto replies = co_await asking;
    for (const server_reply& each : replies) link_.expect(each, "WATCHING", requests);
    if (replies[1].number != 1)
      throw contradiction(fmt::format("watches {} tubes where it was asked for one", replies[1].number));
    watched_ = tube;
  }
  const std::string request = "reserve-with-timeout 0\r\n";
  std::string requests;
  for (std::size_t i = 0; i < count; ++i) requests += request;
  auto asking = link_.exchange(std::move(requests), count, bodies_in(room));
  auto replies = co_await asking;
  for (const server_reply& each : replies) {
    const bool is_none = each.word == "TIMED_OUT" || each.word == "DEADLINE_SOON";
    if (!is_none) link_.expect(each, "RESERVED", request);
  }
  std::erase_if(replies, [](const server_reply& each) { return each.word != "RESERVED"; });
  // A job whose TTR ends meanwhile is reserved again.
  std::unordered_set<jobs::job_id> seen;
  std::erase_if(replies, [&seen](const server_reply& each) { return !seen.insert(each.number).second; });
  const auto left_out = std::erase_if(replies, [this](const server_reply& each) { return is_left_out(each); });
  lacked_room_ = left_out > 0;
  auto looking = with_records(std::move(replies));
  auto jobs = co_await looking;
  for (const full_job& each : jobs) {
    if (each.record.tube != tube) {
      throw contradiction(fmt::format("gives job {} to a worker of tube '{}', and says that the job is in tube '{}'",
                                      each.record.id, tube, each.record.tube));
    }
  }
  co_return jobs;
}

task<std::vector<full_job>> source::reserve_one(jobs::job_id id) {
  // Only if it is ready: a delayed job would be early if this connection ended behind the reservation.
  const std::string requests = fmt::format("reserve-job {}\r\n", id);
  auto looking = look(id, id + 1);
  const auto seen = co_await looking;
  std::vector<server_reply> replies;
  if (facts_.can_reserve_job && seen.size() == 1 && seen[0].state == jobs::job_state::ready) {
    auto asking = link_.exchange(requests, 1, bodies_in(most_room));
    replies = co_await asking;
  }
  std::erase_if(replies, [](const server_reply& each) { return each.word == "NOT_FOUND"; });
  for (const server_reply& each : replies) link_.expect(each, "RESERVED", requests);
  if (!replies.empty() && replies[0].number != id)
    throw contradiction(fmt::format("gives job {} to a reserve-job of job {}", replies[0].number, id));
  auto completing = with_records(std::move(replies));
  co_return co_await completing;
}

/// beanstalkd answers INTERNAL_ERROR when it has deleted the job and could not write that to its log.
removal::kind source::end_by(std::string_view reply) const noexcept {
  using enum removal::kind;
  if (reply == "DELETED") return deleted;
  if (reply == "NOT_FOUND") return gone;
  const bool is_refusal = reply == "OUT_OF_MEMORY" || (reply == "INTERNAL_ERROR" && facts_.is_foliot);
  return is_refusal ? refused : unknown;
}

task<std::vector<removal>> source::remove(std::vector<jobs::job_id> ids) {
  std::string requests;
  for (const jobs::job_id id : ids) {
    requests += fmt::format("{} {}\r\ndelete {}\r\n", facts_.is_foliot ? "x-stats-job" : "stats-job", id, id);
  }
  auto asking = link_.exchange(std::move(requests), 2 * ids.size());
  auto replies = co_await asking;
  std::vector<removal> all(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const server_reply& look = replies[2 * i];
    if (look.word == "OK") all[i].last = client::parse_job(look.body);
    if (all[i].last && all[i].last->id != ids[i])
      throw contradiction(fmt::format("shows job {} where job {} was asked for", all[i].last->id, ids[i]));
    all[i].reply = std::move(replies[2 * i + 1].word);
    all[i].what = end_by(all[i].reply);
  }
  co_return all;
}

task<std::vector<job_record>> source::look_at(std::vector<jobs::job_id> ids) {
  const std::string_view command = facts_.is_foliot ? "x-stats-job" : "stats-job";
  std::string requests;
  for (const jobs::job_id id : ids) requests += fmt::format("{} {}\r\n", command, id);
  auto asking = link_.exchange(std::move(requests), ids.size());
  const auto replies = co_await asking;
  std::vector<job_record> found;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const server_reply& each = replies[i];
    if (each.word == "NOT_FOUND") continue;
    auto record = client::parse_job(each.body);
    if (each.word != "OK" || !record) throw link_.unexpected(std::string(command), each);
    if (record->id != ids[i])
      throw contradiction(fmt::format("shows job {} where job {} was asked for", record->id, ids[i]));
    found.push_back(std::move(*record));
  }
  co_return found;
}

/// The jobs of RESERVED replies.
task<std::vector<full_job>> source::with_records(std::vector<server_reply> reserved) {
  std::vector<jobs::job_id> ids;
  for (const server_reply& each : reserved) ids.push_back(each.number);
  auto looking = look_at(std::move(ids));
  auto records = co_await looking;
  std::vector<full_job> jobs;
  for (job_record& each : records) {
    const auto body = std::ranges::find(reserved, each.id, &server_reply::number);
    // Where its TTR has ended already, another client may have it, or have released it with a delay.
    if (each.state == jobs::job_state::reserved) each.state = jobs::job_state::ready;
    jobs.push_back({std::move(each), std::move(body->body), body->size});
  }
  co_return jobs;
}

}  // namespace foliot::program::copying
