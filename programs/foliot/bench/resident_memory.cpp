#include "resident_memory.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <exception>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace foliot::program::bench {

namespace {

constexpr std::size_t few = 16;

/// What the child does: its answer is the growth in KiB, negative if there is none.
std::int64_t growth(const contestant& who, std::size_t count) {
  try {
    // What is allocated once, by the libraries and the allocator, is none of the timers'.
    who.make(few, 1)->begin(workload::w1);
    const std::int64_t before = resident_kibibytes();
    const auto timers = who.make(count, 1);
    timers->begin(workload::w1);
    const std::int64_t after = resident_kibibytes();
    return before < 0 || after < 0 ? -1 : after - before;
  } catch (const std::exception&) {
    return -1;
  }
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
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    const std::int64_t kibibytes = growth(who, count);
    const bool told = ::write(ends[1], &kibibytes, sizeof kibibytes) == sizeof kibibytes;
    ::_exit(told ? 0 : 1);  // without destructors and buffers, which are the parent's
  }
  ::close(ends[1]);
  std::int64_t kibibytes = -1;
  if (child > 0) {
    ssize_t length = 0;
    while ((length = ::read(ends[0], &kibibytes, sizeof kibibytes)) < 0 && errno == EINTR) {
    }
    if (length != sizeof kibibytes) kibibytes = -1;
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(ends[0]);
  if (kibibytes < 0) return std::nullopt;
  return static_cast<double>(kibibytes) * 1024 / static_cast<double>(count);
}

}  // namespace foliot::program::bench
