#include "tube_survey.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "server/access/rights.hpp"
#include "server/access/server_tubes.hpp"

namespace foliot::program {

namespace {

/// So many tubes with the oldest first ready jobs are remembered.
constexpr std::size_t most_oldest = 20;

/// Operations that are executed as one batch.
template <class Operation>
using in_one_batch = std::deque<jobs::in_flight<Operation>>;

jobs::list_jobs first_ready_of(const std::string& tube) {
  return {.tube = tube, .which = jobs::job_state::ready, .count = 1};
}

duration since(jobs::utc_time due, jobs::utc_time now) { return std::max(duration::zero(), duration(now - due)); }

/// The first ready job of a tube was due so long ago.
void add_overdue(surveyed& to, std::string_view tube, duration length) {
  const auto own = std::ranges::find(to.shown, tube, &surveyed_tube::name);
  if (own != to.shown.end()) {
    own->ready_overdue = length;
  } else {
    to.rest_overdue = std::max(to.rest_overdue.value_or(duration::zero()), length);
  }
}

/// The names of those with the most jobs, of equal ones the first by name.
std::vector<std::string> largest_of(std::vector<std::pair<std::uint64_t, std::string>> all, std::size_t most) {
  std::ranges::sort(all, [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a < b; });
  if (all.size() > most) all.resize(most);
  std::vector<std::string> names;
  for (auto& [jobs, name] : all) names.push_back(std::move(name));
  return names;
}

jobs::job_counts sum_of(const jobs::job_counts& a, const jobs::job_counts& b) {
  return {.urgent = a.urgent + b.urgent,
          .ready = a.ready + b.ready,
          .reserved = a.reserved + b.reserved,
          .delayed = a.delayed + b.delayed,
          .buried = a.buried + b.buried};
}

}  // namespace

bool matches_pattern(std::string_view name, std::string_view pattern) noexcept {
  std::size_t in_name = 0;
  std::size_t in_pattern = 0;
  std::size_t star = std::string_view::npos;  // the last one so far
  std::size_t behind_star = 0;                // what it stands for ends here in the name
  while (in_name < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      behind_star = in_name;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == name[in_name]) {
      ++in_pattern, ++in_name;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      in_name = ++behind_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

/// What the pages of a look have brought.
struct tube_survey::found {
  weights& tubes;
  std::size_t pages;      // that may still be read
  bool is_whole = true;   // whether no page was left out
  std::string next = {};  // behind this name the next page begins; empty: there is none
};

bool tube_survey::is_chosen(std::string_view tube) const noexcept {
  return which_.patterns.empty() || std::ranges::any_of(which_.patterns, [tube](const std::string& pattern) {
           return matches_pattern(tube, pattern);
         });
}

task<> tube_survey::read_prefix(authorized_client& by, effort most, std::string prefix, std::string after,
                                found& into) {
  into.next = std::move(after);
  do {
    if (into.pages == 0) {
      into.is_whole = false;
      co_return;
    }
    --into.pages;
    jobs::list_tubes page{.prefix = prefix, .after = into.next, .count = most.page, .with_counts = true};
    auto listing = by.execute(std::move(page));
    jobs::tubes_answer listed = co_await listing;
    for (std::size_t i = 0; i < listed.tubes.size(); ++i) {
      into.tubes.insert_or_assign(std::move(listed.tubes[i]), listed.counts[i].counts);
    }
    into.next = std::move(listed.next);
  } while (!into.next.empty());
}

task<bool> tube_survey::read_pages(authorized_client& by, effort most, weights& into) {
  found all{into, most.pages};
  if (!which_.patterns.empty()) {
    for (const std::string& each : which_.patterns) {
      auto reading = read_prefix(by, most, each.substr(0, each.find('*')), "", all);
      co_await reading;
    }
    co_return false;  // there may be other tubes
  }
  if (!by.allowed().has_all_tubes()) {
    auto reading = read_prefix(by, most, "", "", all);
    co_await reading;
    co_return all.is_whole;
  }
  std::string began;
  {
    const lock held(lock_);
    began = next_;
  }
  auto reading = read_prefix(by, most, "", began, all);
  co_await reading;
  if (!began.empty() && all.next.empty()) {  // the last tube was reached: go on with the first ones
    auto reading_on = read_prefix(by, most, "", "", all);
    co_await reading_on;
  }
  const lock held(lock_);
  next_ = all.next;
  co_return began.empty() && all.is_whole;
}

std::vector<std::string> tube_survey::choose_heads(const weights& among, std::size_t most) {
  std::vector<std::string> ready;
  for (const auto& [name, counts] : among) {
    if (counts.ready > 0) ready.push_back(name);
  }
  // Also where all of them are chosen: a slow store is asked for the first ones alone. The pages of the looks come
  // round as well, so equal steps could meet the same tubes of a page for ever. The multiples of the golden ratio are
  // spread evenly, also those of every n-th look.
  constexpr std::uint64_t golden = 0x9E37'79B9'7F4A'7C15;  // of 2^64
  const lock held(lock_);
  const std::uint64_t place = (heads_chosen_++ * golden) >> 32;  // of 2^32
  const auto begin = static_cast<std::ptrdiff_t>((place * ready.size()) >> 32);
  std::ranges::rotate(ready, ready.begin() + begin);
  if (ready.size() > most) ready.resize(most);
  return ready;
}

task<> tube_survey::recount(authorized_client& by, weights& into) {
  std::vector<std::string> known;
  {
    const lock held(lock_);
    std::ranges::copy_if(largest_, std::back_inserter(known), [&](const auto& each) { return !into.contains(each); });
  }
  in_one_batch<jobs::count_tube> counting;
  for (const std::string& each : known) counting.emplace_back(by.connection_for_server(), jobs::count_tube{each});
  for (std::size_t i = 0; i < known.size(); ++i) {
    jobs::in_flight<jobs::count_tube>& one = counting[i];
    const jobs::count_answer counted = co_await one;
    into.insert_or_assign(std::move(known[i]), counted.counts);
  }
}

tube_survey::plan tube_survey::choose_from(const weights& among, std::size_t most_heads, bool sees_all) {
  plan made;
  made.sees_all = sees_all;
  std::vector<std::pair<std::uint64_t, std::string>> weighed;
  for (const auto& [name, counts] : among) {
    if (counts.all() > 0 && is_chosen(name)) weighed.emplace_back(counts.all(), name);
  }
  made.largest = largest_of(std::move(weighed), 2 * which_.shown);
  const auto end = static_cast<std::ptrdiff_t>(std::min(made.largest.size(), which_.shown));
  made.shown.assign(made.largest.begin(), made.largest.begin() + end);
  std::ranges::sort(made.shown);
  made.heads.insert(made.shown.begin(), made.shown.end());
  if (sees_all) {
    const lock held(lock_);
    made.heads.insert(oldest_.begin(), oldest_.end());
  }
  made.others = choose_heads(among, most_heads);
  std::erase_if(made.others, [&made](const std::string& each) { return made.heads.contains(each); });
  return made;
}

void tube_survey::remember(plan& made, due_times found) {
  if (!made.sees_all) return;
  std::ranges::sort(found);
  if (found.size() > most_oldest) found.resize(most_oldest);
  const lock held(lock_);
  largest_ = std::move(made.largest);
  oldest_.clear();
  for (auto& [due, name] : found) oldest_.push_back(std::move(name));
}

task<> tube_survey::read_heads(jobs::client& to_store, std::span<const std::string> tubes, surveyed& into,
                               due_times& found) {
  in_one_batch<jobs::list_jobs> looking;
  for (const std::string& each : tubes) looking.emplace_back(to_store, first_ready_of(each));
  for (std::size_t i = 0; jobs::in_flight<jobs::list_jobs> & each : looking) {
    const std::string& tube = tubes[i++];
    const jobs::jobs_answer listed = co_await each;
    if (listed.jobs.empty()) continue;
    const jobs::utc_time due = listed.jobs.front().job.due;
    add_overdue(into, tube, since(due, listed.now));
    found.emplace_back(due, tube);
  }
}

/// The counts that are told are those of one batch.
task<surveyed> tube_survey::read(authorized_client& by, plan& made, effort most) {
  jobs::client& to_store = by.connection_for_server();
  std::optional<jobs::in_flight<jobs::count_all>> all;
  in_one_batch<jobs::count_tube> of_server;
  in_one_batch<jobs::count_tube> counting;
  if (made.sees_all) {
    all.emplace(to_store, jobs::count_all{});
    for (const std::string_view each : tubes_of_server) {
      of_server.emplace_back(to_store, jobs::count_tube{std::string(each)});
    }
  }
  for (const std::string& each : made.shown) counting.emplace_back(to_store, jobs::count_tube{each});

  surveyed seen;
  seen.rest = made.of_all;
  if (all) {
    jobs::in_flight<jobs::count_all>& one = *all;
    const jobs::count_answer counted = co_await one;
    seen.is_cut_short = counted.what == jobs::count_answer::kind::cut_short;
    seen.rest = counted.counts;
  }
  for (jobs::in_flight<jobs::count_tube>& each : of_server) {
    const jobs::count_answer counted = co_await each;
    leave_out(*seen.rest, counted.counts);
  }
  for (std::size_t i = 0; jobs::in_flight<jobs::count_tube> & each : counting) {
    const jobs::count_answer counted = co_await each;
    if (seen.rest) leave_out(*seen.rest, counted.counts);
    if (counted.what == jobs::count_answer::kind::cut_short) seen.is_cut_short = true;
    if (counted.counts.all() > 0) seen.shown.push_back({made.shown[i], counted, std::nullopt});
    ++i;
  }
  if (seen.is_cut_short) seen.rest.reset();
  due_times found;
  const instant began = runtime::now();
  const std::vector<std::string> known(made.heads.begin(), made.heads.end());
  auto reading_known = read_heads(to_store, known, seen, found);
  co_await reading_known;
  const std::span<const std::string> others = made.others;
  for (std::size_t first = 0; first < others.size(); first += most.heads_at_once) {
    // Without some of them in each look, however slow the store is, an old job might never be found.
    if (first > 0 && runtime::now() - began >= most.time_for_heads) break;
    const std::size_t count = std::min(most.heads_at_once, others.size() - first);
    auto reading = read_heads(to_store, others.subspan(first, count), seen, found);
    co_await reading;
  }
  remember(made, std::move(found));
  co_return seen;
}

task<surveyed> tube_survey::look(authorized_client& by, bool has_other_nodes) {
  by.check_scope(scope::look);
  const bool sees_all = by.allowed().has_all_tubes();
  const effort most = has_other_nodes ? with_nodes : alone;
  weights tubes;
  auto reading_pages = read_pages(by, most, tubes);
  const bool is_whole = co_await reading_pages;
  if (sees_all) {
    auto counting = recount(by, tubes);
    co_await counting;
  }
  plan made = choose_from(tubes, most.heads, sees_all);
  if (!sees_all && is_whole) {
    made.of_all.emplace();
    for (const auto& [name, counts] : tubes) *made.of_all = sum_of(*made.of_all, counts);
  }
  auto reading = read(by, made, most);
  surveyed seen = co_await reading;

  auto listing = by.execute(jobs::list_due{.count = 1});
  const jobs::due_answer due = co_await listing;
  seen.overdue = duration::zero();
  if (!due.jobs.empty()) {
    const auto now = std::chrono::floor<jobs::milliseconds>(runtime::wall_now());
    seen.next_due = since(now, due.jobs.front().due);
    seen.overdue = since(due.jobs.front().due, now);
  }
  co_return seen;
}

}  // namespace foliot::program
