#include "thread_switches.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace foliot::program::bench {

namespace {

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

}  // namespace foliot::program::bench
