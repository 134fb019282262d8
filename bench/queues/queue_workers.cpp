#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/this_task.hpp>

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
  queue_workers(const queue_load& given, const std::string& database, std::size_t sessions)
      : given_(given), all_(given) {
    for (std::size_t i = 0; i < sessions; ++i) sessions_.push_back(std::make_unique<session>(database, i));
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
    if (given_.shape == queue_shape::lateness) {
      const due_times due(given_);
      co_await put(given_.first_jobs(), [&](std::int64_t number) { return job_due(due.of(number)); });
      due.check();
    } else {
      const double due = given_.shape == queue_shape::far ? wall_seconds() + 86'400 : 0;
      co_await put(given_.first_jobs(), [&](std::int64_t) { return job_due(due); });
    }
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

}  // namespace

void run_queue_workers(const queue_load& asked, const std::string& database, std::size_t sessions) {
  queue_workers all(asked, database, sessions);
  runtime::run(all.run());
}

}  // namespace foliot::program::bench
