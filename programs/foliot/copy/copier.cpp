#include "copy/copier.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <foliot/runtime/spawn.hpp>

namespace foliot::program::copying {

namespace {

using jobs::job_state;

constexpr std::size_t most_links = 16;
constexpr std::size_t jobs_of_link = 16;
/// A search for jobs ends this far above the highest id that was seen.
constexpr jobs::job_id farthest_gap = 1'000'000;
/// So often in a row one job may be named as the first of its tube, and have changed when it is looked at, as workers
/// may do it.
constexpr std::size_t most_futile = 100;

/// Takes each job out of the group that has the key of an earlier job in it: a client of the source has ended the
/// earlier job, and put another with the same key. The target keeps one job for a key, so both must not be copied at
/// once.
std::vector<full_job> take_repeated_keys(std::vector<full_job>& group) {
  std::set<std::pair<std::string, std::string>> keys;  // of the tubes
  std::vector<full_job> first;
  std::vector<full_job> repeated;
  for (full_job& each : group) {
    const std::string& key = each.record.key;
    const bool is_first = key.empty() || keys.emplace(each.record.tube, key).second;
    (is_first ? first : repeated).push_back(std::move(each));
  }
  group = std::move(first);
  return repeated;
}

bool is_hidden(job_state state) { return state == job_state::delayed || state == job_state::buried; }

std::string_view name_of(job_state state) {
  return state == job_state::delayed ? "delayed" : state == job_state::buried ? "buried" : "ready";
}

}  // namespace

task<> copier::connect() {
  auto first = from_.connect();
  co_await first;
  auto second = to_.connect();
  co_await second;
  const std::string& instance = from_.facts().instance;
  if (!instance.empty() && instance == to_.facts().instance) {
    throw failure(fmt::format("{} and {} are the same server: name two", from_.name(), to_.name()));
  }
  from_.set_largest_body(to_.facts().max_job_size);
  window_ = std::min(window_, most_jobs());
  auto opening = open_links(most_links);
  deleting_ = co_await opening;
}

task<> copier::move_all() {
  for (std::uint64_t before = counts_.moved() + 1; before != counts_.moved();) {
    before = counts_.moved();
    auto listing = from_.tubes();
    const std::vector<std::string> tubes = co_await listing;
    for (const std::string& tube : tubes) {
      auto moving = move_tube(tube);
      co_await moving;
    }
  }
}

task<> copier::move_tube(std::string tube) {
  auto counting = from_.counts(tube);
  const jobs::job_counts there = co_await counting;
  if (there.ready > 0) {
    auto moving = move_ready(tube, there.ready);
    co_await moving;
    auto rest = move_ready_of_paused(tube);
    co_await rest;
  }
  if (there.delayed > 0) {
    auto moving = move_hidden(tube, job_state::delayed);
    co_await moving;
  }
  if (there.buried > 0) {
    auto moving = move_hidden(tube, job_state::buried);
    co_await moving;
  }
}

/// Reserves over connections of its own: when they end, the server gives back the jobs that the target refused. A
/// release would be counted in the job's statistics. Moves at most `count` jobs, so that it ends even if a refused job
/// is reserved again after its TTR.
task<> copier::move_ready(std::string tube, std::uint64_t count) {
  auto opening = open_links(count / jobs_of_link + 1);
  const source_links holders = co_await opening;
  while (count > 0) {
    std::vector<full_job> group;
    std::uint64_t room = most_room;
    bool lacked_room = false;
    std::unordered_map<jobs::job_id, std::size_t> places;  // in the group
    const std::size_t wanted = std::min<std::size_t>(count, most_jobs());
    const std::size_t share = (wanted + holders.size() - 1) / holders.size();
    for (std::size_t i = 0; i < holders.size() && group.size() == i * share && room > 0;
         ++i) {  // in turn, for the order
      auto reserving = holders[i]->reserve(tube, std::min(share, wanted - std::min(wanted, i * share)), room);
      std::vector<full_job> some = co_await reserving;
      lacked_room = lacked_room || holders[i]->lacked_room();
      for (const full_job& each : some) room -= std::min<std::uint64_t>(room, each.body.size());
      for (full_job& each : some) {
        highest_ = std::max(highest_, each.record.id);
        each.link = i;
        // A job whose TTR has ended meanwhile may come again: then the later connection has it.
        const auto [known, is_new] = places.try_emplace(each.record.id, group.size());
        if (is_new) {
          group.push_back(std::move(each));
        } else {
          group[known->second].link = i;
        }
      }
    }
    learn_size(lacked_room || (room == 0 && group.size() < wanted));
    count = group.size() == wanted ? count - wanted : 0;
    auto moving = move_group(holders, std::move(group));
    co_await moving;
  }
  for (const auto& each : holders) {
    auto ending = each->quit();
    co_await ending;
  }
}

/// A tube that is paused gives no job to a reserve, but one to a reserve-job.
task<> copier::move_ready_of_paused(std::string tube) {
  source_links holder;
  for (;;) {
    auto looking = from_.first(tube, job_state::ready);
    const jobs::job_id id = co_await looking;
    if (id == 0 || refused_.contains(id)) break;
    expect_progress(tube, job_state::ready, id);
    if (holder.empty()) {
      auto opening = open_links(1);
      holder = co_await opening;
    }
    auto reserving = holder[0]->reserve_one(id);
    std::vector<full_job> group = co_await reserving;
    const bool is_there = !group.empty();
    auto moving = move_group(holder, std::move(group));
    co_await moving;
    if (!is_there) break;  // a worker has it, or the server knows no reserve-job
  }
  if (holder.empty()) co_return;
  auto ending = holder[0]->quit();
  co_await ending;
}

/// Delayed or buried jobs: the first of them, and those with ids near it, whatever their tubes.
task<> copier::move_hidden(std::string tube, job_state state) {
  for (;;) {
    auto looking = from_.first(tube, state);
    const jobs::job_id id = co_await looking;
    if (id == 0) co_return;
    if (refused_.contains(id)) {
      auto searching = search_beyond(tube, state, id);
      co_await searching;
      co_return;
    }
    expect_progress(tube, state, id);
    on_moved_();
    const jobs::job_id begin = id - id % window_;
    auto moving = move_near(begin, begin + window_);
    const std::size_t found = co_await moving;
    if (found * 2 > window_) window_ = std::min(window_ * 2, most_jobs());
    if (found * 4 < window_) window_ = std::max<std::size_t>(window_ / 2, 1);
  }
}

/// The first job of the tube in this state stays, and hides those behind it: looks at all ids around `known`, until
/// all jobs of that tube in that state have been seen.
task<> copier::search_beyond(std::string tube, job_state state, jobs::job_id known) {
  const std::size_t step = most_jobs();
  jobs::job_id begin = known - known % step;
  jobs::job_id end = begin;
  std::uint64_t staying = 0;
  for (;;) {
    auto counting = from_.counts(tube);
    const jobs::job_counts there = co_await counting;
    if ((state == job_state::delayed ? there.delayed : there.buried) <= staying) co_return;
    on_moved_();
    const bool goes_up = end <= highest_ || (begin == 0 && end - highest_ < farthest_gap);
    if (!goes_up && begin == 0) co_return;
    const jobs::job_id from = goes_up ? end : begin - step;
    (goes_up ? end : begin) = goes_up ? end + step : from;
    auto moving = move_near(from, from + step);
    co_await moving;
    auto looking = from_.look(from, from + step);
    const std::vector<job_record> seen = co_await looking;
    staying += static_cast<std::uint64_t>(
        std::ranges::count_if(seen, [&](const job_record& each) { return each.tube == tube && each.state == state; }));
  }
}

/// Moves the delayed and buried jobs with these ids, and returns how many there were.
task<std::size_t> copier::move_near(jobs::job_id begin, jobs::job_id end) {
  auto looking = from_.look(begin, end);
  std::vector<job_record> seen = co_await looking;
  std::erase_if(seen, [&](const job_record& each) {
    highest_ = std::max(highest_, each.id);
    return !is_hidden(each.state) || refused_.contains(each.id);
  });
  auto reading = from_.read(std::move(seen), most_room);
  std::vector<full_job> group = co_await reading;
  learn_size(from_.lacked_room());
  for (std::size_t i = 0; i < group.size(); ++i) group[i].link = i % deleting_.size();
  auto moving = move_group(deleting_, std::move(group));
  co_return co_await moving;
}

/// Moves jobs, each of which its own one of the connections may delete. Returns how many of them the target has taken.
task<std::size_t> copier::move_group(const source_links& links, std::vector<full_job> group) {
  std::erase_if(group, [this](const full_job& each) { return refused_.contains(each.record.id); });
  if (!group.empty()) deleted_.clear();
  std::size_t taken = 0;
  while (!group.empty()) {
    std::vector<full_job> later = take_repeated_keys(group);
    auto moving = move_at_once(links, std::move(group));
    taken += co_await moving;
    group = std::move(later);
  }
  co_return taken;
}

task<std::size_t> copier::move_at_once(const source_links& links, std::vector<full_job> group) {
  auto placing = to_.place(group, from_.facts().instance);
  const std::vector<placement> answers = co_await placing;
  std::vector<full_job> there;
  std::vector<placement> copies;
  std::string stopped;
  for (std::size_t i = 0; i < group.size(); ++i) {
    switch (answers[i].what) {
      case placement::kind::refused: refuse(group[i].record, answers[i].reason); break;
      case placement::kind::stopped: stopped = answers[i].reason; break;
      case placement::kind::placed:
        there.push_back(std::move(group[i]));
        copies.push_back(answers[i]);
        break;
    }
  }
  auto removing = remove(links, there);
  const std::vector<removal> ends = co_await removing;
  auto settling = settle(there, copies, ends);
  co_await settling;
  on_moved_();
  if (!stopped.empty()) throw failure(stopped);
  co_return there.size();
}

/// Deletes the jobs over their connections at once. The answers are in the order of the jobs.
task<std::vector<removal>> copier::remove(const source_links& links, const std::vector<full_job>& moved) {
  std::vector<std::vector<std::size_t>> which(links.size());
  for (std::size_t i = 0; i < moved.size(); ++i) which[moved[i].link].push_back(i);
  std::vector<runtime::join_handle<std::vector<removal>>> parts;
  for (std::size_t link = 0; link < links.size(); ++link) {
    std::vector<jobs::job_id> ids;
    for (const std::size_t i : which[link]) ids.push_back(moved[i].record.id);
    parts.push_back(runtime::spawn(links[link]->remove(std::move(ids)), "deletes moved jobs"));
  }
  std::vector<removal> all(moved.size());
  std::exception_ptr failed;
  for (std::size_t link = 0; link < links.size(); ++link) {
    try {
      auto joining = parts[link].join();
      std::vector<removal> some = co_await joining;
      for (std::size_t n = 0; n < some.size(); ++n) all[which[link][n]] = std::move(some[n]);
    } catch (...) {
      failed = std::current_exception();
    }
  }
  if (failed != nullptr) std::rethrow_exception(failed);
  co_return all;
}

/// One connection to beanstalkd, which does one thing at a time; to foliot so many as are of use.
task<source_links> copier::open_links(std::size_t count) {
  source_links links;
  const std::size_t most = from_.facts().is_foliot ? most_links : 1;
  for (std::size_t i = 0; i < std::min(count, most); ++i) {
    links.push_back(std::make_unique<source>(from_place_));
    links.back()->set_largest_body(to_.facts().max_job_size);
    auto connecting = links.back()->connect(from_.facts());
    co_await connecting;
  }
  co_return links;
}

/// Makes the target agree with what became of the jobs at the source.
task<> copier::settle(const std::vector<full_job>& group, const std::vector<placement>& copies,
                      const std::vector<removal>& ends) {
  std::vector<jobs::job_id> not_ended;
  std::string problem;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const job_record& before = group[i].record;
    if (ends[i].what != removal::kind::deleted) {
      if (ends[i].what != removal::kind::gone) problem = fmt::format("{} to a delete", ends[i].reply);
      // A copy that may be the only one stays.
      if (ends[i].what != removal::kind::unknown && !copies[i].is_foreign) not_ended.push_back(copies[i].id);
      continue;
    }
    count(before.state);
    deleted_.insert(before.id);
    if (!ends[i].last) {
      problem =
          fmt::format("something else than its statistics to a look at job {}, right before it deleted it", before.id);
      continue;
    }
    if (!is_changed(before, *ends[i].last)) continue;
    const full_job changed{*ends[i].last, group[i].body, group[i].body_size};
    auto placing = to_.place_again(changed, from_.facts().instance, copies[i].id);
    if (co_await placing) ++counts_.twice;
  }
  if (!not_ended.empty()) {
    const std::size_t all = not_ended.size();
    auto ending = to_.take_back(std::move(not_ended));
    const std::size_t missing = co_await ending;
    counts_.taken_back += all - missing;
    counts_.twice += missing;
  }
  if (!problem.empty()) throw failure(fmt::format("{} answered {}", from_.name(), problem));
}

