// How many log lines a second `foliot replay` handles on one core: reading, parsing, and resetting or starting a timer
// for each. The log is generated once, and is in the page cache when it is read.
//
//   foliot bench micro --only replay --repetitions 5
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include <foliot/core/duration.hpp>

#include "bench/owners.hpp"
#include "micro.hpp"
#include "replay/replay.hpp"
#include "sample/sample.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t lines = 3'000'000;

/// A folder with the generated logs, which is removed at the end of the run.
struct generated_logs {
  generated_logs() {
    for (const char* each : {"plain.log", "packed.log.gz"}) {
      foliot::program::sample_options options;
      options.traffic.lines = lines;
      options.output = path_of(each);
      foliot::program::sample(options);
    }
  }
  [[nodiscard]] std::string path_of(const char* name) const { return (folder.path() / name).string(); }

  foliot::program::bench::temporary_folder folder{std::filesystem::temp_directory_path()};
};

/// Redirects standard output to /dev/null while it lives, since each run writes a summary.
class silent_output {
 public:
  silent_output() : saved_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
  ~silent_output() {
    std::fflush(stdout);
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }

 private:
  int saved_;
};

void replay_log(benchmark::State& state, const char* log, const char* sessions) {
  static const generated_logs logs;
  foliot::program::replay_options options;
  options.logs = {logs.path_of(log)};
  options.idle = 30min;
  options.engine = "global-heap";
  if (*sessions != '\0') options.sessions = logs.path_of(sessions);
  const silent_output silent;
  for (auto _ : state) foliot::program::replay(options);
  state.SetItemsProcessed(static_cast<std::int64_t>(lines) * state.iterations());
}

}  // namespace

namespace foliot::program::bench {

void add_replay_costs() {
  const auto add = [](const char* name, const char* log, const char* sessions) {
    ::benchmark::RegisterBenchmark(name, [=](::benchmark::State& state) { replay_log(state, log, sessions); });
  };
  add("replay/foliot/plain", "plain.log", "");
  add("replay/foliot/gzip", "packed.log.gz", "");
  add("replay/foliot/plain with sessions", "plain.log", "sessions.csv");
}

}  // namespace foliot::program::bench
