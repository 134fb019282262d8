#include "shown_server.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/statistics_text.hpp>

#include "server/access/server_tubes.hpp"

namespace foliot::program {

namespace {

using namespace std::chrono_literals;

/// How long a look waits for the jobs. `foliot top` waits longer.
constexpr duration patience_for_jobs = 500ms;
/// So many tubes are counted one by one.
constexpr std::size_t most_tubes = 100;

task<> count_tubes(jobs::broker& at, std::vector<std::string> names, job_figures& into) {
  names.resize(std::min(names.size(), most_tubes));
  std::deque<jobs::in_flight<jobs::count_tube>> counting;
  for (const std::string& each : names) counting.emplace_back(at, jobs::count_tube{each});
  for (std::size_t i = 0; i < names.size(); ++i) {
    jobs::in_flight<jobs::count_tube>& one = counting[i];
    const jobs::count_answer counted = co_await one;
    if (counted.counts.all() > 0) into.by_tube.push_back({std::move(names[i]), counted.counts});
  }
  std::ranges::sort(into.by_tube, [](const tube_figures& a, const tube_figures& b) {
    return a.counts.all() != b.counts.all() ? a.counts.all() > b.counts.all() : a.name < b.name;
  });
}

void add_due(job_figures& to, jobs::utc_time due) {
  if (due == jobs::utc_time::max()) return;
  const auto now = std::chrono::floor<jobs::milliseconds>(wall_clock::to_sys(wall_clock::instance().now()));
  to.is_overdue = due < now;
  // A store that only knows that jobs are overdue names the beginning of all time.
  if (to.is_overdue && due != jobs::utc_time{}) to.overdue = duration(now - due);
  if (!to.is_overdue) to.next_due = duration(due - now);
}

}  // namespace

/// One look for jobs, of the socket's thread and of the task that counts.
struct shown_server::look {
  job_figures figures;  // written by the task before it wakes the thread
  note done;
};

shown_server::shown_server(jobs::broker& at, const watched_store& store, const std::string& path)
    : at_(at),
      store_(store),
      runtime_(runtime::this_runtime()),
      socket_(path, "foliot-stats", [this] { return text(); }) {}

task<> shown_server::count(jobs::broker& at, const watched_store& store, std::shared_ptr<look> into) {
  job_figures seen;
  try {
    auto counting = at.execute(jobs::count_all{});
    std::deque<jobs::in_flight<jobs::count_tube>> of_server;
    for (const std::string_view each : tubes_of_server) of_server.emplace_back(at, jobs::count_tube{std::string(each)});
    auto listing = at.execute(jobs::list_tubes{});
    jobs::count_answer all = co_await counting;
    for (std::size_t i = 0; jobs::in_flight<jobs::count_tube> & each : of_server) {
      const jobs::count_answer counted = co_await each;
      leave_out(all.counts, counted.counts);
      if (tubes_of_server[i++] == tube_of_schedules && counted.what == jobs::count_answer::kind::done) {
        seen.schedules = {counted.counts.all(), counted.counts.ready + counted.counts.reserved};
      }
    }
    if (all.what == jobs::count_answer::kind::done) seen.counts = all.counts;
    add_due(seen, store.next_due());
    jobs::tubes_answer tubes = co_await listing;
    std::erase_if(tubes.tubes, is_of_server);
    seen.tubes = tubes.tubes.size();
    // A count costs a store that is shared much, and counts all nodes' jobs: there the database itself is asked.
    if (!at.has_other_nodes()) {
      auto by_tube = count_tubes(at, std::move(tubes.tubes), seen);
      co_await by_tube;
    }
  } catch (const std::exception&) {
    // The store is unavailable, or ends: what is known is told.
  }
  into->figures = std::move(seen);
  into->done.wake();
}

job_figures shown_server::figures() {
  const auto mine = std::make_shared<look>();
  {
    const lock held(lock_);
    const bool is_busy = counting_ && !counting_.done();
    if (!asks_ || is_busy || at_.counters().is_unavailable) return {};
    counting_ = runtime_.spawn(count(at_, store_, mine), "counts the jobs");
  }
  const bool is_there = mine->done.sleep_until(monotonic_clock::instance().now() + patience_for_jobs);
  return is_there ? std::move(mine->figures) : job_figures{};
}

std::string shown_server::text() {
  const job_figures jobs = figures();
  return runtime::statistics_text({.statistics = runtime_.statistics(), .tasks = runtime_.task_groups()}) +
         job_figures_text(jobs);
}

void shown_server::begin() {
  const lock held(lock_);
  asks_ = true;
}

task<> shown_server::end() {
  runtime::join_handle<> last;
  {
    const lock held(lock_);
    asks_ = false;
    last = std::move(counting_);
  }
  if (last) co_await last.join();
}

}  // namespace foliot::program