void copier::refuse(const job_record& job, const std::string& reason) {
  if (refused_.insert(job.id).second)
    on_refused_(fmt::format("job {} of tube '{}' stays at {}: {}", job.id, job.tube, from_.name(), reason));
}

void copier::count(job_state state) {
  switch (state) {
    case job_state::delayed: ++counts_.delayed; break;
    case job_state::buried: ++counts_.buried; break;
    case job_state::ready:
    case job_state::reserved: ++counts_.ready; break;
  }
}

void copier::learn_size(bool lacked_room) noexcept {
  if (!lacked_room) return;
  group_limit_ = std::max<std::size_t>(group_limit_ / 2, 1);
  window_ = std::min(window_, group_limit_);
}

/// Throws if the source names jobs that are not there.
void copier::expect_progress(const std::string& tube, job_state state, jobs::job_id first) {
  const std::string claim =
      fmt::format("says that job {} is the first {} one of tube '{}'", first, name_of(state), tube);
  if (deleted_.contains(first)) throw from_.contradiction(claim + ", which it has just deleted");
  futile_ = first == named_ ? futile_ + 1 : 0;
  named_ = first;
  if (futile_ > most_futile) throw from_.contradiction(claim + ", and says something else when asked for that job");
}

/// A power of two.
std::size_t copier::most_jobs() const noexcept {
  const std::uint64_t largest_body = std::max<std::uint64_t>(from_.facts().max_job_size, 1);
  return std::bit_floor(std::clamp<std::size_t>(most_room / largest_body, 1, group_limit_));
}

}  // namespace foliot::program::copying
