#include "bench/bench_options.hpp"
#include "text/failure.hpp"

#ifdef FOLIOT_HAS_EMBEDDED_STORE

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/seam/random.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>
#include <foliot/version.hpp>

#include "bench/owners.hpp"
#include "bench/record.hpp"
#include "bench/resident_memory.hpp"
#include "bench/serve/serve_results.hpp"
#include "interruption.hpp"
#include "report.hpp"

#endif

namespace foliot::program::bench {

const std::vector<std::string>& store_families() {
  static const std::vector<std::string> all{"batches", "flood", "delayed"};
  return all;
}

#ifdef FOLIOT_HAS_EMBEDDED_STORE

namespace {

using namespace std::chrono_literals;

constexpr const char* tube_of_store = "mail";
constexpr const char* name_of_store = "embedded";
constexpr std::size_t delayed_at_once = 256;

double seconds_now() { return static_cast<double>(monotonic_clock::instance().now().nanoseconds()) * 1e-9; }

jobs::operation one_put(jobs::due_at due) {
  return jobs::put{.tube = tube_of_store, .body = std::string(100, 'b'), .due = due};
}

class store_run {
 public:
  store_run(const store_bench_options& options, serve_results& to) : options_(options), to_(to) {}

  /// The stores are in this folder from now on.
  void enter(const std::filesystem::path& folder) { folder_ = (folder / "store").string(); }

  /// Batches of one size after another, in a new store.
  void batches() {
    jobs::embedded_store store({.folder = folder_});
    const std::size_t single = counted(5'000);
    const std::size_t many = counted(200'000);
    measure("put", "1", single, [&] { puts(store, single, 1); });
    measure("put", "64", many, [&] { puts(store, many, 64); });
    measure("put", "256", many, [&] { puts(store, many, 256); });
    measure("drain", "64", single + 2 * many, [&] { drain(store); });
    measure("cycle", "1", counted(3'000), [&] { cycles(store, counted(3'000), 1); });
    measure("cycle", "64", many, [&] { cycles(store, many, 64); });
  }

