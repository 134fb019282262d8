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
#include <sys/wait.h>
#include <unistd.h>

namespace foliot::program::bench {

namespace {

constexpr std::size_t longest_reason = 200;
constexpr duration millisecond = std::chrono::milliseconds(1);

/// Owns the two ends of a pipe, which no other child inherits.
class pipe_ends {
 public:
  pipe_ends() noexcept {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  ~pipe_ends() {
    close_writing();
    if (reading() >= 0) ::close(reading());
  }
  pipe_ends(const pipe_ends&) = delete;
  pipe_ends& operator=(const pipe_ends&) = delete;

  [[nodiscard]] int reading() const noexcept { return ends_[0]; }
  [[nodiscard]] int writing() const noexcept { return ends_[1]; }
  void close_writing() noexcept {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

 private:
  std::array<int, 2> ends_{};
};

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
int spawn(pid_t& child, const child_command& command, const pipe_ends& output, const pipe_ends& errors) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = environment_with(command.environment);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output.writing(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors.writing(), STDERR_FILENO);
  if (!command.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions, command.folder.c_str());
  const int error = ::posix_spawn(&child, words.front().c_str(), &actions, nullptr, pointers_to(words).data(),
                                  pointers_to(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// Appends the bytes that can be read without waiting. Returns false at the end of the file.
bool read_some(int file, std::string& to) {
  std::array<char, 4096> buffer;
  const ssize_t length = ::read(file, buffer.data(), buffer.size());
  if (length < 0) return errno == EINTR || errno == EAGAIN;
  to.append(buffer.data(), static_cast<std::size_t>(length));
  return length > 0;
}

/// Reads both pipes until they end. Returns false if they have not ended at `until`.
bool read_both(const pipe_ends& output, const pipe_ends& errors, std::string& out, std::string& err, instant until) {
  std::array<pollfd, 2> files{pollfd{output.reading(), POLLIN, 0}, pollfd{errors.reading(), POLLIN, 0}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    const duration left = until - monotonic_clock::instance().now();
    if (left.count() <= 0) return false;
    constexpr std::int64_t longest = 1'000;  // ms
    const std::int64_t milliseconds = std::min(left / millisecond + 1, longest);
    if (::poll(files.data(), files.size(), static_cast<int>(milliseconds)) <= 0) continue;
    if (files[0].revents != 0 && !read_some(files[0].fd, out)) files[0].fd = -1;
    if (files[1].revents != 0 && !read_some(files[1].fd, err)) files[1].fd = -1;
  }
  return true;
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
  pipe_ends output;
  pipe_ends errors;
  if (output.reading() < 0 || errors.reading() < 0) return {.wrong = "the system gives no pipe"};
  pid_t child = 0;
  if (const int error = spawn(child, command, output, errors); error != 0) {
    return {.wrong = fmt::format("{}: {}", command.words.front(), std::strerror(error))};
  }
  output.close_writing();
  errors.close_writing();
  child_outcome outcome;
  std::string said;
  const bool ended = read_both(output, errors, outcome.output, said, until);
  if (!ended) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.wrong = ended ? reason_of(status, said)
                        : fmt::format("it took longer than {} s", static_cast<double>(patience.count()) * 1e-9);
  return outcome;
}

}  // namespace foliot::program::bench
