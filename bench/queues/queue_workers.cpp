// What needs the library foliot::jobs with PostgreSQL: workers in this process, and batches of one kind.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/other_nodes.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/this_task.hpp>

#include "bench/resident_memory.hpp"
#include "queue_load.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

using foliot::task;
using namespace std::chrono_literals;

constexpr const char* tube = "default";
constexpr std::int64_t puts_at_once = 1'000;

/// A session with the database, and what shares it.
struct session {
  jobs::postgresql_store store;
  jobs::broker broker{store};

  session(const std::string& database, std::size_t number)
      : store({.database = database, .node = "workers " + std::to_string(number)}) {}
};

class queue_workers {
 public:
  explicit queue_workers(const queue_load& given) : given_(given), all_(given) {
    for (std::size_t i = 0; i < given.sessions; ++i) sessions_.push_back(std::make_unique<session>(given.library, i));
  }

  task<> run() {
    std::vector<runtime::join_handle<>> tasks;
    for (const auto& each : sessions_) tasks.push_back(runtime::spawn(each->broker.run(), "broker"));
    co_await put_all();
    co_await pass_on(std::string(ready_line));
    if (given_.shape == queue_shape::far) co_return;
    for (std::int64_t i = 0; i < given_.workers; ++i) tasks.push_back(runtime::spawn(work(broker_of(i)), "worker"));
    if (given_.shape == queue_shape::flow) {
      co_await flow();
    } else {
      while (all_.finished() < given_.first_jobs()) co_await runtime::sleep(1ms);
      co_await pass_on(all_.figures());
    }
    for (const auto& each : sessions_) each->broker.close();
    for (auto& each : tasks) co_await each.join();
  }

 private:
  jobs::broker& broker_of(std::int64_t number) {
    return sessions_[static_cast<std::size_t>(number) % sessions_.size()]->broker;
  }

  static task<> pass_on(std::string line) {
    co_await runtime::blocking([&line] { pass(line); });
  }

  task<> work(jobs::broker& at) {
    jobs::client self(at);
    self.watch(tube);
    try {
      jobs::reserve_answer got = co_await self.reserve();
      for (;;) {
        const jobs::job_id id = got.job->token.id;
        all_.begin(got.job->job.body);
        auto finished = self.finish(id);
        if (given_.asks_for_both) got = co_await self.reserve(foliot::duration::zero());  // in the same batch
        if ((co_await finished).what != jobs::holder_answer::kind::done) throw failure("a job was not held");
        all_.finish();
        if (!given_.asks_for_both || !got.job) got = co_await self.reserve();
      }
    } catch (const jobs::broker_closed&) {  // all jobs are finished
    }
  }

  /// Puts `count` jobs, some at a time.
  template <class DueOf>
  task<> put(std::int64_t count, DueOf due_of) {
    for (std::int64_t done = 0; done < count;) {
      std::deque<jobs::in_flight<jobs::put>> batch;
      for (; done < count && std::ssize(batch) < puts_at_once; ++done) {
        jobs::put one = due_of(put_);
        batch.emplace_back(broker_of(put_ / puts_at_once), std::move(one));
        ++put_;
      }
      for (auto& each : batch) static_cast<void>(co_await each);
    }
  }
  static jobs::put job_due(double at) {
    jobs::put one{.tube = tube, .body = body_of(at), .ttr = 60s};
    if (at > 0) one.due = jobs::utc_time(std::chrono::milliseconds(static_cast<std::int64_t>(at * 1000)));
    return one;
  }

  task<> put_all() {
    const due_times due(given_);
    co_await put(given_.first_jobs(), [&](std::int64_t number) { return job_due(due.of(number)); });
    due.check();
  }

  task<> flow() {
    flow_window window(given_, all_);
    while (!window.is_over()) {
      const std::int64_t open = put_ - all_.finished();
      if (open < given_.jobs / 2) {
        co_await put(given_.jobs - open, [](std::int64_t) { return job_due(0); });
      } else {
        co_await runtime::sleep(1ms);
      }
    }
    co_await pass_on(window.figures());
  }

  const queue_load& given_;
  queue_tally all_;
  std::int64_t put_ = 0;
  std::vector<std::unique_ptr<session>> sessions_;
};

// ---------------------------------------------------------------- batches

constexpr const char* tube_of_batches = "mail";

class batches {
 public:
  explicit batches(jobs::postgresql_store& store) : store_(store) {}

  /// Writes a line: jobs that are held then, seconds, this process's seconds of CPU, and the median of a batch in
  /// seconds.
  void answer(const std::string& what, std::size_t size, std::size_t body, std::size_t count) {
    std::vector<double> each_took;
    const double cpu = cpu_seconds(RUSAGE_SELF);
    const double begin = steady_seconds();
    for (double last = begin; each_took.size() < count;) {
      once(what, size, body);
      const double now = steady_seconds();
      each_took.push_back(now - last);
      last = now;
    }
    const double took = steady_seconds() - begin;
    std::ranges::nth_element(each_took, each_took.begin() + static_cast<std::ptrdiff_t>(count / 2));
    fmt::print("{} {:.6f} {:.6f} {:.6f}\n", held_.size(), took, cpu_seconds(RUSAGE_SELF) - cpu, each_took[count / 2]);
    std::fflush(stdout);
  }

 private:
  /// Executes one batch, or tells once.
  void once(const std::string& what, std::size_t size, std::size_t body) {
    if (what == "tell") {
      store_.others()->tell(std::vector<std::string>{tube_of_batches});
      return;
    }
    std::vector<jobs::operation> batch;
    if (what == "finish" || what == "cycle") {
      for (; batch.size() < size && !held_.empty(); held_.pop_front()) {
        batch.emplace_back(jobs::finish{held_.front()});
      }
    }
    if (what == "put" || what == "delay" || what == "cycle") {
      const jobs::put one{
          .tube = tube_of_batches, .body = std::string(body, 'b'), .due = what == "delay" ? 1h : 0h, .ttr = 1h};
      batch.insert(batch.end(), size, one);
    }
    if (what == "claim" || what == "cycle") {
      batch.emplace_back(
          jobs::claim{.tubes = {tube_of_batches}, .count = static_cast<std::uint32_t>(size), .bytes = 16U << 20});
    }
    for (const jobs::answer& each : store_.execute(batch).answers) {
      if (const auto* const claimed = std::get_if<jobs::claim_answer>(&each)) {
        for (const jobs::claimed_job& mine : claimed->jobs) held_.push_back(mine.token);
      }
    }
  }

  jobs::postgresql_store& store_;
  std::deque<jobs::reservation> held_;
};

}  // namespace

void run_queue_workers(const queue_load& asked) {
  queue_workers all(asked);
  runtime::run(all.run());
}

void run_batches(const std::string& database) {
  jobs::postgresql_store store({.database = database, .node = "batches"});
  batches by(store);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    std::size_t size = 0;
    std::size_t body = 0;
    std::size_t times = 0;
    if (!(words >> what >> size >> body >> times) || times == 0) throw failure("no request: " + line);
    by.answer(what, size, body, times);
  }
}

}  // namespace foliot::program::bench
