// A program that shows its timers on a statistics socket: shown_timers PATH [measure]. Its time is virtual. For each
// line on standard input it lets a second pass, and writes a line; after that a test may read the statistics. It ends
// with its input.
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
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

}  // namespace

int main(int argc, char** argv) try {
  run(argv[1], argc > 2 && std::string_view(argv[2]) == "measure");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
