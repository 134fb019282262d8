#include "authorized_client.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "text/printable.hpp"

namespace foliot::program {

namespace {

/// A page of what is due passes over so many jobs of the server, and then leaves them out of its search.
constexpr std::size_t most_passed_over = 2000;

std::string_view name_of(scope wanted) noexcept {
  const auto known = std::ranges::find(all_scopes, wanted, &named_scope::what);
  return known->name;
}

/// A look on its way through the broker.
struct looking {
  looking(jobs::client& by, jobs::job_id which) : id(which), answer(by.execute(jobs::peek{which, false})) {}

  jobs::job_id id;
  jobs::in_flight<jobs::peek> answer;
};

/// A name within quotes, in which it has none.
std::string in_quotes(std::string_view name) {
  std::string text = "'";
  for (const char each : name) {
    if (each == '\'') {
      text += "\\x27";
    } else {
      text += each;
    }
  }
  return text += '\'';
}

}  // namespace

std::string authorized_client::who() const { return fmt::format("the access of '{}'", printable(allowed().id())); }

void authorized_client::refuse_scope(scope wanted) const {
  throw access_refused(access_refused::reason::no_scope,
                       fmt::format("{} lacks the scope '{}'", who(), name_of(wanted)));
}

void authorized_client::expect_scope(scope wanted) const {
  if (by_->has_ended()) throw access_refused(access_refused::reason::ended, who() + " has ended");
  if (!allowed().may(wanted)) refuse_scope(wanted);
}

void authorized_client::expect_tube(std::string_view tube) const {
  if (includes(tube)) return;
  if (is_of_server(tube)) {
    throw access_refused(access_refused::reason::no_tube,
                         fmt::format("the tube '{}' is the server's", printable(tube)));
  }
  throw access_refused(access_refused::reason::no_tube,
                       fmt::format("{} does not include the tube '{}'", who(), printable(tube)));
}

void authorized_client::expect_all_tubes() const {
  if (allowed().has_all_tubes()) return;
  throw access_refused(access_refused::reason::no_tube, who() + " does not include all tubes");
}

void authorized_client::tell_of_tube(std::string_view operation, std::string_view tube) const {
  by_->tell_change(fmt::format("{}, tube {}", operation, in_quotes(tube)));
}

void authorized_client::tell_of_job(std::string_view operation, const jobs::job_name& job,
                                    std::string_view tube) const {
  if (const auto* const id = std::get_if<jobs::job_id>(&job)) {
    const std::string of_tube = tube.empty() ? std::string() : fmt::format(" of tube {}", in_quotes(tube));
    return by_->tell_change(fmt::format("{}, job {}{}", operation, *id, of_tube));
  }
  const jobs::job_key& named = std::get<jobs::job_key>(job);
  by_->tell_change(fmt::format("{}, key {} of tube {}", operation, in_quotes(named.key), in_quotes(named.tube)));
}

void authorized_client::use(std::string_view tube) {
  check_use(tube);
  client_.use(tube);
}

void authorized_client::check_watch(std::string_view tube) const {
  expect_scope(jobs::scope_of<jobs::claim>());
  expect_tube(tube);
}

std::size_t authorized_client::watch(std::string_view tube) {
  check_watch(tube);
  if (std::ranges::find(held_back_, tube) != held_back_.end()) return watched_;
  watched_ = client_.watch(tube) + held_back_.size();
  delivered_version_ = 0;
  return watched_;
}

std::size_t authorized_client::ignore(std::string_view tube) {
  std::erase(held_back_, tube);
  return watched_ = client_.ignore(tube) + held_back_.size();
}

task<jobs::reserve_answer> authorized_client::reserve(std::optional<duration> timeout) {
  expect_watched();
  return client_.reserve(timeout);
}

task<jobs::claim_answer> authorized_client::reserve(jobs::claim what, std::optional<duration> timeout) {
  expect_watched();
  return client_.reserve(std::move(what), timeout);
}

void authorized_client::refuse_delivered(std::string_view tube) const {
  throw access_refused(
      access_refused::reason::delivered,
      fmt::format("the tube '{}' has a target, to which the server delivers its jobs: nobody reserves from it",
                  printable(tube)));
}

void authorized_client::expect_not_delivered(std::string_view tube) const {
  if (is_delivered(tube)) refuse_delivered(tube);
}

void authorized_client::hold_back_delivered(const delivered_tubes& those) {
  const std::uint64_t version = those.version();
  if (version != delivered_version_) {
    while (!held_back_.empty()) {
      client_.watch(held_back_.back());
      held_back_.pop_back();
    }
    for (std::string& each : client_.watched()) {
      if (!those.has(each)) continue;
      held_back_.push_back(each);
      client_.ignore(each);
    }
    delivered_version_ = version;
  }
  if (watched_ != 0 && held_back_.size() == watched_) refuse_delivered(held_back_.front());
}

task<bool> authorized_client::give_back_delivered(std::vector<jobs::claimed_job>& among) {
  bool has_given = false;
  for (std::size_t i = 0; i < among.size();) {
    if (!is_delivered(among[i].job.tube)) {
      ++i;
      continue;
    }
    auto abandoning = client_.execute(jobs::abandon{among[i].token});
    static_cast<void>(co_await abandoning);
    among.erase(among.begin() + static_cast<std::ptrdiff_t>(i));
    has_given = true;
  }
  co_return has_given;
}

void authorized_client::expect_watched() {
  expect_scope(jobs::scope_of<jobs::claim>());
  if (server_jobs_ != nullptr && (server_jobs_->delivered().any() || !held_back_.empty())) {
    hold_back_delivered(server_jobs_->delivered());
  }
  if (watched_ == 0) {
    throw access_refused(access_refused::reason::no_tube, who() + " does not include the tubes that are watched");
  }
}

task<> authorized_client::reserve_into(std::vector<jobs::claimed_job>& into, std::optional<duration> timeout,
                                       bool lasting) {
  expect_watched();
  return client_.reserve_into(into, timeout, lasting);
}

void authorized_client::check_events(const event_filter& which) const {
  expect_scope(jobs::scope_of<jobs::peek>());
  if (which.tube) expect_tube(*which.tube);
}

std::unique_ptr<jobs::event_reader> authorized_client::read_events(
    event_filter which, const std::optional<jobs::event_place>& after) const {
  check_events(which);
  auto sees = [&mine = allowed(), which = std::move(which)](std::string_view tube) {
    const bool is_wanted = which.tube ? tube == *which.tube : tube.starts_with(which.prefix);
    return is_wanted && !is_of_server(tube) && mine.has_tube(tube);
  };
  return std::make_unique<jobs::event_reader>(events_, std::move(sees), after);
}

task<authorized_client::tube_look> authorized_client::look_within(jobs::job_name name) {
  // A key comes with a tube, which has been checked.
  const bool may_be_out = std::holds_alternative<jobs::job_id>(name) && !allowed().has_all_tubes();
  auto looking = client_.execute(jobs::peek{std::move(name), false});
  tube_look look;
  look.seen = co_await looking;
  look.is_out = look.seen.job ? !includes(look.seen.job->tube) : may_be_out;
  if (look.is_out) look.seen = {};
  co_return look;
}

task<authorized_client::known_jobs> authorized_client::look_up(std::vector<jobs::job_id> ids) {
  constexpr std::size_t at_once = 100;  // the answers have the fields of the jobs
  known_jobs known;
  for (std::size_t begin = 0; begin < ids.size(); begin += at_once) {
    std::deque<looking> looks;
    for (std::size_t i = begin; i < std::min(begin + at_once, ids.size()); ++i) looks.emplace_back(client_, ids[i]);
    for (looking& each : looks) {
      try {
        jobs::in_flight<jobs::peek>& one = each.answer;
        jobs::peek_answer seen = co_await one;
        if (seen.job && is_of_server(seen.job->tube)) known.all_[each.id].is_of_server = true;
        if (!seen.job || !includes(seen.job->tube)) continue;
        known.all_[each.id].names = {std::move(seen.job->tube), std::move(seen.job->key)};
      } catch (const jobs::store_unavailable& failure) {
        known.all_[each.id].failure.emplace(failure);
      }
    }
  }
  co_return known;
}

task<jobs::tubes_answer> authorized_client::execute(jobs::list_tubes what) {
  check(what);
  if (what.count == 0) throw std::invalid_argument("list of the tubes of a client has no end: ask for pages");
  return list_within(what);
}

task<jobs::tubes_answer> authorized_client::list_within(jobs::list_tubes what) {
  const std::vector<std::string> prefixes = allowed().prefixes_within(what.prefix);  // in order
  jobs::tubes_answer all;
  for (const std::string& each : prefixes) {
    if (what.after > each && !what.after.starts_with(each)) continue;  // behind all of these tubes
    jobs::list_tubes within = what;
    within.prefix = each;
    within.count -= static_cast<std::uint32_t>(all.tubes.size());
    auto listing = client_.execute(std::move(within));
    jobs::tubes_answer listed = co_await listing;
    for (std::size_t i = 0; i < listed.tubes.size(); ++i) {
      if (is_of_server(listed.tubes[i])) continue;
      all.tubes.push_back(std::move(listed.tubes[i]));
      if (!listed.counts.empty()) all.counts.push_back(listed.counts[i]);
    }
    all.next = std::move(listed.next);
    if (!all.next.empty()) break;
  }
  co_return all;
}

task<jobs::jobs_answer> authorized_client::execute(jobs::list_jobs what) {
  check(what);
  if (what.tube.empty() && !allowed().has_all_tubes()) {
    std::vector<std::string> within;
    for (const std::string& each : what.prefixes) {
      std::ranges::move(allowed().prefixes_within(each), std::back_inserter(within));
    }
    what.prefixes = std::move(within);
  }
  return jobs_within(std::move(what));
}

task<jobs::jobs_answer> authorized_client::jobs_within(jobs::list_jobs what) {
  auto listing = client_.execute(std::move(what));
  jobs::jobs_answer listed = co_await listing;
  std::erase_if(listed.jobs, [](const jobs::listed_job& each) { return is_of_server(each.job.tube); });
  co_return listed;
}

task<jobs::count_answer> authorized_client::execute(const jobs::count_all& what) {
  check(what);
  return count_within();
}

task<jobs::count_answer> authorized_client::count_within() {
  auto counting = client_.execute(jobs::count_all{});
  std::deque<jobs::in_flight<jobs::count_tube>> of_server;
  for (const std::string_view each : tubes_of_server) {
    of_server.emplace_back(client_, jobs::count_tube{std::string(each)});
  }
  jobs::count_answer all = co_await counting;
  for (jobs::in_flight<jobs::count_tube>& each : of_server) {
    const jobs::count_answer counted = co_await each;
    leave_out(all.counts, counted.counts);
  }
  co_return all;
}

task<jobs::due_answer> authorized_client::execute(jobs::list_due what) {
  check(what);
  return due_within(std::move(what));
}

task<std::vector<jobs::due_job>> authorized_client::due_with_prefix(jobs::list_due what) {
  std::vector<jobs::due_job> found;
  if (is_of_server(what.prefix)) co_return found;
  const jobs::list_due asked = what;
  std::size_t passed_over = 0;
  for (bool has_more = true; has_more && found.size() < asked.count;) {
    if (passed_over > most_passed_over) {
      auto beside = due_beside_server(asked);
      found = co_await beside;
      break;
    }
    what.count = passed_over == 0 ? static_cast<std::uint32_t>(asked.count - found.size()) : jobs::most_listed_due;
    auto listing = client_.execute(what);
    jobs::due_answer listed = co_await listing;
    has_more = listed.jobs.size() == what.count;
    if (!listed.jobs.empty()) {
      what.from = listed.jobs.back().due;
      what.after = listed.jobs.back().id;
    }
    for (jobs::due_job& each : listed.jobs) {
      if (is_of_server(each.tube)) {
        ++passed_over;
      } else if (found.size() < asked.count) {
        found.push_back(std::move(each));
      }
    }
  }
  co_return found;
}

task<std::vector<std::string>> authorized_client::prefixes_beside_server(std::string prefix) {
  std::vector<std::string> beside;
  jobs::list_tubes tubes;
  tubes.prefix = prefix;
  tubes.count = jobs::most_listed;
  if (prefix.empty()) {
    tubes.prefix = prefix_of_server.substr(0, 1);
    for (int byte = 1; byte < 256; ++byte) {
      if (static_cast<char>(byte) != prefix_of_server.front()) beside.emplace_back(1, static_cast<char>(byte));
    }
  }
  // No client can put into a tube whose name begins as those of the server do; a program beside the server can.
  auto listing = client_.execute(std::move(tubes));
  jobs::tubes_answer listed = co_await listing;
  for (std::string& each : listed.tubes) {
    if (!is_of_server(each)) beside.push_back(std::move(each));
  }
  co_return beside;
}

task<std::vector<jobs::due_job>> authorized_client::due_beside_server(jobs::list_due what) {
  constexpr std::size_t at_once = 16;
  const auto order = [](const jobs::due_job& each) { return std::tuple(each.due, each.id); };
  auto looking = prefixes_beside_server(what.prefix);
  const std::vector<std::string> prefixes = co_await looking;
  std::vector<jobs::due_job> all;
  for (std::size_t begin = 0; begin < prefixes.size(); begin += at_once) {
    std::deque<jobs::in_flight<jobs::list_due>> listing;
    for (std::size_t i = begin; i < std::min(begin + at_once, prefixes.size()); ++i) {
      what.prefix = prefixes[i];
      listing.emplace_back(client_, what);
    }
    for (jobs::in_flight<jobs::list_due>& each : listing) {
      jobs::due_answer listed = co_await each;
      std::ranges::move(listed.jobs, std::back_inserter(all));
    }
    std::ranges::sort(all, {}, order);
    const auto same = std::ranges::unique(all, {}, &jobs::due_job::id);  // the name of a tube may begin that of another
    all.erase(same.begin(), same.end());
    if (all.size() > what.count) all.resize(what.count);
  }
  co_return all;
}

task<jobs::due_answer> authorized_client::due_within(jobs::list_due what) {
  const auto order = [](const jobs::due_job& each) { return std::tuple(each.due, each.id); };
  const std::vector<std::string> prefixes = allowed().prefixes_within(what.prefix);
  jobs::due_answer all;
  for (const std::string& each : prefixes) {
    jobs::list_due within = what;
    within.prefix = each;
    auto listing = due_with_prefix(std::move(within));
    const std::vector<jobs::due_job> listed = co_await listing;
    // Not in place: for that libstdc++ 12 uses a function that clang calls deprecated.
    std::vector<jobs::due_job> merged;
    merged.reserve(all.jobs.size() + listed.size());
    std::ranges::merge(all.jobs, listed, std::back_inserter(merged), {}, order, order);
    all.jobs = std::move(merged);
    if (all.jobs.size() > what.count) all.jobs.resize(what.count);
  }
  co_return all;
}

}  // namespace foliot::program
