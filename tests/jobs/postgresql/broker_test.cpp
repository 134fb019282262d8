// Brokers of two nodes over one database: a message alone brings a job to a client that waits at the other node, and so
// does a scan alone.
#include <poll.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>

#include "database.hpp"
#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using runtime::spawn;
using test::received;

class PostgresqlBrokers : public foliot_test::postgresql_database {
 protected:
  /// A node over the database, with its broker. Its connection for news is there: it has said so, as news of any tube.
  struct node {
    explicit node(const postgresql_options& options) : store(options), watched(store, store.others()), jobs(watched) {
      watched.after = [this](const execution& done) {
        claims += std::ranges::count_if(done.answers,
                                        [](const answer& each) { return std::holds_alternative<claim_answer>(each); });
      };
      pollfd asked{store.others()->descriptor(), POLLIN, 0};
      while (::poll(&asked, 1, -1) <= 0) {
      }
      EXPECT_TRUE(store.others()->take_news().any_tube);
    }

    postgresql_store store;
    test::spy_store watched;
    std::atomic<std::ptrdiff_t> claims = 0;  // that were executed
    broker jobs;
  };

  [[nodiscard]] postgresql_options scanning(const std::string& name, milliseconds every) const {
    postgresql_options made = options(name);
    made.scan_every = every;
    return made;
  }

  /// Returns when a client waits that has found no job.
  static task<> await_waiting(const node& at) {
    while (at.claims == 0 || at.jobs.counters().waiting != 1) co_await runtime::sleep(1ms);
  }
};

TEST_F(PostgresqlBrokers, AMessageAloneBringsAJob) {
  node here(scanning("here", 1h));
  node there(scanning("there", 1h));
  runtime::run([&]() -> task<> {
    auto running_here = spawn(here.jobs.run());
    auto running_there = spawn(there.jobs.run());
    auto taking = spawn(test::take_one(there.jobs, "mail"));
    co_await await_waiting(there);
    const job_id id = co_await test::put_job(here.jobs, test::mail("hello"));
    const received came = co_await taking.join();
    EXPECT_EQ(came.id, id);
    here.jobs.close();
    there.jobs.close();
    co_await running_here.join();
    co_await running_there.join();
  }());
}

TEST_F(PostgresqlBrokers, AScanAloneFindsAJob) {
  node there(scanning("there", 20ms));
  runtime::run([&]() -> task<> {
    auto running = spawn(there.jobs.run());
    auto taking = spawn(test::take_one(there.jobs, "mail"));
    co_await await_waiting(there);
    const std::string id = sql("SELECT foliot.put('mail', 'hello')");  // and nobody tells of it
    const received came = co_await taking.join();
    EXPECT_EQ(std::to_string(came.id), id);
    there.jobs.close();
    co_await running.join();
  }());
}

}  // namespace
}  // namespace foliot::jobs
