// The real side of threads_besides: /proc.
//
// The kernel's count of a process's threads is exact, but includes threads that are ending, such as one that has just
// been joined. The list of threads is not exact: a thread that ends while the list is read may hide others. So only the
// count can prove that there are no other threads; the list then tells whether the others are only ending.
#include <foliot/core/seam/system.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace foliot::inline core::seam {

namespace {

/// The fields of a thread in proc_pid_stat(5) that matter here.
struct thread_record {
  char state = '?';
  unsigned long flags = 0;
  std::size_t threads = 0;  // how many threads the process has; 0: unknown

  static constexpr unsigned long exiting = 0x4;  // the kernel's PF_EXITING: the thread runs no user code any more
  [[nodiscard]] bool is_ending() const noexcept { return (flags & exiting) != 0 || state == 'Z' || state == 'X'; }
};

class file {
 public:
  file(int directory, const char* path, int flags) noexcept
      : number_(::openat(directory, path, O_RDONLY | O_CLOEXEC | flags)) {}
  ~file() {
    if (number_ >= 0) ::close(number_);
  }
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

/// Reads the record from a file. Returns false if the file cannot be read.
bool read_record(int directory, const char* path, thread_record& into) noexcept {
  const file from(directory, path, 0);
  if (from.number() < 0) return false;
  std::array<char, 1024> text{};
  const auto size = ::read(from.number(), text.data(), text.size() - 1);
  if (size <= 0) return false;
  // The name, in parentheses, may contain any character. After its end come the state, a letter, and numbers.
  const char* at = std::strrchr(text.data(), ')');
  if (at == nullptr || at[1] != ' ') return false;
  at += 2;
  constexpr int state_field = 3;
  constexpr int flags_field = 9;
  constexpr int threads_field = 20;
  for (int field = state_field; field <= threads_field; ++field) {
    if (field == state_field) into.state = *at;
    if (field == flags_field) into.flags = std::strtoul(at, nullptr, 10);
    if (field == threads_field) into.threads = std::strtoul(at, nullptr, 10);
    at = std::strchr(at, ' ');
    if (at == nullptr) return false;
    ++at;
  }
  return true;
}

std::size_t threads_of_process() noexcept {
  thread_record process;
  return read_record(AT_FDCWD, "/proc/self/stat", process) ? process.threads : 0;
}

/// Whether the program's first thread has ended: it stays in the count as a zombie.
bool first_has_ended() noexcept {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", static_cast<int>(::getpid()));
  thread_record first;
  return read_record(AT_FDCWD, path.data(), first) && first.state == 'Z';
}

/// Whether the list has more than `known` threads that are not ending.
bool finds_more_than(std::size_t known) noexcept {
  const file tasks(AT_FDCWD, "/proc/self/task", O_DIRECTORY);
  if (tasks.number() < 0) return true;
  std::size_t found = 0;
  alignas(dirent64) std::array<char, 2048> entries{};
  for (;;) {
    const long size = ::syscall(SYS_getdents64, tasks.number(), entries.data(), entries.size());
    if (size < 0) return true;
    if (size == 0) return false;
    for (long at = 0; at < size;) {
      const auto& each = *reinterpret_cast<const dirent64*>(entries.data() + at);
      at += each.d_reclen;
      if (each.d_name[0] == '.') continue;
      std::array<char, 48> path{};
      std::snprintf(path.data(), path.size(), "%.20s/stat", each.d_name);
      thread_record one;
      errno = 0;
      if (!read_record(tasks.number(), path.data(), one)) {
        // ENOENT and ESRCH: the thread has ended. Any other error, such as no file descriptor: it counts as living.
        if (errno == ENOENT || errno == ESRCH) continue;
      } else if (one.is_ending()) {
        continue;
      }
      if (++found > known) return true;
    }
  }
}

}  // namespace

other_threads threads_besides(std::size_t known) noexcept {
  const std::size_t all = threads_of_process();
  if (all == known) return other_threads::none;
  if (all < known) return other_threads::some;  // unknown; or the child of a fork, which lacks the known threads
  // The count is read after the state: a thread that has ended starts no more threads.
  if (first_has_ended() && threads_of_process() == known + 1) return other_threads::none;
  return finds_more_than(known) ? other_threads::some : other_threads::ending;
}

}  // namespace foliot::inline core::seam
