// Workers in the process of the store, with the library foliot::jobs: a contestant of bench/compare_queues.py.
//
// usage: queue_workers DATABASE SESSIONS WORKLOAD JOBS RATE SECONDS WORKERS AT-ONCE
//
// SESSIONS is the number of stores with brokers, among which the workers are divided. The others are those of
// load.hpp.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/this_task.hpp>

#include "load.hpp"

namespace {

namespace jobs = foliot::jobs;
namespace runtime = foliot::runtime;
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

class workers {
 public:
  workers(const bench::queue_load& given, const std::string& database, std::size_t sessions)
      : given_(given), all_(given) {
    for (std::size_t i = 0; i < sessions; ++i) sessions_.push_back(std::make_unique<session>(database, i));
  }

  task<> run() {
    std::vector<runtime::join_handle<>> tasks;
    for (const auto& each : sessions_) tasks.push_back(runtime::spawn(each->broker.run(), "broker"));
    co_await put_all();
    co_await pass(std::string(bench::ready_line));
    if (given_.workload == "far") co_return;
    for (std::int64_t i = 0; i < given_.workers; ++i) tasks.push_back(runtime::spawn(work(broker_of(i)), "worker"));
    if (given_.workload == "flow") {
      co_await flow();
    } else {
      while (all_.finished() < given_.jobs) co_await runtime::sleep(1ms);
      co_await pass(all_.figures());
    }
    for (const auto& each : sessions_) each->broker.close();
    for (auto& each : tasks) co_await each.join();
  }

 private:
  jobs::broker& broker_of(std::int64_t number) {
    return sessions_[static_cast<std::size_t>(number) % sessions_.size()]->broker;
  }

  static task<> pass(std::string line) {
    co_await runtime::blocking([&line] { bench::pass(line); });
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
        if ((co_await finished).what != jobs::holder_answer::kind::done) throw std::runtime_error("a job was not held");
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
    jobs::put one{.tube = tube, .body = bench::body_of(at), .ttr = 60s};
    if (at > 0) one.due = jobs::utc_time(std::chrono::milliseconds(static_cast<std::int64_t>(at * 1000)));
    return one;
  }

  task<> put_all() {
    if (given_.workload == "lateness") {
      const bench::due_times due(given_);
      co_await put(given_.jobs, [&](std::int64_t number) { return job_due(due.of(number)); });
      due.check();
    } else {
      const double due = given_.workload == "far" ? bench::now() + 86'400 : 0;
      co_await put(given_.jobs, [&](std::int64_t) { return job_due(due); });
    }
  }

  task<> flow() {
    bench::flow_window window(given_, all_);
    while (!window.is_over()) {
      const std::int64_t open = put_ - all_.finished();
      if (open < given_.jobs / 2) {
        co_await put(given_.jobs - open, [](std::int64_t) { return job_due(0); });
      } else {
        co_await runtime::sleep(1ms);
      }
    }
    co_await pass(window.figures());
  }

  const bench::queue_load& given_;
  bench::tally all_;
  std::int64_t put_ = 0;
  std::vector<std::unique_ptr<session>> sessions_;
};

}  // namespace

int main(int count, char** words) {
  return bench::run_program("queue_workers", count, words, [](const std::vector<std::string_view>& arguments) {
    if (arguments.size() < 2) throw std::runtime_error("wrong arguments: see the head of workers.cpp");
    const bench::queue_load given{std::span(arguments).subspan(2)};
    workers all(given, std::string(arguments[0]), static_cast<std::size_t>(bench::number_in(arguments[1])));
    runtime::run(all.run());
  });
}
