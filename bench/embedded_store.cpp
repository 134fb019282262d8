// What the embedded store costs: synced batches of puts, put-claim-finish cycles, the drain of delayed jobs, and the
// opening of a store with many of them. Decides about its options and its windows; see
// docs/decisions/0012-the-embedded-store.md.
//
// usage: jobs_bench FOLDER [DELAYED-JOBS]      the folder must not exist; it is removed at the end. With a number of
//                                              delayed jobs only those are measured.
//
// Times of the CPU are those of the calling thread: RocksDB's flushes and compactions come on top.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>

namespace {

namespace jobs = foliot::jobs;
using namespace std::chrono_literals;

const std::string body(100, 'b');

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// Of the calling thread, or of the process.
double cpu_seconds(int whose) {
  rusage used{};
  getrusage(whose, &used);
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

double wall_seconds() { return static_cast<double>(foliot::monotonic_clock::instance().now().nanoseconds()) * 1e-9; }

std::size_t resident_megabytes() {
  std::ifstream status("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  status >> total >> resident;
  return resident * 4096 / 1'000'000;
}

void measure(std::string_view what, std::size_t count, const std::function<void()>& work) {
  const double wall = wall_seconds();
  const double thread = cpu_seconds(RUSAGE_THREAD);
  const double process = cpu_seconds(RUSAGE_SELF);
  work();
  const double each = 1e6 / static_cast<double>(count);
  const double took = wall_seconds() - wall;
  std::printf("%-34.*s %9.0f/s  %6.2f us CPU (%.2f with RocksDB's threads)\n", static_cast<int>(what.size()),
              what.data(), static_cast<double>(count) / took, (cpu_seconds(RUSAGE_THREAD) - thread) * each,
              (cpu_seconds(RUSAGE_SELF) - process) * each);
}

jobs::operation one_put(jobs::due_at due) { return jobs::put{.tube = "mail", .body = body, .due = due}; }

void puts(jobs::embedded_store& store, std::size_t count, std::size_t batch) {
  for (std::size_t done = 0; done < count; done += batch) {
    std::vector<jobs::operation> operations(batch, one_put(0ms));
    store.execute(operations);
  }
}

/// Each job is put in one batch, claimed in the next one, and finished in the one after that.
void cycles(jobs::embedded_store& store, std::size_t count, std::size_t batch) {
  std::vector<jobs::operation> finishes;
  for (std::size_t done = 0; done < count; done += batch) {
    std::vector<jobs::operation> operations = std::exchange(finishes, {});
    for (std::size_t each = 0; each < batch; ++each) operations.push_back(one_put(0ms));
    store.execute(operations);
    operations.assign(batch, jobs::claim{.tubes = {"mail"}});
    for (jobs::answer& each : store.execute(operations).answers) {
      for (const jobs::claimed_job& mine : std::get<jobs::claim_answer>(each).jobs) {
        finishes.push_back(jobs::finish{mine.token});
      }
    }
  }
  store.execute(finishes);
}

void drain(jobs::embedded_store& store, std::size_t batch) {
  std::vector<jobs::operation> finishes;
  for (bool more = true; more;) {
    finishes.push_back(jobs::claim{.tubes = {"mail"}, .count = static_cast<std::uint32_t>(batch)});
    const auto done = store.execute(finishes);
    finishes.clear();
    const auto& mine = std::get<jobs::claim_answer>(done.answers.back()).jobs;
    for (const jobs::claimed_job& each : mine) finishes.push_back(jobs::finish{each.token});
    more = !mine.empty();
  }
}

void delayed(const std::string& folder, std::size_t count) {
  {
    jobs::embedded_store store({.folder = folder});
    std::mt19937_64 random(1);
    measure("put delayed, batches of 256", count, [&] {
      for (std::size_t done = 0; done < count; done += 256) {
        std::vector<jobs::operation> operations;
        for (std::size_t each = 0; each < 256; ++each) {
          operations.push_back(one_put(jobs::milliseconds(3'600'000 + random() % 86'400'000)));
        }
        store.execute(operations);
      }
    });
    std::printf("%-34s %9zu MB resident\n", "  with the store that put them", resident_megabytes());
  }
  const double before = wall_seconds();
  jobs::embedded_store store({.folder = folder});
  const double opened = wall_seconds();
  std::printf("%-34s %9.3f s, %zu MB resident in this process\n", "open again", opened - before, resident_megabytes());
  measure("kick, 1000 at a time", count, [&] {
    for (std::size_t done = 0; done < count; done += 1000) jobs::execute_one(store, jobs::kick{"mail", 1000});
  });
  measure("claim and finish, batches of 64", count, [&] { drain(store, 64); });
}

/// All jobs of one tube are due at one instant: how long the batches take in which they become ready.
void flood(const std::string& folder, std::size_t count) {
  foliot::virtual_clock time;
  const jobs::virtual_wall_clock wall(time);
  jobs::embedded_store store({.folder = folder, .clocks = {&wall, &time}});
  for (std::size_t done = 0; done < count; done += 1000) {
    std::vector<jobs::operation> operations(1000, one_put(1h));
    store.execute(operations);
  }
  time.advance(1h);
  double longest = 0;
  measure("become ready, all at one instant", count, [&] {
    while (store.next().due != jobs::utc_time::max()) {
      const double begin = wall_seconds();
      store.execute({});
      longest = std::max(longest, wall_seconds() - begin);
    }
  });
  std::printf("%-34s %9.1f ms\n", "  longest batch", longest * 1e3);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || std::filesystem::exists(arguments[1])) {
    std::fprintf(stderr, "usage: jobs_bench FOLDER [DELAYED-JOBS]: the folder must not exist\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string folder = arguments[1];
  const std::size_t many = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1'000'000;
  if (count == 2) {
    {
      jobs::embedded_store store({.folder = folder});
      measure("put, batches of 1", 5'000, [&] { puts(store, 5'000, 1); });
      measure("put, batches of 64", 200'000, [&] { puts(store, 200'000, 64); });
      measure("put, batches of 256", 200'000, [&] { puts(store, 200'000, 256); });
      measure("claim and finish, batches of 64", 405'000, [&] { drain(store, 64); });
      measure("cycles, batches of 1", 3'000, [&] { cycles(store, 3'000, 1); });
      measure("cycles, batches of 64", 200'000, [&] { cycles(store, 200'000, 64); });
    }
    std::filesystem::remove_all(folder);
    flood(folder, 300'000);
  }
  std::filesystem::remove_all(folder);
  delayed(folder, many);
  std::filesystem::remove_all(folder);
  return 0;
}
