// Which policies are in force: what is read at the start, what others change, and records that cannot be read. On
// virtual time.
#include "server/policies/policies_in_force.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "jobs/kit/broker_world.hpp"
#include "server/access/server_tubes.hpp"
#include "server/policies/policy_record.hpp"
#include "support/virtual_time.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using foliot::test::broker_world;

/// The policies of a server over a store in memory.
struct policies_world : broker_world {
  explicit policies_world(const virtual_clock& time, foliot::test::shared with_nodes)
      : broker_world(time, {}, with_nodes) {}

  std::vector<std::string> warnings;
  policies_in_force policies{jobs, {}, [this](std::string sentence) { warnings.push_back(std::move(sentence)); }};

  /// Writes a record as another node does.
  void write(const std::string& tube, std::string body) {
    foliot::jobs::put record = put_of_policy(tube, {});
    record.body = std::move(body);
    record.existing = foliot::jobs::on_existing::replace;
    static_cast<void>(foliot::jobs::execute_one(memory, std::move(record)));
  }
  void remove(const std::string& tube) {
    static_cast<void>(foliot::jobs::execute_one(
        memory, foliot::jobs::cancel{foliot::jobs::job_key{std::string(tube_of_policies), tube}}));
  }
  /// The tries of each tube: "mail 3, paper 5".
  [[nodiscard]] std::string known() const {
    const auto table = policies.known();
    if (table == nullptr) return "none";
    std::string all;
    for (const auto& [tube, it] : *table) all += fmt::format("{}{} {}", all.empty() ? "" : ", ", tube, it.tries);
    return all;
  }
};

void with_policies(foliot::test::shared with_nodes, const std::function<runtime::task<>(policies_world&)>& body) {
  virtual_clock clock;
  policies_world world(clock, with_nodes);
  const auto live = [&]() -> runtime::task<> {
    auto running = runtime::spawn(world.jobs.run(), "broker");
    co_await runtime::wait_idle();
    auto keeping = runtime::spawn(world.policies.keep_on(), "policies");
    co_await body(world);
    world.policies.end();
    co_await keeping.join();
    world.jobs.close();
    co_await running.join();
  };
  foliot::test::on_virtual_time(clock, live());
}

