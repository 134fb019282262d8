// What becomes of a target whose receiver answers 410 while the store takes no record, and when a changed record is in
// force.
#include "server/targets/target_runner.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "jobs/kit/broker_world.hpp"
#include "jobs/kit/temporary_folder.hpp"
#include "server/targets/target_records.hpp"
#include "server/webhooks/sink.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using runtime::task;
using webhooks::test::reaction;
using webhooks::test::received;
using webhooks::test::sink;

/// Long enough for the slowest machine: no test waits so long if all is well.
constexpr duration patience = 60s;
const std::string answer_gone = "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n";

/// From now on no record of a target is taken: it is as if another change were quicker each time.
void take_no_record(test::broker_world& on) {
  on.store.before = [](std::span<jobs::operation> batch) {
    for (jobs::operation& each : batch) {
      auto* const put = std::get_if<jobs::put>(&each);
      if (put != nullptr && put->tube == tube_of_targets) put->expected = 1'000'000'000;
    }
  };
}

/// A server's runner over a store in memory, and a receiver.
class runner_world {
 public:
  explicit runner_world(test::broker_world& on) : receiver([this](const received&) { return next; }), on_(on) {
    std::ofstream(secrets_path()) << "[secret one]\npresent = whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n";
    std::filesystem::permissions(secrets_path(), std::filesystem::perms::owner_read);
    secrets_ = std::make_unique<secret_file>(secrets_path(), log_);
    auto rules = webhooks::address_rules::make(
        {.allow = {"127.0.0.0/8:" + std::to_string(receiver.port())}, .nat64 = {}, .allows_http = true});
    runner = std::make_unique<target_runner>(on.jobs, known, rules.value(), webhooks::engine_options{}, secrets_.get(),
                                             log_);
    delivering_ = runtime::spawn(runner->keep_on(), "webhooks");
  }

  [[nodiscard]] task<> end() {
    runner->end();
    co_await delivering_.join();
  }

  /// Makes or replaces the record.
  [[nodiscard]] task<> put_target(bool is_enabled, jobs::job_version expected = 0) {
    target_plan plan;
    plan.url = receiver.url();
    plan.secret = "one";
    target_state state;
    state.is_enabled = is_enabled;
    state.since = jobs::utc_time(jobs::milliseconds(++changes_));
    auto putting = on_.jobs.execute(put_of_target("mail", plan, state, expected));
    const jobs::put_answer done = co_await putting;
    EXPECT_EQ(done.what, expected == 0 ? jobs::put_answer::kind::inserted : jobs::put_answer::kind::replaced);
  }
  [[nodiscard]] task<target_record> look() {
    auto looking = on_.jobs.execute(jobs::peek{jobs::job_key{std::string(tube_of_targets), "mail"}, true});
    const jobs::peek_answer found = co_await looking;
    co_return target_record::in(found.job.value(), found.version);
  }
  [[nodiscard]] task<> wait_until(std::function<bool(const delivery_state&)> is_so) {
    const instant until = runtime::now() + patience;
    for (;;) {
      const std::optional<delivery_state> seen = runner->state_of("mail");
      if (seen && is_so(*seen)) co_return;
      if (runtime::now() > until) throw std::runtime_error("the state of the target has not come");
      co_await runtime::sleep(2ms);
    }
  }

  server_jobs known;
  reaction next{.text = answer_gone};
  sink receiver;
  std::unique_ptr<target_runner> runner;

 private:
  [[nodiscard]] std::string secrets_path() const { return folder_.path() + "/secrets"; }

  test::broker_world& on_;
  foliot_test::temporary_folder folder_;
  const server_log log_{true, monotonic_clock::instance(), [](std::string_view) {}};
  std::unique_ptr<secret_file> secrets_;
  runtime::join_handle<> delivering_;
  int changes_ = 0;
};

using test_body = std::function<task<>(test::broker_world&, runner_world&)>;

task<> with_runner(test::broker_world& on, test_body body) {
  auto running = runtime::spawn(on.jobs.run(), "broker");
  {
    runner_world world(on);
    auto testing = body(on, world);
    co_await testing;
    on.store.accept();
    auto ending = world.end();
    co_await ending;
  }
  on.jobs.close();
  co_await running.join();
}

void run_with_runner(const test_body& body) {
  test::broker_world on;
  runtime::run([&]() -> task<> { return with_runner(on, body); }, {.processors = 1});
}

