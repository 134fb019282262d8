// A program that shows its timers, or its runtime, on a statistics socket: shown_timers PATH [measure] [runtime]. Its
// time is virtual. For each line on standard input it lets a second pass, and writes a line; after that a test may read
// the statistics. It ends with its input.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime.hpp>
#include <foliot/service.hpp>

using namespace std::chrono_literals;

namespace {

void answer(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

void run(const char* path, bool measure) {
  foliot::virtual_clock clock;
  foliot::service_options options;
  options.measure = measure;
  foliot::timer_service timers(clock, std::move(options));
  const foliot::statistics_socket shown(timers, path);

  const foliot::ticker beat(timers, 100ms, [] {});
  std::vector<foliot::timer> many;
  for (int i = 1; i <= 1000; ++i) many.emplace_back(timers, 1s + 1ms * i, [&clock] { clock.stall(40us); });
  many[998].reset(1h);
  many[999].stop();

  answer("ready");
  char line[64];
  while (std::fgets(line, sizeof(line), stdin) != nullptr) {
    clock.advance(1s);
    answer("advanced");
  }
}

foliot::task<> beat(foliot::virtual_clock& clock) {
  for (;;) {
    co_await foliot::runtime::sleep(100ms);
    clock.stall(40us);
  }
}

foliot::task<> show_tasks(const char* path, foliot::virtual_clock& clock) {
  const foliot::runtime_statistics_socket shown(foliot::this_runtime(), path);
  foliot::runtime::spawn(beat(clock), "beat");
  for (int i = 0; i < 1000; ++i)
    foliot::runtime::spawn([]() -> foliot::task<> { co_await foliot::runtime::sleep(1h); }, "session");
  co_await foliot::runtime::yield();
  answer("ready");
  char line[64];
  while (std::fgets(line, sizeof(line), stdin) != nullptr) {
    co_await foliot::runtime::sleep(1s);
    answer("advanced");
  }
}

void run_tasks(const char* path, bool measure) {
  foliot::virtual_clock clock;
  foliot::runtime::run_options options;
  options.clock = &clock;
  options.processors = 1;
  options.measure = measure;
  foliot::run(show_tasks(path, clock), options);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto asked_to = [&](std::string_view what) { return std::find(argv + 2, argv + argc, what) != argv + argc; };
  if (asked_to("runtime")) {
    run_tasks(argv[1], asked_to("measure"));
  } else {
    run(argv[1], asked_to("measure"));
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
