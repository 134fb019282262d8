// A store that runs out of memory in the middle of a batch: the batch is lost as a whole, and the store says so.
//
// Each trial is a process of its own. It may end by an abort, because RocksDB cannot go on without memory.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>

#include "jobs/kit/temporary_folder.hpp"
#include "support/allocations.hpp"

namespace {

namespace jobs = foliot::jobs;

/// Ends with the exit code that the function returns. A process that hangs is ended by SIGALRM.
template <class Function>
int status_of_child(Function function) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{};
    ::setrlimit(RLIMIT_CORE, &none);
    ::alarm(120);
    int code = 254;
    try {
      code = function();
    } catch (...) {  // it must not go on as a second test program
    }
    ::_exit(code);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

constexpr int failed = 0;
constexpr int aborted = 9;  ///< while memory was scarce
constexpr int succeeded = 7;

/// The first, second or third put, which happens once.
jobs::put put_of(int number) {
  jobs::sha256 key{};
  key[0] = static_cast<std::byte>(number);
  return {.tube = "a tube with a long name " + std::to_string(number),
          .key = "a key with a long name",
          .body = std::string(3000, 'x'),
          .once = jobs::once(key, {}, std::chrono::hours(1))};
}

/// Executes a batch of three puts while all allocations but the first so many fail.
int run_batch(const std::string& folder, std::size_t allocations) {
  jobs::embedded_store store({.folder = folder, .disk_reserve = 0});
  std::vector<jobs::operation> batch;
  for (int i = 0; i < 3; ++i) batch.emplace_back(put_of(i));
  bool has_failed = false;
  try {
    std::signal(SIGABRT, [](int) { ::_exit(aborted); });
    const foliot::test::failing_allocations scarce(allocations);
    store.execute(batch);
  } catch (const jobs::store_failure&) {
    has_failed = true;
  } catch (const std::bad_alloc&) {  // no memory for the text
    has_failed = true;
  }
  std::signal(SIGABRT, SIG_DFL);
  if (!has_failed) return succeeded;
  try {
    store.execute({});
    return 1;  // it goes on
  } catch (const jobs::store_failure&) {
    return failed;
  }
}

/// The exit code: the jobs of a store that is as it should be, which remembers the puts of these jobs and no others.
int count_jobs(const std::string& folder) {
  jobs::embedded_store store({.folder = folder, .disk_reserve = 0});
  if (!store.check()) return 255;
  const auto counted = static_cast<int>(jobs::execute_one(store, jobs::count_all{}).counts.all());
  int remembered = 0;
  for (int i = 0; i < 3; ++i) remembered += jobs::execute_one(store, put_of(i)).is_replayed ? 1 : 0;
  return remembered == counted ? counted : 253;
}

TEST(embedded_memory, without_memory_a_batch_is_lost_as_a_whole) {
  bool is_done = false;
  for (std::size_t allocations = 0; !is_done; allocations += 4) {
    ASSERT_LT(allocations, 3000u);
    const foliot_test::temporary_folder folder;
    const std::string store = folder.path() + "/store";
    const int ended = status_of_child([&] { return run_batch(store, allocations); });
    ASSERT_TRUE(WIFEXITED(ended)) << allocations << " allocations, status " << ended;
    const int code = WEXITSTATUS(ended);
    is_done = code == succeeded;
    ASSERT_TRUE(is_done || code == failed || code == aborted) << allocations << " allocations, status " << ended;
    const int counted = status_of_child([&] { return count_jobs(store); });
    ASSERT_TRUE(WIFEXITED(counted)) << counted;
    ASSERT_TRUE(WEXITSTATUS(counted) == 3 || (!is_done && WEXITSTATUS(counted) == 0))
        << allocations << " allocations, " << WEXITSTATUS(counted) << " jobs";
  }
}

}  // namespace
