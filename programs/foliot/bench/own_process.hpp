// Runs a function in a process of its own, where it gets memory that nothing else has used before.
//
//   const std::optional<int> answer = in_own_process([] { return 42; });
//
// Precondition: this process has one thread. The child ends without running destructors or flushing buffers, which are
// the parent's.
#pragma once

#include <array>
#include <cerrno>
#include <exception>
#include <optional>
#include <type_traits>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace foliot::program::bench {

/// What the function returns. Nothing where the process could not be made, has died, or the function threw.
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

}  // namespace foliot::program::bench
