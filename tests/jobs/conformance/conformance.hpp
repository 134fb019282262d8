// The conformance suite of job stores: the same cases and the same random sequences for each of them, compared with the
// oracle (oracle.hpp).
//
// A store joins the suite by a source file of its own, which derives from store_under_test and registers it:
//
//   FOLIOT_CONFORMING_STORE(memory, [] { return std::make_unique<memory_under_test>(); });
//
// A durable store is also reopened, after an orderly end and after a crash; and where it can fail a call to its disk,
// it is failed between any two steps.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

namespace foliot::jobs::conformance {

/// One store with its disk, if it has one, through all its openings.
class store_under_test {
 public:
  store_under_test() = default;
  store_under_test(const store_under_test&) = delete;
  store_under_test& operator=(const store_under_test&) = delete;
  virtual ~store_under_test() = default;

  /// Opens the store: empty for the first time, later with the jobs that it has kept. The suite destroys a store
  /// before it opens the next one.
  [[nodiscard]] virtual std::unique_ptr<job_store> open(const store_clocks& clocks) = 0;
  /// Whether jobs outlive the job_store.
  [[nodiscard]] virtual bool durable() const { return false; }
  /// The machine crashes: unsynced writes are lost, and so are all writes until the store has been destroyed. Then the
  /// suite opens it again.
  virtual void crash() {}
  /// Lets the n-th call to the disk from now on fail, counted from 1; 0: none. False: this store has no such calls.
  virtual bool fail_call(std::uint64_t n) { return n == 0; }
};

/// A registered store.
struct store_kind {
  std::string name;
  std::function<std::unique_ptr<store_under_test>()> make;

  friend void PrintTo(const store_kind& kind, std::ostream* out) { *out << kind.name; }
};

/// How an opening ends.
enum class ending : std::uint8_t { orderly, crash };

/// An open store on virtual time. The clocks do not move by themselves.
class open_store {
 public:
  explicit open_store(const store_kind& kind) : disk_(kind.make()) { open(first_wall()); }

  /// The wall clock's first time, a whole millisecond.
  [[nodiscard]] static instant first_wall() { return instant::from_nanoseconds(1'700'000'000'000'000'000); }

  [[nodiscard]] job_store& operator*() { return *store_; }
  [[nodiscard]] job_store* operator->() { return store_.get(); }
  [[nodiscard]] store_under_test& disk() { return *disk_; }

  [[nodiscard]] instant now() const { return time_->now(); }
  [[nodiscard]] utc_time utc() const { return clocks_.utc(); }
  [[nodiscard]] std::chrono::sys_time<std::chrono::nanoseconds> wall() const { return clocks_.wall_time(); }
  /// Moves both clocks on.
  void pass(duration length) { time_->advance(length); }
  /// Sets the wall clock forward or back.
  void step_wall(duration by) { time_->set_wall(time_->wall_now() + by); }

  /// Ends the opening and begins the next one. As after a boot of the machine, the monotonic clock begins anew.
  void reopen(ending how) {
    if (how == ending::crash) disk_->crash();
    store_.reset();
    disk_->fail_call(0);
    open(time_->wall_now());
  }