/// The record says nothing of the 410, but the state does; and it is written down as soon as that is possible.
TEST(TargetRunner, A410IsShownAndWrittenLater) {
  run_with_runner([](test::broker_world& on, runner_world& world) -> task<> {
    auto making = world.put_target(true);
    co_await making;
    take_no_record(on);
    static_cast<void>(co_await test::put_job(on.jobs, test::mail("x")));
    world.runner->wake();
    auto going = world.wait_until([](const delivery_state& seen) { return seen.is_gone; });
    co_await going;
    EXPECT_EQ(world.runner->figures().disabled, 1U);
    auto looking = world.look();
    const target_record before = co_await looking;
    EXPECT_TRUE(before.state.is_enabled);
    on.store.accept();
    // When its record says it, there is nothing left to be written.
    auto writing = world.wait_until([](const delivery_state& seen) { return !seen.is_gone; });
    co_await writing;
    auto looking_again = world.look();
    const target_record after = co_await looking_again;
    EXPECT_FALSE(after.state.is_enabled);
    EXPECT_EQ(after.state.by, "receiver");
    EXPECT_EQ(world.runner->figures().disabled, 1U);
    // And somebody enables it.
    world.next.text = webhooks::test::ok;
    auto enabling = world.put_target(true, after.version);
    co_await enabling;
    auto applying = world.runner->apply();
    co_await applying;
    auto delivering = world.wait_until([](const delivery_state& seen) { return seen.delivered == 1; });
    co_await delivering;
  });
}

/// `enable` reaches a target whose record never said that it was gone.
TEST(TargetRunner, A410ThatIsNotWrittenIsForgottenByEnable) {
  run_with_runner([](test::broker_world& on, runner_world& world) -> task<> {
    auto making = world.put_target(true);
    co_await making;
    take_no_record(on);
    static_cast<void>(co_await test::put_job(on.jobs, test::mail("x")));
    world.runner->wake();
    auto going = world.wait_until([](const delivery_state& seen) { return seen.is_gone; });
    co_await going;
    world.next.text = webhooks::test::ok;
    world.runner->enable("mail");
    EXPECT_FALSE(world.runner->state_of("mail").value().is_gone);
    auto delivering = world.wait_until([](const delivery_state& seen) { return seen.delivered == 1; });
    co_await delivering;
    EXPECT_EQ(world.runner->figures().disabled, 0U);
  });
}

/// While there are many jobs, a claim is for as many as the target has turns.
TEST(TargetRunner, ManyJobsAreTakenTogether) {
  run_with_runner([](test::broker_world& on, runner_world& world) -> task<> {
    world.next.text = webhooks::test::ok;
    for (int i = 0; i < 30; ++i) static_cast<void>(co_await test::put_job(on.jobs, test::mail("x")));
    std::uint32_t most = 0;
    on.store.before = [&most](std::span<jobs::operation> batch) {
      for (const jobs::operation& each : batch) {
        const auto* const claims = std::get_if<jobs::claim>(&each);
        if (claims != nullptr && claims->tubes == std::vector<std::string>{"mail"})
          most = std::max(most, claims->count);
      }
    };
    auto making = world.put_target(true);
    co_await making;
    world.runner->wake();
    auto delivering = world.wait_until([](const delivery_state& seen) { return seen.delivered == 30; });
    co_await delivering;
    EXPECT_GE(most, 9u) << "one of ten is under way, or has just ended";
    EXPECT_LE(most, 10u);
    EXPECT_EQ(world.runner->figures().delivered, 30u) << "each once";
  });
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// A server without webhooks has the descriptors that it would have without their engine.
TEST(TargetRunner, WithoutATargetCostsNoDescriptors) {
  run_with_runner([](test::broker_world&, runner_world& world) -> task<> {
    const std::size_t before = open_descriptors();  // the runner has not run yet
    auto applying = world.runner->apply();
    co_await applying;
    co_await runtime::sleep(10ms);
    EXPECT_EQ(open_descriptors(), before);
    auto making = world.put_target(false);
    co_await making;
    world.runner->wake();
    const instant until = runtime::now() + patience;
    while (open_descriptors() == before && runtime::now() < until) co_await runtime::sleep(2ms);
    EXPECT_GT(open_descriptors(), before);
  });
}

/// apply() returns when it is so, and not some time later.
TEST(TargetRunner, AppliedRecordsAreInForce) {
  run_with_runner([](test::broker_world& on, runner_world& world) -> task<> {
    auto making = world.put_target(true);
    co_await making;
    auto applying = world.runner->apply();
    co_await applying;
    EXPECT_TRUE(world.known.delivered().has("mail"));
    EXPECT_EQ(world.runner->figures().disabled, 0U);
    auto looking = world.look();
    const target_record made = co_await looking;
    auto disabling = world.put_target(false, made.version);
    co_await disabling;
    auto applying_again = world.runner->apply();
    co_await applying_again;
    EXPECT_EQ(world.runner->figures().disabled, 1U);
    auto removing = on.jobs.execute(jobs::cancel{jobs::job_key{std::string(tube_of_targets), "mail"}});
    static_cast<void>(co_await removing);
    auto applying_at_last = world.runner->apply();
    co_await applying_at_last;
    EXPECT_FALSE(world.known.delivered().has("mail"));
    EXPECT_FALSE(world.runner->state_of("mail"));
  });
}

}  // namespace
}  // namespace foliot::program
