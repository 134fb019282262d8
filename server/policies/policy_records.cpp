#include "policy_records.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <system_error>

#include <fmt/format.h>

#include "policy_record.hpp"
#include "server/access/server_tubes.hpp"
#include "server/core/tube_name.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

using policy_answer = policy_records::answer;

/// Of requests that change a record at once, one does so in each turn: the last of a hundred takes a hundred tries.
constexpr int most_tries = 200;

known_policy known_of(std::string tube, const jobs::peek_answer& seen) {
  known_policy made;
  made.version = seen.version;
  made.changed = seen.job->due - seen.job->delay;  // a change by SQL keeps the time of the first put
  if (auto policy = read_policy(seen.job->body, tube)) {
    made.policy = *std::move(policy);
  } else {
    made.fault = sentence_of(policy.error());
  }
  made.tube = std::move(tube);
  return made;
}

/// The place behind which a page begins: all records are due at the same time.
std::optional<jobs::job_place> parse_policy_place(std::string_view text) {
  if (text.empty()) return jobs::job_place{};
  jobs::job_place place;
  const char* const end = text.data() + text.size();
  const auto rank = std::from_chars(text.data(), end, place.rank);
  if (rank.ec != std::errc() || rank.ptr == end || *rank.ptr != '.') return std::nullopt;
  const auto id = std::from_chars(rank.ptr + 1, end, place.id);
  if (id.ec != std::errc() || id.ptr != end) return std::nullopt;
  return place;
}

}  // namespace

policy_records::result policy_records::check(const condition& when, jobs::job_version present) noexcept {
  if (when.must_be_new && present != 0) return result::exists;
  if ((when.must_exist || when.expected) && present == 0) return result::other_version;
  if (when.expected && *when.expected != present) return result::other_version;
  return result::done;
}

task<jobs::peek_answer> policy_records::look(const std::string& tube, bool with_body) {
  auto looking = client_.execute_for_server(jobs::peek{jobs::job_key{std::string(tube_of_policies), tube}, with_body});
  jobs::peek_answer seen = co_await looking;
  co_return seen;
}

task<std::optional<policy_answer>> policy_records::try_to_put(const jobs::put& record, condition when) {
  using kind = jobs::put_answer::kind;
  auto looking = look(record.key, true);
  const jobs::peek_answer seen = co_await looking;
  answer came;
  came.version = seen.job ? seen.version : 0;
  came.what = check(when, came.version);
  if (came.what != result::done) co_return came;
  came.is_same = seen.job && seen.job->body == record.body;
  if (came.is_same) co_return came;
  if (!seen.job && in_force_.records_seen() >= policies_in_force::most) {
    came.what = result::too_many;
    co_return came;
  }
  if (expect_) expect_();
  jobs::put what = record;
  what.existing = seen.job ? jobs::on_existing::replace : jobs::on_existing::refuse;
  what.expected = came.version;
  auto putting = client_.execute_for_server(std::move(what));
  const jobs::put_answer done = co_await putting;
  came.is_new = done.what == kind::inserted;
  if (done.what == kind::no_space) came.what = result::no_space;
  if (done.what == kind::reserved) came.what = result::busy;
  if (came.what != result::done) co_return came;
  if (jobs::is_refused(done)) co_return std::nullopt;
  auto reading = in_force_.read_after_change();
  co_await reading;
  came.version = 0;
  try {
    auto looking_again = look(record.key, false);
    const jobs::peek_answer now = co_await looking_again;
    if (now.job && now.job->id == done.id) came.version = now.version;
  } catch (const jobs::store_unavailable&) {  // it has been put: only its version is not known
  } catch (const jobs::broker_full&) {
  }
  co_return came;
}

task<policy_answer> policy_records::put(std::string tube, jobs::tube_policy policy, condition when) {
  client_.check_scope(scope::administer);
  client_.check_use(tube);
  if (!policy.dead_letters.empty()) client_.check_use(policy.dead_letters);
  const jobs::put record = put_of_policy(tube, policy);
  client_.tell_of_action(fmt::format("policy of tube {}, put", printable(tube)));
  for (int tries = 0; tries < most_tries; ++tries) {
    auto trying = try_to_put(record, when);
    std::optional<answer> came = co_await trying;
    if (came) co_return *std::move(came);
  }
  co_return answer{.what = result::busy};
}

