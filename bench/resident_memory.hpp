// What things take: the processor time of a process, and its resident memory after it has made them, less that before.
#pragma once

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <fcntl.h>
#include <foliot/core/clock.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace foliot::program::bench {

/// The time by which the benchmarks measure.
[[nodiscard]] inline instant now() noexcept { return monotonic_clock::instance().now(); }

/// User and system time together, in seconds: of the process with RUSAGE_SELF, of the calling thread with
/// RUSAGE_THREAD.
[[nodiscard]] inline double cpu_seconds(int whose) noexcept {
  rusage used{};
  ::getrusage(whose, &used);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

/// The value of the first line of this name in a file of `name : value` lines; empty if there is none.
[[nodiscard]] inline std::string field_of(const std::string& file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t value = line.find_first_not_of(" \t:", name.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
  return {};
}

/// The memory of this process that is resident and belongs to no file, in KiB; -1 where the system does not report it.
/// (Not statm: its counters are kept for each core, and are some hundred KiB behind.) Allocates nothing, so as not to
/// count itself. Thread safety: any thread.
[[nodiscard]] inline std::int64_t resident_kibibytes() {
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

/// Calls `work` in a process of its own, where it gets memory that nothing else has used before. Returns its result, or
/// nothing where the process could not be made, has died, or `work` threw. The child ends without running destructors
/// or flushing buffers, which are the parent's. Precondition: this process has one thread.
template <class Work, class Answer = std::invoke_result_t<Work&>>
  requires std::is_trivially_copyable_v<Answer> && std::is_default_constructible_v<Answer>
[[nodiscard]] std::optional<Answer> in_own_process(Work work) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    bool answered = false;
    try {
      const Answer answer = work();
      answered = ::write(ends[1], &answer, sizeof answer) == static_cast<ssize_t>(sizeof answer);
    } catch (const std::exception&) {  // the parent gets no answer
    }
    ::_exit(answered ? 0 : 1);
  }
  ::close(ends[1]);
  Answer answer{};
  ssize_t length = 0;
  if (child > 0) {
    while ((length = ::read(ends[0], &answer, sizeof answer)) < 0 && errno == EINTR) {
    }
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(ends[0]);
  return length == static_cast<ssize_t>(sizeof answer) ? std::optional(answer) : std::nullopt;
}

/// Bytes for each of `count` things that `make(count)` makes, in a process of its own. Counts whole pages, so that a
/// few things seem to take more, and what `make` allocates for itself. Nothing where the process could not be made or
/// the system does not report it. Precondition: this process has one thread.
template <class Make>
[[nodiscard]] std::optional<double> bytes_each(std::size_t count, Make make) {
  const std::optional<std::int64_t> kibibytes = in_own_process([&] {
    make(std::size_t{16});  // so that what libraries and the allocator allocate once is not counted
    const std::int64_t before = resident_kibibytes();
    const auto made = make(count);
    const std::int64_t after = resident_kibibytes();
    return before < 0 || after < 0 ? std::int64_t{-1} : after - before;
  });
  if (kibibytes.value_or(-1) < 0) return std::nullopt;
  return static_cast<double>(*kibibytes) * 1024 / static_cast<double>(count);
}

}  // namespace foliot::program::bench
