#include "policies_in_force.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <new>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>

#include "policy_record.hpp"
#include "server/access/server_tubes.hpp"
#include "server/core/session_name.hpp"
#include "server/core/tube_name.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

/// So many records are read at once.
constexpr std::size_t records_at_once = 100;

}  // namespace

void policies_in_force::wake() noexcept {
  try {
    static_cast<void>(wakes_.try_send(woken{}));
  } catch (const std::bad_alloc&) {
    // Where others write, it looks within looks_every; else the next change wakes it.
  }
}

void policies_in_force::end() noexcept {
  ends_.store(true, seam::relaxed);
  wake();
}

task<bool> policies_in_force::wait() {
  if (!ends_.load(seam::relaxed)) {
    const bool is_behind = is_behind_.load(seam::relaxed);
    const bool looks = by_.has_other_nodes() || is_behind;
    const std::size_t pages = is_behind ? 1 : records_seen() / jobs::most_listed + 1;
    const duration until_next = looks_every * static_cast<std::int64_t>(pages);
    auto what = co_await runtime::select(wakes_.receive(), runtime::when(looks, runtime::after(until_next)));
    static_cast<void>(what);
  }
  co_return !ends_.load(seam::relaxed);
}

task<> policies_in_force::keep_on() {
  for (bool goes_on = true; goes_on;) {
    try {
      auto counting = count_sharers();
      co_await counting;
    } catch (const jobs::broker_closed&) {
      co_return;
    } catch (const jobs::store_failure&) {
      co_return;  // the server ends with it
    } catch (const runtime::cancelled&) {
      throw;
    } catch (const std::exception&) {
      // Memory is missing: the numbers before hold.
    }
    auto waiting = wait();
    goes_on = co_await waiting;
    if (!goes_on || !(by_.has_other_nodes() || is_behind_.load(seam::relaxed))) continue;
    try {
      auto reading = read();
      co_await reading;
      unread_since_ = instant::never();
      is_told_of_unread_ = false;
    } catch (const jobs::broker_closed&) {
      co_return;
    } catch (const jobs::store_failure&) {
      co_return;  // the server ends with it
    } catch (const runtime::cancelled&) {
      throw;
    } catch (const std::exception& why) {
      is_behind_.store(true, seam::relaxed);  // the store does not answer, or memory is missing: it is tried again
      note_unread(why);
    }
  }
}

void policies_in_force::note_unread(const std::exception& why) {
  const instant now = runtime::now();
  if (unread_since_ == instant::never()) unread_since_ = now;
  if (is_told_of_unread_ || now - unread_since_ < patience) return;
  is_told_of_unread_ = true;
  try {
    warn_(fmt::format("changes of policies of tubes cannot be read, so those of before stay in force: {}", why.what()));
  } catch (const std::bad_alloc&) {
    is_told_of_unread_ = false;
  }
}

task<> policies_in_force::read_after_change() {
  is_behind_.store(true, seam::relaxed);
  try {
    auto reading = read();
    co_await reading;
    co_return;
  } catch (const jobs::store_unavailable&) {
  } catch (const jobs::broker_full&) {
  } catch (const std::bad_alloc&) {
  } catch (...) {
    wake();
    throw;
  }
  wake();
}

task<> policies_in_force::read() {
  auto held = co_await reading_.lock();
  is_behind_.store(false, seam::relaxed);
  try {
    auto listing = list();
    std::vector<jobs::listed_job> listed = co_await listing;
    auto looking = look(std::move(listed));
    records now = co_await looking;
    const bool is_same = std::ranges::equal(now, seen_, [](const auto& a, const auto& b) {
      return a.first == b.first && a.second.id == b.second.id && a.second.version == b.second.version;
    });
    if (!is_same) hand_over(std::move(now));
  } catch (...) {
    is_behind_.store(true, seam::relaxed);
    throw;
  }
}

task<std::vector<jobs::listed_job>> policies_in_force::list() {
  std::vector<jobs::listed_job> all;
  jobs::list_jobs page;
  page.tube = tube_of_policies;
  page.which = jobs::job_state::delayed;  // no other list is one of the tube's jobs alone
  page.count = jobs::most_listed;
  for (;;) {
    auto listing = by_.execute(page);
    jobs::jobs_answer listed = co_await listing;
    for (jobs::listed_job& each : listed.jobs) all.push_back(std::move(each));
    if (!listed.next) co_return all;
    if (all.size() >= most_read) {
      if (!std::exchange(is_told_of_too_many_, true))
        warn_(fmt::format("more than {} tubes have policies: those that were made after the first {} are not in force",
                          most_read, all.size()));
      co_return all;
    }
    page.after = *listed.next;
  }
}