task<policy_answer> policy_records::find(std::string tube) {
  client_.check_scope(scope::look);
  if (!client_.includes(tube)) co_return answer{.what = result::none};
  auto looking = look(tube, true);
  const jobs::peek_answer seen = co_await looking;
  if (!seen.job) co_return answer{.what = result::none};
  answer found;
  found.version = seen.version;
  found.seen = known_of(std::move(tube), seen);
  co_return found;
}

task<std::optional<policy_records::page>> policy_records::list(std::string prefix, std::string after,
                                                               std::size_t count) {
  client_.check_scope(scope::look);
  const std::optional<jobs::job_place> from = parse_policy_place(after);
  if (!from) co_return std::nullopt;
  jobs::list_jobs some;
  some.tube = tube_of_policies;
  some.which = jobs::job_state::delayed;
  some.after = *from;
  const bool wants_all = prefix.empty() && client_.allowed().has_all_tubes();
  count = std::clamp<std::size_t>(count, 1, most_on_page);
  some.count = wants_all ? static_cast<std::uint32_t>(count) : jobs::most_listed;
  auto listing = client_.execute_for_server(std::move(some));
  const jobs::jobs_answer listed = co_await listing;
  page shown;
  std::optional<jobs::job_place> next = listed.next;
  std::vector<std::string> tubes;
  jobs::job_place place = *from;
  for (const jobs::listed_job& each : listed.jobs) {
    if (tubes.size() == count) {
      next = place;
      break;
    }
    if (each.job.key.starts_with(prefix) && client_.includes(each.job.key)) tubes.push_back(each.job.key);
    place = each.place;
  }
  std::deque<jobs::in_flight<jobs::peek>> looks;
  for (const std::string& each : tubes) {
    looks.emplace_back(client_.connection_for_server(),
                       jobs::peek{jobs::job_key{std::string(tube_of_policies), each}, true});
  }
  for (std::size_t i = 0; jobs::in_flight<jobs::peek> & each : looks) {
    const jobs::peek_answer seen = co_await each;
    std::string& tube = tubes[i++];
    if (seen.job) shown.policies.push_back(known_of(std::move(tube), seen));  // else it was removed meanwhile
  }
  if (next) shown.next = fmt::format("{}.{}", next->rank, next->id);
  co_return shown;
}

task<std::optional<policy_answer>> policy_records::try_to_remove(const std::string& tube, condition when) {
  using kind = jobs::change_answer::kind;
  auto looking = look(tube, false);
  const jobs::peek_answer seen = co_await looking;
  answer came;
  came.version = seen.job ? seen.version : 0;
  came.what = check(when, came.version);
  if (came.what == result::done && !seen.job) came.what = result::none;
  if (came.what != result::done) co_return came;
  auto ending = client_.execute_for_server(jobs::cancel{jobs::job_name(seen.job->id), seen.version});
  const jobs::change_answer done = co_await ending;
  if (done.what == kind::no_space) came.what = result::no_space;
  if (done.what == kind::reserved || done.what == kind::refused) came.what = result::busy;
  if (came.what != result::done) co_return came;
  if (done.what != kind::done) co_return std::nullopt;
  auto reading = in_force_.read_after_change();
  co_await reading;
  came.version = 0;
  co_return came;
}

task<policy_answer> policy_records::remove(std::string tube, condition when) {
  client_.check_scope(scope::administer);
  if (!client_.includes(tube)) co_return answer{.what = result::none};
  client_.tell_of_action(fmt::format("policy of tube {}, remove", printable(tube)));
  for (int tries = 0; tries < most_tries; ++tries) {
    auto trying = try_to_remove(tube, when);
    std::optional<answer> came = co_await trying;
    if (came) co_return *std::move(came);
  }
  co_return answer{.what = result::busy};
}

}  // namespace foliot::program
