// The brokers of one server: which connection gets which, their sums, and how their run ends.
#include <chrono>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/other_nodes.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "jobs/kit/simulated_nodes.hpp"
#include "jobs/kit/spy_store.hpp"
#include "server/access/server_tubes.hpp"
#include "server/core/brokers.hpp"
#include "server/core/running_brokers.hpp"
#include "support/virtual_time.hpp"

namespace foliot::program {
namespace {

/// Three brokers over three stores.
struct three_brokers {
  jobs::memory_store stores[3];
  jobs::broker one{stores[0]};
  jobs::broker two{stores[1]};
  jobs::broker three{stores[2]};
  const brokers all{{&one, &two, &three}};

  jobs::client enter() { return jobs::client(all.for_next_connection()); }
};

TEST(Brokers, TheWaitForSchedulesIsNoClient) {
  three_brokers on;
  jobs::client own(on.one);
  own.watch(tube_of_schedules);
  EXPECT_EQ(on.all.counters().clients, 0u);
  EXPECT_EQ(on.all.counters().tubes, 0u);
  jobs::client other(on.one);
  other.watch("mail");
  EXPECT_EQ(on.all.counters().clients, 1u);
  EXPECT_EQ(on.all.counters().tubes, 1u);
}

TEST(Brokers, TheFirstOneHasTheFirstConnectionsAlone) {
  three_brokers on;
  std::vector<jobs::client> clients;
  while (clients.size() < connections_of_first_broker) clients.push_back(on.enter());
  EXPECT_EQ(on.one.counters().clients, connections_of_first_broker);
  clients.push_back(on.enter());
  EXPECT_EQ(on.two.counters().clients, 1U);
  clients.push_back(on.enter());
  EXPECT_EQ(on.three.counters().clients, 1U);
  EXPECT_EQ(on.all.counters().clients, connections_of_first_broker + 2);
  clients.erase(clients.begin());
  clients.push_back(on.enter());
  EXPECT_EQ(on.one.counters().clients, connections_of_first_broker) << "the first one has room again";
}

TEST(Brokers, ManyConnectionsAreSpreadEvenly) {
  three_brokers on;
  std::vector<jobs::client> clients;
  for (int i = 0; i < 330; ++i) clients.push_back(on.enter());
  for (const jobs::broker* const each : {&on.one, &on.two, &on.three}) EXPECT_EQ(each->counters().clients, 110U);
}

TEST(Brokers, ASingleOneHasAllConnections) {
  jobs::memory_store store;
  jobs::broker only(store);
  const brokers all(only);
  std::vector<jobs::client> clients;
  for (int i = 0; i < 100; ++i) clients.emplace_back(all.for_next_connection());
  EXPECT_EQ(only.counters().clients, 100U);
}

TEST(Brokers, TheClientsOfATubeAreSummed) {
  three_brokers on;
  jobs::client first(on.one);
  jobs::client second(on.three);
  first.use("mail");
  first.watch("mail");
  second.watch("mail");
  const jobs::tube_clients seen = on.all.clients_of("mail");
  EXPECT_EQ(seen.users, 1U);
  EXPECT_EQ(seen.watchers, 2U);
  EXPECT_EQ(on.all.counters().tubes, 2U);
}

/// Clients of the first broker, so that the next one comes to the second.
std::vector<jobs::client> fill_first(const running_brokers& all) {
  std::vector<jobs::client> clients;
  while (clients.size() < connections_of_first_broker) clients.emplace_back(all.first());
  return clients;
}

std::string text_of(const std::exception_ptr& why) {
  if (why == nullptr) return "";
  try {
    std::rethrow_exception(why);
  } catch (const std::exception& error) {
    return error.what();
  }
}

task<> put_one(jobs::client& by) {
  auto putting = by.execute(jobs::put{.tube = "mail", .body = "x"});
  static_cast<void>(co_await putting);
}

TEST(RunningBrokers, EachHasItsStore) {
  test::on_virtual_time([]() -> task<> {
    jobs::memory_store one;
    jobs::memory_store two;
    running_brokers all({&one, &two}, {});
    all.start();
    {
      std::vector<jobs::client> clients = fill_first(all);
      clients.emplace_back(all.all().for_next_connection());
      co_await put_one(clients.front());
      co_await put_one(clients.back());
      co_await put_one(clients.back());
      const bool work = co_await all.all_work();
      EXPECT_TRUE(work);
    }
    const std::exception_ptr ended = co_await all.end();
    EXPECT_EQ(ended, nullptr);
    EXPECT_EQ(jobs::execute_one(one, jobs::count_all{}).counts.ready, 1U);
    EXPECT_EQ(jobs::execute_one(two, jobs::count_all{}).counts.ready, 2U);
  });
}

TEST(RunningBrokers, AStoreThatFailsEndsAll) {
  test::on_virtual_time([]() -> task<> {
    jobs::memory_store one;
    jobs::memory_store memory;
    test::spy_store two(memory);
    running_brokers all({&one, &two}, {});
    all.start();
    {
      std::vector<jobs::client> clients = fill_first(all);
      clients.emplace_back(all.all().for_next_connection());
      two.fails_from = 0;
      bool has_failed = false;
      try {
        co_await put_one(clients.back());
      } catch (const jobs::store_failure&) {
        has_failed = true;
      }
      EXPECT_TRUE(has_failed);
      co_await all.one_ended();
      co_await put_one(clients.front());  // the other one goes on until the end
    }
    const std::exception_ptr ended = co_await all.end();
    EXPECT_EQ(text_of(ended), "the disk is gone");
    EXPECT_EQ(jobs::execute_one(one, jobs::count_all{}).counts.ready, 1U);
  });
}

TEST(RunningBrokers, AConnectionAvoidsABrokerWhoseStoreIsUnavailable) {
  test::on_virtual_time([]() -> task<> {
    jobs::memory_store memory;
    test::simulated_nodes nodes[2];
    test::spy_store one(memory, &nodes[0]);
    test::spy_store two(memory, &nodes[1]);
    running_brokers all({&one, &two}, {});
    all.start();
    {
      jobs::client client(all.first());
      EXPECT_EQ(&all.all().for_next_connection(), &all.first());
      one.refuse();
      bool is_refused = false;
      try {
        co_await put_one(client);
      } catch (const jobs::store_unavailable&) {
        is_refused = true;
      }
      EXPECT_TRUE(is_refused);
      EXPECT_NE(&all.all().for_next_connection(), &all.first());
      const bool work = co_await all.all_work();
      EXPECT_TRUE(work) << "an outage of the database is none of the broker";
      one.accept();
      co_await runtime::sleep(std::chrono::seconds(1));
      co_await put_one(client);
      EXPECT_EQ(&all.all().for_next_connection(), &all.first());
    }
    const std::exception_ptr ended = co_await all.end();
    EXPECT_EQ(ended, nullptr);
  });
}

/// News that cannot be taken when the test says so.
class broken_news final : public jobs::other_nodes {
 public:
  void tell(std::span<const std::string> tubes) noexcept override { nodes_.tell(tubes); }
  [[nodiscard]] int descriptor() const noexcept override { return nodes_.descriptor(); }
  [[nodiscard]] duration scan_every() const noexcept override { return nodes_.scan_every(); }
  [[nodiscard]] jobs::news take_news() override {
    if (fails) throw std::runtime_error("the news are broken");
    return nodes_.take_news();
  }

  bool fails = false;

 private:
  test::simulated_nodes nodes_;
};

// Nothing would answer its clients, so that they would wait for ever.
TEST(RunningBrokers, ARunThatThrowsFailsItsBroker) {
  test::on_virtual_time([]() -> task<> {
    jobs::memory_store memory;
    broken_news news;
    test::spy_store store(memory, &news);
    running_brokers all({&store}, {});
    all.start();
    {
      jobs::client client(all.first());
      co_await put_one(client);
      news.fails = true;
      std::string failure;
      try {
        co_await put_one(client);
      } catch (const jobs::store_failure& what) {
        failure = what.what();
      }
      EXPECT_EQ(failure, "the news are broken");
      co_await all.one_ended();
    }
    const std::exception_ptr ended = co_await all.end();
    EXPECT_EQ(text_of(ended), "the news are broken");
  });
}

}  // namespace
}  // namespace foliot::program