task<policies_in_force::records> policies_in_force::look(std::vector<jobs::listed_job> listed) {
  records now;
  std::vector<std::string> changed;
  for (const jobs::listed_job& each : listed) {
    const std::string& tube = each.job.key;
    const auto known = seen_.find(tube);
    const bool is_same =
        known != seen_.end() && known->second.id == each.job.id && known->second.version == each.version;
    if (is_same) {
      now.insert_or_assign(tube, known->second);
    } else if (!tube.empty()) {
      changed.push_back(tube);
    }
  }
  for (std::size_t begin = 0; begin < changed.size(); begin += records_at_once) {
    const std::size_t end = std::min(begin + records_at_once, changed.size());
    std::deque<jobs::in_flight<jobs::peek>> looks;
    for (std::size_t i = begin; i < end; ++i) {
      looks.emplace_back(by_, jobs::peek{jobs::job_key{std::string(tube_of_policies), changed[i]}, true});
    }
    std::size_t place = begin;
    for (jobs::in_flight<jobs::peek>& each : looks) {
      const jobs::peek_answer seen = co_await each;
      const std::string& tube = changed[place++];
      if (seen.job) now.insert_or_assign(tube, understand(tube, seen));  // else it was removed meanwhile
    }
  }
  co_return now;
}

policies_in_force::seen_record policies_in_force::understand(const std::string& tube, const jobs::peek_answer& seen) {
  seen_record made{seen.job->id, seen.version};
  const auto tell = [&](std::string_view so, const std::string& fault) {
    warn_(fmt::format("the policy of tube {} cannot be read, so {}: {}", printable(tube), so, fault));
  };
  if (!is_tube_name(tube)) {
    tell("none is in force", "no tube has this name");
    return made;
  }
  auto policy = read_policy(seen.job->body, tube);
  if (policy) {
    made.has_policy = true;
    made.policy = *std::move(policy);
    return made;
  }
  const std::string fault = sentence_of(policy.error());
  const auto before = seen_.find(tube);
  if (before != seen_.end() && before->second.has_policy) {
    made.has_policy = true;
    made.is_whole = before->second.is_whole;
    made.policy = before->second.policy;
    tell("the one before stays in force", fault);
    return made;
  }
  made.is_whole = false;
  made.policy = read_right_members(seen.job->body, tube);
  made.has_policy = made.policy != jobs::tube_policy();
  tell(made.has_policy ? "only the members that are understood are in force" : "none is in force", fault);
  return made;
}

task<> policies_in_force::count_sharers() {
  if (count() == 0) co_return;
  try {
    if (by_.has_other_nodes()) {
      auto listing = by_.execute(jobs::list_nodes{});
      const jobs::nodes_answer seen = co_await listing;
      std::set<std::string_view> names;
      for (const jobs::listed_node& each : seen.nodes) names.insert(node_of_session(each.name));
      nodes_ = std::max<std::size_t>(names.size(), 1);
    }
    is_told_of_nodes_ = false;
  } catch (const jobs::store_unavailable& why) {
    if (!std::exchange(is_told_of_nodes_, true))
      warn_(fmt::format("the nodes cannot be counted, so `most_per_second` is divided among {} as before: {}", nodes_,
                        why.what()));
  }
  const auto among = static_cast<std::uint32_t>(nodes_);
  if (sharers_.exchange(among, seam::relaxed) == among) co_return;
  for (jobs::policy_store* const each : stores_) each->share(among);
}

void policies_in_force::hand_over(records now) {
  auto table = std::make_shared<jobs::policy_table>();
  bool is_whole = true;
  for (const auto& [tube, each] : now) {
    if (each.has_policy) table->emplace(tube, each.policy);
    is_whole = is_whole && each.is_whole;
  }
  const std::shared_ptr<const jobs::policy_table> made = table->empty() ? nullptr : std::move(table);
  seen_ = std::move(now);  // from here on nothing throws
  for (jobs::policy_store* const each : stores_) each->set_policies(made);
  const lock held(lock_);
  known_ = made;
  records_seen_ = seen_.size();
  lacks_some_ = !is_whole;
}

}  // namespace foliot::program