TEST(PoliciesInForce, AreReadAtTheStart) {
  with_policies(foliot::test::shared::no, [](policies_world& in) -> runtime::task<> {
    co_await in.policies.read();
    EXPECT_EQ(in.known(), "none");
    EXPECT_EQ(in.policies.known(), nullptr) << "the stores have nothing to look at";
    for (int i = 0; i < 2'500; ++i) in.write(fmt::format("t{:04}", i), fmt::format("{{\"tries\":{}}}", i % 7));
    co_await in.policies.read();
    EXPECT_EQ(in.policies.count(), 2'500u) << "on several pages";
    for (int i = 0; i < 2'500; ++i) {
      const auto table = in.policies.known();
      EXPECT_EQ(table->at(fmt::format("t{:04}", i)).tries, static_cast<std::uint32_t>(i % 7)) << i;
    }
  });
}

TEST(PoliciesInForce, FollowThoseOfOtherNodes) {
  with_policies(foliot::test::shared::yes, [](policies_world& in) -> runtime::task<> {
    co_await in.policies.read();
    in.write("mail", R"({"tries":3})");
    in.write("paper", R"({"tries":5})");
    co_await runtime::sleep(3s);
    EXPECT_EQ(in.known(), "mail 3, paper 5");
    in.write("mail", R"({"tries":4})");
    in.remove("paper");
    co_await runtime::sleep(3s);
    EXPECT_EQ(in.known(), "mail 4");
    in.remove("mail");
    co_await runtime::sleep(3s);
    EXPECT_EQ(in.known(), "none");
    EXPECT_TRUE(in.warnings.empty());
  });
}

TEST(PoliciesInForce, AreReadBehindAChangeWhereNobodyElseWrites) {
  with_policies(foliot::test::shared::no, [](policies_world& in) -> runtime::task<> {
    co_await in.policies.read();
    in.write("mail", R"({"tries":3})");
    co_await in.policies.read_after_change();
    EXPECT_EQ(in.known(), "mail 3");
  });
}

/// Of several databases, one that is away keeps the nodes from being counted, and nothing else.
TEST(PoliciesInForce, NeedNoCountOfNodes) {
  with_policies(foliot::test::shared::yes, [](policies_world& in) -> runtime::task<> {
    in.store.refuse(foliot::test::spy_store::unavailable::not_executed, [](const foliot::jobs::operation& one) {
      return std::holds_alternative<foliot::jobs::list_nodes>(one);
    });
    in.write("mail", R"({"tries":3})");
    co_await in.policies.read();
    EXPECT_EQ(in.known(), "mail 3") << "a node starts";
    in.write("mail", R"({"tries":4})");
    co_await in.policies.read_after_change();
    EXPECT_EQ(in.known(), "mail 4");
    in.write("paper", R"({"tries":5})");
    co_await runtime::sleep(10s);
    EXPECT_EQ(in.known(), "mail 4, paper 5") << "what others change is seen";
    EXPECT_EQ(in.warnings.size(), 1u) << "told once";
    if (!in.warnings.empty()) {
      EXPECT_TRUE(in.warnings.front().contains("the nodes cannot be counted")) << in.warnings.front();
    }
    in.store.accept();
    co_await runtime::sleep(3s);
    EXPECT_EQ(in.policies.sharers(), 1u);
    EXPECT_EQ(in.warnings.size(), 1u);
  });
}

TEST(PoliciesInForce, TellThatTheStoreDoesNotAnswerForLong) {
  with_policies(foliot::test::shared::yes, [](policies_world& in) -> runtime::task<> {
    in.write("mail", R"({"tries":3})");
    co_await in.policies.read();
    in.store.refuse(foliot::test::spy_store::unavailable::not_executed, [](const foliot::jobs::operation& one) {
      return std::holds_alternative<foliot::jobs::list_jobs>(one);
    });
    in.write("mail", R"({"tries":4})");
    co_await runtime::sleep(60s);
    EXPECT_EQ(in.known(), "mail 3");
    EXPECT_EQ(in.warnings.size(), 1u) << "once";
    in.store.accept();
    co_await runtime::sleep(3s);
    EXPECT_EQ(in.known(), "mail 4");
  });
}

TEST(PoliciesInForce, AreWhatIsUnderstoodWhereTheOneBeforeIsNotKnown) {
  with_policies(foliot::test::shared::yes, [](policies_world& in) -> runtime::task<> {
    in.write("mail", R"({"tries":3,"expires":"5m","most_reserved":"some","of_a_later_version":1})");
    in.write("paper", R"({"tries":"many","dead_letters":"paper-dead"})");
    co_await in.policies.read();
    const auto table = in.policies.known();
    EXPECT_EQ(in.known(), "mail 3") << "dead letters need tries";
    if (table == nullptr || !table->contains("mail")) co_return;
    EXPECT_EQ(table->at("mail").expires, 5min);
    EXPECT_EQ(table->at("mail").most_reserved, 0u);
    EXPECT_TRUE(in.policies.lacks_some());
    EXPECT_EQ(in.policies.records_seen(), 2u);
    EXPECT_EQ(in.warnings.size(), 2u);
    in.write("mail", R"({"tries":3,"expires":"5m"})");
    in.remove("paper");
    co_await runtime::sleep(3s);
    EXPECT_FALSE(in.policies.lacks_some());
    in.write("mail", "{");
    co_await runtime::sleep(3s);
    EXPECT_EQ(in.known(), "mail 3");
    EXPECT_FALSE(in.policies.lacks_some()) << "the one before is known";
  });
}

TEST(PoliciesInForce, StayWhereARecordCannotBeRead) {
  with_policies(foliot::test::shared::yes, [](policies_world& in) -> runtime::task<> {
    in.write("mail", R"({"tries":3})");
    co_await in.policies.read();
    in.write("mail", R"({"tries":3,"of_a_later_version":1})");
    in.write("paper", "no JSON");
    in.write("a b", R"({"tries":3})");
    co_await runtime::sleep(5s);
    EXPECT_EQ(in.known(), "mail 3") << "the one before";
    EXPECT_EQ(in.warnings.size(), 3u) << "each is told once";
    const auto is_told = [&](std::string_view text) {
      return std::ranges::any_of(in.warnings, [&](const std::string& each) { return each.contains(text); });
    };
    EXPECT_TRUE(
        is_told("the policy of tube mail cannot be read, so the one before stays in force: "
                "/of_a_later_version: there is no member `of_a_later_version` here"));
    EXPECT_TRUE(is_told("the policy of tube paper cannot be read, so none is in force"));
    in.write("mail", "{");
    co_await runtime::sleep(3s);
    EXPECT_EQ(in.known(), "mail 3") << "still that one";
    in.write("mail", R"({"tries":4})");
    co_await runtime::sleep(3s);
    EXPECT_EQ(in.known(), "mail 4");
  });
}

}  // namespace
}  // namespace foliot::program
