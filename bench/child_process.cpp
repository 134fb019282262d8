#include "child_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "owners.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_reason = 200;
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& each : words) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::string>& additions) {
  std::vector<std::string> all = additions;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view name = std::string_view(*each).substr(0, std::string_view(*each).find('=') + 1);
    if (std::ranges::none_of(additions, [name](const std::string& set) { return set.starts_with(name); })) {
      all.emplace_back(*each);
    }
  }
  return all;
}

/// Returns 0 or an error of the system.
int spawn(pid_t& child, const child_command& command, int output, int errors) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = environment_with(command.environment);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  if (!command.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions, command.folder.c_str());
  const int error = ::posix_spawnp(&child, words.front().c_str(), &actions, nullptr, pointers_to(words).data(),
                                   pointers_to(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// The whole content of a file in memory, the output of a child process.
std::string contents_of(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t length = 0; (length = ::pread(file, buffer.data(), buffer.size(), std::ssize(text))) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(length));
  }
  return text;
}

/// Whether the child has ended, waited for until then. This thread takes no processor meanwhile: others are measured.
bool ends_before(pid_t child, instant until) {
  const owned_descriptor ended(
      static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));  // tidy: allow(seam-system) Linux 5.3
  for (pollfd file{ended.get(), POLLIN, 0};;) {
    const duration left = until - monotonic_clock::instance().now();
    if (left.count() <= 0) return false;
    constexpr std::int64_t longest = 1'000;  // ms
    if (::poll(&file, 1, static_cast<int>(std::min(left / duration(1ms) + 1, longest))) > 0) return true;
  }
}

/// The line that is most likely to name the cause: the first that begins with "error", else the last.
std::string telling_line(std::string_view text) {
  std::string_view best;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty()) best = line;
    if (line.starts_with("error")) break;
  }
  return std::string(best.substr(0, longest_reason));
}

std::string reason_of(int status, const std::string& errors) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::string line = telling_line(errors);
  const std::string how = WIFSIGNALED(status) ? fmt::format("it died of signal {}", WTERMSIG(status))
                                              : fmt::format("it ended with exit code {}", WEXITSTATUS(status));
  return line.empty() ? how : fmt::format("{}: {}", how, line);
}

}  // namespace

child_outcome run_child(const child_command& command, duration patience) {
  const instant until = monotonic_clock::instance().now() + patience;
  const owned_descriptor output(::memfd_create("output", MFD_CLOEXEC));
  const owned_descriptor errors(::memfd_create("errors", MFD_CLOEXEC));
  if (output.get() < 0 || errors.get() < 0) return {.wrong = "the system gives no file in memory"};
  pid_t child = 0;
  if (const int error = spawn(child, command, output.get(), errors.get()); error != 0) {
    return {.wrong = fmt::format("{}: {}", command.words.front(), std::strerror(error))};
  }
  const bool ended = ends_before(child, until);
  if (!ended) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) return {.wrong = fmt::format("it took longer than {} s", static_cast<double>(patience.count()) * 1e-9)};
  return {.output = contents_of(output.get()), .wrong = reason_of(status, contents_of(errors.get()))};
}

}  // namespace foliot::program::bench
