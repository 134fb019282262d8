// The versions of the folder's format: the first job with fields or a history makes a folder one of version 3, in the
// same write, so that a crash leaves a folder that opens.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>

#include "faulty_files.hpp"
#include "jobs/embedded/core.hpp"
#include "jobs/embedded/disk.hpp"
#include "jobs/embedded/opening.hpp"
#include "jobs/kit/temporary_folder.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

class EmbeddedFormat : public testing::Test {
 protected:
  EmbeddedFormat() { EXPECT_TRUE(some_.set(first_own_tag, "some")); }

  [[nodiscard]] std::string folder() const { return here_.path() + "/store" + std::to_string(stores_); }
  void open() { store_ = detail::embedded_core::open_on({.folder = folder(), .disk_reserve = 0}, files_); }
  template <class Operation>
  auto run(Operation what) {
    return execute_one(*store_, std::move(what));
  }
  job_id put_one(job_fields fields = {}, job_fields history = {}) {
    return run(put{.tube = "mail", .body = "b", .fields = std::move(fields), .history = std::move(history)}).id;
  }
  reservation claimed(job_id id) { return run(claim_job{id}).jobs.at(0).token; }
  /// What an earlier program looks at first. Closes the store.
  std::uint64_t version() {
    store_.reset();
    detail::disk opened(detail::locked_folder(folder()), files_);
    const auto found = opened.read(detail::family::meta, "version");
    return found && found->size() == 8 ? detail::read_big<std::uint64_t>(found->data()) : 0;
  }
  [[nodiscard]] std::string problem() {
    const check_result right = store_->check();
    return right ? "" : right.error();
  }

  foliot_test::temporary_folder here_;
  int stores_ = 0;  ///< before the present one
  std::shared_ptr<foliot_test::faulty_files> files_ = std::make_shared<foliot_test::faulty_files>();
  std::unique_ptr<embedded_store> store_;
  job_fields some_;
};

TEST_F(EmbeddedFormat, StaysThatOfEarlierProgramsWithoutFields) {
  open();
  const job_id id = put_one();
  EXPECT_EQ(run(release{claimed(id)}).what, holder_answer::kind::done);
  EXPECT_EQ(run(bury{claimed(id), std::nullopt, job_fields()}).what, holder_answer::kind::done) << "as it has none";
  EXPECT_EQ(version(), 2U);
  open();
  EXPECT_EQ(problem(), "");
}

TEST_F(EmbeddedFormat, ChangesWithTheFirstFields) {
  open();
  const job_id without = put_one();
  EXPECT_EQ(version(), 2U);
  open();
  const job_id with = put_one(some_);
  EXPECT_EQ(version(), 3U);
  open();
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(run(peek{with}).job.value().fields, some_);
  EXPECT_EQ(run(peek{without}).job.value().fields, job_fields());
  run(cancel{with});
  EXPECT_EQ(version(), 3U) << "it does not go back";
}

TEST_F(EmbeddedFormat, ChangesWithTheFirstHistory) {
  for (const bool buries : {false, true}) {
    open();
    const job_id id = put_one();
    const reservation token = claimed(id);
    if (buries) {
      run(bury{token, std::nullopt, some_});
    } else {
      run(release{token, std::nullopt, 0ms, some_});
    }
    EXPECT_EQ(version(), 3U);
    open();
    EXPECT_EQ(problem(), "");
    EXPECT_EQ(run(peek{id}).job.value().history, some_);
    store_.reset();
    ++stores_;
  }
}

/// A crash, or a call that fails, anywhere in the batch that has the first fields: the folder opens, what was
/// acknowledged is in it, and its version goes with what it has.
TEST_F(EmbeddedFormat, ACrashAroundItsChangeLeavesAFolderThatOpens) {
  bool was_done = false;
  int changed = 0;
  std::mt19937_64 random(7);
  for (std::uint64_t call = 1; !was_done; ++call) {
    ASSERT_LT(call, 100U);
    for (const bool once : {true, false}) {
      ++stores_;
      files_ = std::make_shared<foliot_test::faulty_files>();
      open();
      const job_id before = put_one();
      if (once) {
        files_->fail_once_at(call);
      } else {
        files_->stop_at(call);
      }
      job_id with = 0;
      try {
        with = put_one(some_, some_);
      } catch (const store_failure&) {
        // It has happened, or it has not.
      }
      was_done = files_->calls() < call;
      files_->stop_at(0);
      store_.reset();
      files_->crash(random);
      files_->restart();
      open();
      EXPECT_EQ(problem(), "") << "call " << call;
      EXPECT_TRUE(run(peek{before}).job) << "call " << call;
      const std::uint64_t jobs = run(count_all{}).counts.all();
      if (with != 0) {
        EXPECT_EQ(jobs, 2U) << "call " << call;
        EXPECT_EQ(run(peek{with}).job.value().history, some_) << "call " << call;
      }
      EXPECT_EQ(version(), jobs == 2 ? 3U : 2U) << "call " << call;
      changed += jobs == 2 ? 1 : 0;
    }
  }
  EXPECT_GT(changed, 0);
}

TEST_F(EmbeddedFormat, AFolderWhoseVersionDoesNotGoWithItsRecordsIsDamaged) {
  open();
  const job_id id = put_one(some_);
  store_.reset();
  {
    detail::disk opened(detail::locked_folder(folder()), files_);
    opened.put(detail::family::meta, "version", detail::view(detail::number_key(detail::first_format)));
    opened.write(true);
  }
  open();
  EXPECT_EQ(problem(), "job " + std::to_string(id) + ": it has fields, and the folder's format has none");
}

TEST_F(EmbeddedFormat, OneOfALaterProgramIsRefused) {
  std::filesystem::create_directory(folder());
  {
    detail::disk opened(detail::locked_folder(folder()), files_);
    opened.put(detail::family::meta, "version", detail::view(detail::number_key(std::uint64_t{5})));
    opened.write(true);
  }
  try {
    open();
    FAIL() << "it opens";
  } catch (const store_failure& failed) {
    EXPECT_EQ(std::string(failed.what()), "cannot open the job store " + folder() +
                                              ": its format has version 5, and this program reads the versions 2 to "
                                              "4: use the program that wrote it");
  }
}

}  // namespace
}  // namespace foliot::jobs