  /// All jobs of one tube are due at one instant: how long the batches take in which they become ready.
  void flood() {
    virtual_clock time;
    const jobs::virtual_wall_clock wall(time);
    jobs::embedded_store store({.folder = folder_, .clocks = {&wall, &time}});
    const std::size_t count = counted(300'000);
    for (std::size_t done = 0; done < count; done += 1000) execute_puts(store, 1000, 1h);
    time.advance(1h);
    double longest = 0;
    measure("flood", "one instant", count, [&] {
      while (store.next().due != jobs::utc_time::max()) {
        const double begin = seconds_now();
        store.execute({});
        longest = std::max(longest, seconds_now() - begin);
      }
    });
    note("flood", "longest-batch", "ms", "longest batch", longest * 1e3);
  }

  /// Jobs that are due in an hour to a day: their puts, a start with them, and their drain.
  void delayed() {
    const std::size_t count = options_.jobs;
    {
      jobs::embedded_store store({.folder = folder_});
      random_stream random(1);
      measure("delayed", "put", count, [&] {
        for (std::size_t done = 0; done < count; done += delayed_at_once) {
          std::vector<jobs::operation> operations;
          for (std::size_t each = done; each < std::min(done + delayed_at_once, count); ++each) {
            const auto due = static_cast<std::int64_t>(3'600'000 + random.below(86'400'000));
            operations.push_back(one_put(jobs::milliseconds(due)));
          }
          store.execute(operations);
        }
      });
      note_memory("resident", "put");
    }
    const double before = seconds_now();
    jobs::embedded_store store({.folder = folder_});
    note("delayed", "start", "s", "started", seconds_now() - before);
    note_memory("resident-after-start", "started");
    measure("delayed", "kick", count, [&] {
      for (std::size_t done = 0; done < count; done += 1000) {
        jobs::execute_one(store, jobs::kick{tube_of_store, 1000});
      }
    });
    measure("delayed", "drain", count, [&] { drain(store); });
  }

 private:
  [[nodiscard]] std::size_t counted(std::size_t usual) const { return options_.quick ? usual / 100 : usual; }

  static void execute_puts(jobs::embedded_store& store, std::size_t count, jobs::due_at due) {
    std::vector<jobs::operation> operations(count, one_put(due));
    store.execute(operations);
  }

  static void puts(jobs::embedded_store& store, std::size_t count, std::size_t batch) {
    for (std::size_t done = 0; done < count; done += batch) execute_puts(store, batch, 0ms);
  }

  /// Each job is put in one batch, claimed in the next one, and finished in the one after that.
  static void cycles(jobs::embedded_store& store, std::size_t count, std::size_t batch) {
    std::vector<jobs::operation> finishes;
    for (std::size_t done = 0; done < count; done += batch) {
      std::vector<jobs::operation> operations = std::exchange(finishes, {});
      for (std::size_t each = 0; each < batch; ++each) operations.push_back(one_put(0ms));
      store.execute(operations);
      operations.assign(batch, jobs::claim{.tubes = {tube_of_store}});
      for (jobs::answer& each : store.execute(operations).answers) {
        for (const jobs::claimed_job& mine : std::get<jobs::claim_answer>(each).jobs) {
          finishes.push_back(jobs::finish{mine.token});
        }
      }
    }
    store.execute(finishes);
  }

  /// Claims and finishes all that is ready, in batches of 64.
  static void drain(jobs::embedded_store& store) {
    std::vector<jobs::operation> finishes;
    for (bool more = true; more;) {
      finishes.push_back(jobs::claim{.tubes = {tube_of_store}, .count = 64});
      const auto done = store.execute(finishes);
      finishes.clear();
      const auto& mine = std::get<jobs::claim_answer>(done.answers.back()).jobs;
      for (const jobs::claimed_job& each : mine) finishes.push_back(jobs::finish{each.token});
      more = !mine.empty();
    }
  }

  void measure(const char* family, const char* head, std::size_t count, const std::function<void()>& work) {
    throw_if_interrupted();
    progress_.show(fmt::format("{} {}", family, head), done_++, all_steps);
    const double wall = seconds_now();
    const double thread = cpu_seconds(RUSAGE_THREAD);
    const double process = cpu_seconds(RUSAGE_SELF);
    work();
    const double microseconds = 1e6 / static_cast<double>(count);
    note(family, "rate", "operations/s", head, static_cast<double>(count) / (seconds_now() - wall));
    note(family, "cpu", "us of the caller", head, (cpu_seconds(RUSAGE_THREAD) - thread) * microseconds);
    note(family, "process-cpu", "us with RocksDB's threads", head, (cpu_seconds(RUSAGE_SELF) - process) * microseconds);
  }

  void note_memory(const char* figure, const char* head) {
    note("delayed", figure, "MB", head, static_cast<double>(resident_kibibytes()) * 1024 / 1e6);
  }

  void note(const char* family, const char* figure, const char* unit, const char* head, double amount) {
    to_.note({.family = family, .contestant = name_of_store, .figure = figure, .unit = unit, .head = head}, amount);
  }

  static constexpr std::uint64_t all_steps = 10;

  const store_bench_options& options_;
  std::string folder_;
  serve_results& to_;
  progress_line progress_;
  std::uint64_t done_ = 0;
};

/// Measures the parts that are asked for, each in a new store.
void measure_parts(const store_bench_options& options, serve_results& to) {
  using part = void (store_run::*)();
  constexpr std::array<part, 3> parts{&store_run::batches, &store_run::flood, &store_run::delayed};
  const std::vector<std::string>& only = options.only;
  const interruptible while_running;
  store_run run(options, to);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!only.empty() && std::ranges::find(only, store_families()[i]) == only.end()) continue;
    const temporary_folder here(options.folder);
    run.enter(here.path());
    (run.*parts[i])();
  }
}

}  // namespace

void run_store_bench(const store_bench_options& options) {
  outputs to(options.files);
  if (const auto warning = build_warning()) report(*warning);
  serve_results all{
      .command = "foliot bench store",
      .introduction = "The embedded store without a server: batches one after another, each synced, in one thread."};
  all.contestants = {{.name = name_of_store, .version = "foliot " FOLIOT_VERSION, .remark = "bodies of 100 bytes"}};
  all.families = {{"put", "synced batches of puts, jobs a second, by the size of the batch"},
                  {"drain", "claims and finishes, jobs a second, by the size of the batch"},
                  {"cycle", "puts, claims and finishes, jobs a second, by the size of the batch"},
                  {"flood", "jobs that become ready at one instant, jobs a second"},
                  {"delayed", fmt::format("{} delayed jobs, in batches: jobs a second", options.jobs)}};
  all.repetitions = 1;
  all.has_load_generator = false;
  try {
    measure_parts(options, all);
  } catch (const interrupted&) {
    die_if_interrupted();
    throw;
  }
  to.publish(all);
}

#else

void run_store_bench(const store_bench_options&) {
  throw failure("RocksDB was not installed when this program was built (Debian: librocksdb-dev)");
}

#endif

}  // namespace foliot::program::bench
