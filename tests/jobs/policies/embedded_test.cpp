// Policies of tubes over the store on disk: what it keeps of the tries, and a crash at any batch of a move to the dead
// letters.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/job_tries.hpp>
#include <foliot/jobs/policy_store.hpp>

#include "jobs/embedded/under_test.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

/// Both stores over one disk, through several openings.
class policies_on_disk {
 public:
  explicit policies_on_disk(policy_table policies)
      : policies_(std::make_shared<const policy_table>(std::move(policies))) {
    open();
  }
  ~policies_on_disk() {
    outer_.reset();
    inner_.reset();
  }
  policies_on_disk(const policies_on_disk&) = delete;
  policies_on_disk& operator=(const policies_on_disk&) = delete;

  void crash() {
    disk_.crash();
    outer_.reset();
    inner_.reset();
    disk_.fail_call(0);
    open();
  }

  [[nodiscard]] bool wants_turn() const {
    const next_change next = outer_->next();
    return next.expiry <= time_.now() || next.due <= clocks_.utc();
  }
  void turn() {
    outer_->execute({});
    const check_result right = outer_->check();
    EXPECT_TRUE(right.has_value()) << right.error();
  }
  void settle() {
    for (int turns = 0; wants_turn(); ++turns) {
      ASSERT_LT(turns, 1000);
      turn();
    }
  }
  template <class Operation>
  answer_of<Operation> run(Operation what) {
    return execute_one(*outer_, std::move(what));
  }
  void pass(duration length) {
    time_.advance(length);
    settle();
  }
  [[nodiscard]] std::uint64_t count(const std::string& tube) { return run(count_tube{tube}).counts.all(); }

 private:
  void open() {
    inner_ = disk_.open(clocks_);
    outer_ = std::make_unique<policy_store>(*inner_, clocks_);
    outer_->set_policies(policies_);
  }

  std::shared_ptr<const policy_table> policies_;
  virtual_clock time_{instant::from_nanoseconds(1'000'000'000)};
  virtual_wall_clock wall_{time_};
  store_clocks clocks_{&wall_, &time_};
  conformance::embedded_under_test disk_{std::size_t{1} << 14U};
  std::unique_ptr<job_store> inner_;
  std::unique_ptr<policy_store> outer_;
};

job_id put_mail(policies_on_disk& world) { return world.run(put{.tube = "mail", .body = "b", .ttr = 10s}).id; }

reservation claim_mail(policies_on_disk& world) {
  const claim_answer got = world.run(claim{.tubes = {"mail"}});
  EXPECT_EQ(got.jobs.size(), 1U);
  return got.jobs.empty() ? reservation{} : got.jobs[0].token;
}

TEST(PoliciesOnDisk, TriesOutliveACrash) {
  policies_on_disk world({{"mail", {.tries = 3}}});
  const job_id id = put_mail(world);
  for (std::uint32_t tries = 1; tries <= 3; ++tries) {
    EXPECT_EQ(world.run(release{.token = claim_mail(world)}).what, holder_answer::kind::done);
    world.crash();
    world.settle();
    const auto seen = world.run(peek{id}).job;
    ASSERT_TRUE(seen);
    EXPECT_EQ(job_tries::in(seen->history).value().failed, tries);
    EXPECT_EQ(seen->state, tries == 3 ? job_state::buried : job_state::ready);
  }
}

TEST(PoliciesOnDisk, AnEndedTtrOutlivesACrash) {
  policies_on_disk world({{"mail", {.tries = 2}}});
  const job_id id = put_mail(world);
  for (int i = 0; i < 2; ++i) {
    claim_mail(world);
    world.pass(11s);
    world.crash();
    world.settle();
  }
  EXPECT_EQ(world.run(peek{id}).job.value().state, job_state::buried);
}

TEST(PoliciesOnDisk, ACrashAtAnyBatchOfAMoveLosesNothingAndMovesOnce) {
  for (int crash_after = 0; crash_after < 5; ++crash_after) {
    SCOPED_TRACE(crash_after);
    policies_on_disk world({{"mail", {.tries = 1, .dead_letters = "dead"}}});
    put_mail(world);
    EXPECT_EQ(world.run(release{.token = claim_mail(world)}).what, holder_answer::kind::done);
    for (int turns = 0; turns < crash_after && world.wants_turn(); ++turns) world.turn();
    world.crash();
    world.settle();
    EXPECT_TRUE(world.run(claim{.tubes = {"mail"}}).jobs.empty());
    world.settle();
    EXPECT_EQ(world.count("mail"), 0U);
    EXPECT_EQ(world.count("dead"), 1U);
  }
}

TEST(PoliciesOnDisk, LimitsBeginAnewWithTheOpening) {
  policies_on_disk world({{"mail", {.most_reserved = 1}}});
  put_mail(world);
  put_mail(world);
  claim_mail(world);
  EXPECT_TRUE(world.run(claim{.tubes = {"mail"}}).jobs.empty());
  world.crash();
  world.settle();
  claim_mail(world);
  EXPECT_TRUE(world.run(claim{.tubes = {"mail"}}).jobs.empty());
}

TEST(PoliciesOnDisk, ReadyJobsExpire) {
  policies_on_disk world({{"mail", {.expires = 60s}}});
  for (int i = 0; i < 20; ++i) put_mail(world);
  world.settle();
  world.pass(30s);
  world.crash();
  world.pass(30s);
  world.pass(2s);
  EXPECT_EQ(world.count("mail"), 0U);
}

}  // namespace
}  // namespace foliot::jobs
