#include "wake_ups.hpp"

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <foliot/core/clock.hpp>
#include <foliot/core/sync/note.hpp>

#include "../../failure.hpp"
#include "quick_random.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view tasks = "/proc/self/task";
constexpr std::string_view field = "voluntary_ctxt_switches:\t";

/// Of one thread; nothing if there is no such line.
std::optional<std::uint64_t> switches_of(int thread) {
  std::ifstream status(std::filesystem::path(tasks) / std::to_string(thread) / "status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(field)) continue;
    std::uint64_t count = 0;
    std::from_chars(line.data() + field.size(), line.data() + line.size(), count);
    return count;
  }
  return std::nullopt;
}

void wait(duration length) { note().sleep_until(monotonic_clock::instance().now() + length); }

}  // namespace

std::set<int> threads_alive() {
  std::set<int> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator each(tasks, error), end; !error && each != end; each.increment(error)) {
    const std::string name = each->path().filename();
    int number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    numbers.insert(number);
  }
  return numbers;
}

thread_switches voluntary_switches(const std::set<int>& threads) {
  thread_switches all;
  for (const int each : threads) {
    if (const auto count = switches_of(each)) all[each] = *count;
  }
  return all;
}

std::optional<std::uint64_t> switches_between(const thread_switches& first, const thread_switches& last) {
  std::optional<std::uint64_t> sum;
  for (const auto& [thread, count] : last) {
    const auto before = first.find(thread);
    if (before == first.end() || count < before->second) continue;  // another thread with its number
    sum = sum.value_or(0) + count - before->second;
  }
  return sum;
}

duration far_from(std::uint64_t draw) {
  return duration(1h) + duration::nanoseconds(static_cast<std::int64_t>(lower_below(draw, 3'600'000'000'000)));
}

samples count_wake_ups(const std::set<int>& before, const request& asked) {
  // Until the threads have gone to sleep, and those that only made the timers have ended.
  wait(asked.quick ? 10ms : 100ms);
  std::set<int> own = threads_alive();
  std::erase_if(own, [&before](int each) { return before.contains(each); });
  const monotonic_clock& clock = monotonic_clock::instance();
  const instant begin = clock.now();
  const thread_switches first = voluntary_switches(own);
  wait(asked.time);
  const auto count = switches_between(first, voluntary_switches(own));
  if (!count) throw failure("the system does not report the context switches of threads: /proc is needed");
  const double seconds = static_cast<double>((clock.now() - begin).count()) * 1e-9;
  return {{.figure = static_cast<double>(*count) / seconds}};
}

}  // namespace foliot::program::bench
