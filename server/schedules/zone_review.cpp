#include "zone_review.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <expected>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include <foliot/jobs/limits.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/this_task.hpp>

#include "schedule_record.hpp"
#include "server/access/server_tubes.hpp"

namespace foliot::program {

namespace {

constexpr const char* key_of_version = "planned-by";

/// Whether the record would wait for another time by the present data.
bool is_moved(const jobs::peek_answer& seen, zone_cache& zones) {
  const schedule_record record = schedule_record::in(*seen.job);
  if (!record.is_sound()) return false;
  const std::expected<schedule::zone, std::string> zone = zones.find(record.plan->zone);
  // What could not be followed may be followed now.
  if (!record.state->refused.empty()) return zone.has_value();
  if (!zone || zone->version() == record.state->zone_data) return false;
  const auto table = record.plan->table_in(*zone, record.tube, record.name);
  if (!table) return true;
  const schedule_turn turn = plan_turn(*record.plan, *table, *record.state, seen.now, {});
  return !turn.make.empty() || turn.due.value_or(jobs::latest_due()) != seen.job->due;
}

}  // namespace

void zone_review::end() noexcept {
  ends_.store(true, seam::relaxed);
  try {
    static_cast<void>(end_.try_send(ended{}));
  } catch (const std::bad_alloc&) {
    // It looks at ends_ within looks_every.
  }
}

task<bool> zone_review::wait(duration length) {
  if (!ends_.load(seam::relaxed)) {
    auto what = co_await runtime::select(end_.receive(), runtime::after(length));
    static_cast<void>(what);
  }
  co_return !ends_.load(seam::relaxed);
}

task<> zone_review::keep_on() {
  for (bool goes_on = true; goes_on;) {
    try {
      auto looking = look();
      co_await looking;
    } catch (const jobs::broker_closed&) {
      co_return;
    } catch (const jobs::store_failure&) {
      co_return;  // the server ends with it
    } catch (const runtime::cancelled&) {
      throw;
    } catch (const std::exception&) {
      // The store does not answer, or memory is missing: it is tried again.
    }
    auto waiting = wait(looks_every);
    goes_on = co_await waiting;
  }
}

task<> zone_review::look() {
  bool has_changed = false;
  auto reading = [this, &has_changed] { has_changed = zones_.look_again(); };
  co_await runtime::blocking(reading);
  has_changed_ = has_changed_ || has_changed;
  const std::string version = zones_.version();
  // Without a version nothing is known of what was before this process.
  if (version.empty() ? !has_changed_ : reviewed_ == version) co_return;
  if (!version.empty()) {
    auto finding = find_version();
    const kept_version kept = co_await finding;
    if (kept.id != 0 && kept.text >= version) {
      reviewed_ = version;
      co_return;
    }
  }
  auto looking = look_at_schedules();
  const bool is_done = co_await looking;
  if (!is_done) co_return;
  if (!version.empty()) {
    auto keeping = keep_version(version);
    co_await keeping;
  }
  reviewed_ = version;
  has_changed_ = false;
}

task<zone_review::kept_version> zone_review::find_version() {
  auto looking = by_.execute(jobs::peek{jobs::job_key{std::string(tube_of_zone_data), key_of_version}, true});
  jobs::peek_answer seen = co_await looking;
  if (!seen.job) co_return kept_version{};
  co_return kept_version{seen.job->id, std::move(seen.job->body)};
}

task<> zone_review::keep_version(std::string version) {
  // Without schedules there is nothing to remember: who has none has no job of the server's.
  auto counting = by_.execute(jobs::count_tube{std::string(tube_of_schedules)});
  const jobs::count_answer counted = co_await counting;
  if (counted.counts.all() == 0 && counted.what == jobs::count_answer::kind::done) co_return;
  jobs::put kept;
  kept.tube = tube_of_zone_data;
  kept.key = key_of_version;
  kept.body = std::move(version);
  kept.due = jobs::latest_due();
  kept.existing = jobs::on_existing::replace;
  auto putting = by_.execute(std::move(kept));
  static_cast<void>(co_await putting);
}

task<bool> zone_review::look_at_schedules() {
  jobs::list_jobs page;
  page.tube = tube_of_schedules;
  page.which = jobs::job_state::delayed;
  page.count = most_on_page;
  for (bool has_more = true; has_more;) {
    const instant begin = runtime::now();
    auto listing = by_.execute(page);
    const jobs::jobs_answer listed = co_await listing;
    has_more = listed.next.has_value();
    if (has_more) page.after = *listed.next;
    for (std::span<const jobs::listed_job> left(listed.jobs); !left.empty();) {
      const std::size_t count = std::min(left.size(), together_);
      auto looking = look_at_some(left.first(count));
      co_await looking;
      if (ends_.load(seam::relaxed)) co_return false;
      left = left.subspan(count);
    }
    if (!has_more) break;
    const duration taken = runtime::now() - begin;
    auto waiting = wait(std::max(taken, duration(std::chrono::milliseconds(1))));
    const bool goes_on = co_await waiting;
    if (!goes_on) co_return false;
  }
  co_return true;
}

task<> zone_review::look_at_some(std::span<const jobs::listed_job> listed) {
  std::deque<jobs::in_flight<jobs::peek>> looks;
  for (const jobs::listed_job& each : listed) looks.emplace_back(by_, jobs::peek{each.job.id, true});
  std::vector<jobs::peek_answer> seen;
  for (jobs::in_flight<jobs::peek>& each : looks) {
    jobs::peek_answer answer = co_await each;
    if (answer.job) seen.push_back(std::move(answer));
  }
  auto planning = [this, &seen] {
    std::erase_if(seen, [this](const jobs::peek_answer& each) { return !is_moved(each, zones_); });
  };
  co_await runtime::blocking(planning);
  std::deque<jobs::in_flight<jobs::fire_now>> firing;
  for (const jobs::peek_answer& each : seen) {
    firing.emplace_back(by_, jobs::fire_now{each.job->id, each.version});
  }
  for (jobs::in_flight<jobs::fire_now>& each : firing) {
    // One that has changed meanwhile has had a turn by the new data, or gets one.
    const jobs::change_answer done = co_await each;
    if (done.what == jobs::change_answer::kind::done) moved_.fetch_add(1, seam::relaxed);
  }
}

}  // namespace foliot::program
