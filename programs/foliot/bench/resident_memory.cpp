#include "resident_memory.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "own_process.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::size_t few = 16;

/// What the child does: its answer is the growth in KiB, negative if there is none.
std::int64_t growth(const contestant& who, std::size_t count) {
  // What is allocated once, by the libraries and the allocator, is none of the timers'.
  who.make(few, 1)->begin(workload::w1);
  const std::int64_t before = resident_kibibytes();
  const auto timers = who.make(count, 1);
  timers->begin(workload::w1);
  const std::int64_t after = resident_kibibytes();
  return before < 0 || after < 0 ? -1 : after - before;
}

}  // namespace

std::int64_t resident_kibibytes() {
  const int file = ::open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  std::array<char, 4096> text{};
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (length <= 0) return -1;
  const char* name = std::strstr(text.data(), "\nAnonymous:");
  if (name == nullptr) return -1;
  const char* number = name + std::strcspn(name, "0123456789");
  std::int64_t kibibytes = -1;
  std::from_chars(number, text.data() + length, kibibytes);
  return kibibytes;
}

std::optional<double> bytes_per_timer(const contestant& who, std::size_t count) {
  const std::int64_t kibibytes = in_own_process([&] { return growth(who, count); }).value_or(-1);
  if (kibibytes < 0) return std::nullopt;
  return static_cast<double>(kibibytes) * 1024 / static_cast<double>(count);
}

}  // namespace foliot::program::bench
