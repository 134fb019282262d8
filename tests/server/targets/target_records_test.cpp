// What a change of a target answers where another one comes in between.
#include "server/targets/target_records.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/kit/broker_world.hpp"
#include "server/access/authorized_client.hpp"

namespace foliot::program {
namespace {

/// It delivers nothing, and counts what it is told.
class told_deliveries final : public target_deliveries {
 public:
  [[nodiscard]] std::optional<target_fault> fault_of(const target_plan& /*plan*/) const override {
    return std::nullopt;
  }
  void expect(const std::string& /*tube*/) override {}
  void wake() noexcept override {}
  [[nodiscard]] task<> apply() override {
    ++applied;
    co_return;
  }
  void enable(const std::string& /*tube*/) override { ++enabled; }
  [[nodiscard]] std::optional<delivery_state> state_of(const std::string& /*tube*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::vector<known_delivery> last_of(const std::string& /*tube*/) const override { return {}; }
  [[nodiscard]] task<known_delivery> try_out(std::string /*tube*/, target_plan /*plan*/) override {
    co_return known_delivery{};
  }
  [[nodiscard]] delivery_figures figures() const override { return {}; }

  int applied = 0;
  int enabled = 0;
};

target_plan plan_to(std::string url) {
  target_plan plan;
  plan.url = std::move(url);
  plan.secret = "one";
  return plan;
}

bool looks_at_a_target(const jobs::operation& what) {
  const auto* const look = std::get_if<jobs::peek>(&what);
  const auto* const key = look == nullptr ? nullptr : std::get_if<jobs::job_key>(&look->name);
  return key != nullptr && key->tube == tube_of_targets;
}

/// The client must not take the version of somebody else's change for that of its own.
TEST(TargetRecords, AnAnswerHasNoVersionOfAnotherChange) {
  auto body = [](test::broker_world& on) -> task<> {
    server_jobs known;
    const rights_holder holder(nullptr, rights::everything(), [] {});
    authorized_client client(on.jobs, holder, &known);
    told_deliveries deliveries;
    target_records records(client, deliveries);
    auto making = records.put("mail", plan_to("https://a.example/"), {});
    const target_records::answer made = co_await making;
    EXPECT_EQ(made.what, target_records::result::done);
    EXPECT_TRUE(made.is_new);
    EXPECT_NE(made.version, 0U);
    bool is_stored = false;
    bool is_replaced = false;
    on.store.before = [&](std::span<jobs::operation> batch) {
      for (const jobs::operation& each : batch) {
        if (std::holds_alternative<jobs::put>(each)) is_stored = true;
        if (is_replaced || !is_stored || !looks_at_a_target(each)) continue;
        is_replaced = true;
        const auto seen =
            jobs::execute_one(on.memory, jobs::peek{jobs::job_key{std::string(tube_of_targets), "mail"}, true});
        const auto done =
            jobs::execute_one(on.memory, put_of_target("mail", plan_to("https://b.example/"), {}, seen.version));
        EXPECT_EQ(done.what, jobs::put_answer::kind::replaced);
      }
    };
    target_records::condition when;
    when.expected = made.version;
    auto changing = records.put("mail", plan_to("https://c.example/"), when);
    const target_records::answer changed = co_await changing;
    on.store.accept();
    EXPECT_TRUE(is_replaced);
    EXPECT_EQ(changed.what, target_records::result::done);
    EXPECT_EQ(changed.version, 0U);
    EXPECT_EQ(deliveries.applied, 2);
    auto finding = records.find("mail");
    const target_records::answer found = co_await finding;
    EXPECT_EQ(found.seen.value().plan.value().url, "https://b.example/");
    // And an enabling reaches the deliveries also where the record has nothing to change.
    auto enabling = records.enable("mail", {});
    const target_records::answer enabled = co_await enabling;
    EXPECT_TRUE(enabled.is_same);
    EXPECT_EQ(deliveries.enabled, 1);
  };
  test::in_broker_worlds(body);
}

}  // namespace
}  // namespace foliot::program