 private:
  void open(instant wall_shows) {
    boots_ += 1;
    time_ = std::make_unique<virtual_clock>(instant::from_nanoseconds(boots_ * 7'000'000'000));
    time_->set_wall(wall_shows);
    wall_ = std::make_unique<virtual_wall_clock>(*time_);
    clocks_ = {wall_.get(), time_.get()};
    store_ = disk_->open(clocks_);
  }

  std::unique_ptr<store_under_test> disk_;
  std::int64_t boots_ = 0;
  std::unique_ptr<virtual_clock> time_;
  std::unique_ptr<virtual_wall_clock> wall_;
  store_clocks clocks_;
  std::unique_ptr<job_store> store_;
};

/// The fixture of all suites that run over the registered stores.
class AnyStore : public ::testing::TestWithParam<store_kind> {
 protected:
  /// Executes one operation, after which the invariants must hold.
  template <class Operation>
  answer_of<Operation> run(Operation what) {
    operation only(std::move(what));
    last_ = store_->execute(std::span(&only, 1));
    check();
    return std::get<answer_of<Operation>>(last_.answers.at(0));
  }
  /// Executes an empty batch.
  const execution& settle() {
    last_ = store_->execute({});
    check();
    return last_;
  }
  /// What the store waits for, once it has noted for itself what it has to after a change.
  next_change next_when_settled() {
    store_.pass(std::chrono::milliseconds(10));
    settle();
    return store_->next();
  }
  void check() {
    const check_result right = store_->check();
    EXPECT_TRUE(right.has_value()) << right.error();
  }

  open_store store_{GetParam()};
  /// The last batch.
  execution last_;
};

/// Case by case (cases.cpp, time.cpp).
class JobStore : public AnyStore {};
/// Case by case, over several openings: for durable stores (reopen.cpp).
class ReopenedJobStore : public AnyStore {};
/// Fields and histories case by case, in one opening and over several (fields.cpp).
class FieldsOfJobs : public AnyStore {
 protected:
  job_fields fields_of(job_id id) { return run(peek{id}).job.value().fields; }
  job_fields history_of(job_id id) { return run(peek{id, false}).job.value().history; }
  reservation claimed(job_id id) { return run(claim_job{id}).jobs.at(0).token; }
};
class ReopenedFieldsOfJobs : public FieldsOfJobs {};
/// Versions of jobs, and operations that expect one (versions.cpp).
class VersionsOfJobs : public AnyStore {
 protected:
  job_version version_of(const job_name& name) { return run(peek{name, false}).version; }
  reservation claimed(job_id id) { return run(claim_job{id}).jobs.at(0).token; }
};
class ReopenedVersionsOfJobs : public VersionsOfJobs {};
/// At random (random.cpp).
class RandomJobs : public AnyStore {};

/// The parameters of ReopenedJobStore.
inline std::vector<store_kind> if_durable(store_kind kind) {
  return kind.make()->durable() ? std::vector{std::move(kind)} : std::vector<store_kind>{};
}

}  // namespace foliot::jobs::conformance

/// Adds a store to the suites: `label` names it, and the other argument is a function that makes a store_under_test.
/// Must be used in namespace foliot::jobs::conformance.
#define FOLIOT_CONFORMING_STORE(label, ...)                                                                           \
  INSTANTIATE_TEST_SUITE_P(label, JobStore, ::testing::Values(store_kind{#label, __VA_ARGS__}),                       \
                           [](const auto&) { return std::string(#label); });                                          \
  INSTANTIATE_TEST_SUITE_P(label, ReopenedJobStore, ::testing::ValuesIn(if_durable(store_kind{#label, __VA_ARGS__})), \
                           [](const auto&) { return std::string(#label); });                                          \
  INSTANTIATE_TEST_SUITE_P(label, FieldsOfJobs, ::testing::Values(store_kind{#label, __VA_ARGS__}),                   \
                           [](const auto&) { return std::string(#label); });                                          \
  INSTANTIATE_TEST_SUITE_P(label, ReopenedFieldsOfJobs,                                                               \
                           ::testing::ValuesIn(if_durable(store_kind{#label, __VA_ARGS__})),                          \
                           [](const auto&) { return std::string(#label); });                                          \
  INSTANTIATE_TEST_SUITE_P(label, VersionsOfJobs, ::testing::Values(store_kind{#label, __VA_ARGS__}),                 \
                           [](const auto&) { return std::string(#label); });                                          \
  INSTANTIATE_TEST_SUITE_P(label, ReopenedVersionsOfJobs,                                                             \
                           ::testing::ValuesIn(if_durable(store_kind{#label, __VA_ARGS__})),                          \
                           [](const auto&) { return std::string(#label); });                                          \
  INSTANTIATE_TEST_SUITE_P(label, RandomJobs, ::testing::Values(store_kind{#label, __VA_ARGS__}),                     \
                           [](const auto&) { return std::string(#label); })
