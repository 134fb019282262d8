#include "snapshot.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/service/statistics_text.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "text/failure.hpp"

namespace foliot::program {

namespace {

constexpr std::size_t longest_answer = std::size_t{1} << 20;
constexpr std::string_view end_of_runtime = "\nend\n";  // names of tasks have no line ends

/// Keeps errno.
bool exists(const std::string& path) noexcept {
  const int before = errno;
  const bool found = ::access(path.c_str(), F_OK) == 0;
  errno = before;
  return found;
}

bool is_socket(const std::string& path) noexcept {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

class connection {
 public:
  connection(const std::string& path, duration limit)
      : path_(path), limit_(limit), deadline_(monotonic_clock::instance().now() + limit) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path)) {
      throw failure(fmt::format("'{}' cannot be the path of a socket, which must have 1 to {} bytes", path,
                                sizeof(address.sun_path) - 1));
    }
    path.copy(address.sun_path, path.size());
    descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) throw system_failure("connect to", path, errno);
    try {
      connect_to(address);
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
  }
  ~connection() { ::close(descriptor_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  [[nodiscard]] std::string read_all() const {
    std::string text;
    char piece[16'384];
    for (;;) {
      wait_for_more(text.empty());
      const ssize_t got = ::recv(descriptor_, piece, sizeof(piece), MSG_DONTWAIT);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0 && errno == ECONNRESET && text.empty()) return text;  // as the other side ended
      if (got < 0) throw refusal(errno);
      if (got == 0) return text;
      text.append(piece, static_cast<std::size_t>(got));
      if (text.size() > longest_answer)
        throw failure(fmt::format("the answer of '{}' is longer than 1 MiB: it is not foliot's statistics", path_));
    }
  }

 private:
  /// Waits while the listener's queue is full.
  void connect_to(const sockaddr_un& address) const {
    for (;;) {
      const timeval left = time_left(false);
      ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left));
      if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return;
      // Refused, and the file has gone since: the program has just ended.
      const bool has_gone = errno == ENOENT || (errno == ECONNREFUSED && !exists(path_));
      if (has_gone) throw shows_nothing(fmt::format("there is no '{}': no program shows its timers there", path_));
      if (errno != EINTR) throw refusal(errno);
    }
  }

  /// Returns when there is something to read, when the other side has closed, or for a signal.
  void wait_for_more(bool nothing_came) const {
    const timeval left = time_left(!nothing_came);
    const timespec limit{.tv_sec = left.tv_sec, .tv_nsec = left.tv_usec * 1000};
    ::pollfd socket{.fd = descriptor_, .events = POLLIN, .revents = 0};
    static_cast<void>(::ppoll(&socket, 1, &limit, nullptr));
  }

  /// The time until the deadline, in whole microseconds, at least one. Throws failure when the deadline has passed.
  [[nodiscard]] timeval time_left(bool began_to_answer) const {
    const std::int64_t left = (deadline_ - monotonic_clock::instance().now()).count();
    if (left <= 0) {
      throw failure(began_to_answer ? fmt::format("the answer of '{}' is not complete after {}: it comes too slowly",
                                                  path_, to_string(limit_))
                                    : fmt::format("the process that listens at '{}' has not answered within {}", path_,
                                                  to_string(limit_)));
    }
    const std::int64_t microseconds = (left + 999) / 1000;
    return {.tv_sec = microseconds / 1'000'000, .tv_usec = microseconds % 1'000'000};
  }

  [[nodiscard]] failure refusal(int error) const {
    switch (error) {
      case ECONNREFUSED:  // a socket without a process, or a file that is no socket
        return failure(is_socket(path_)
                           ? fmt::format("no process listens at '{}': the program that did has ended", path_)
                           : fmt::format("'{}' is no socket: no program shows its timers there", path_));
      case EAGAIN:  // the listener's queue was full until the deadline
        return failure(
            fmt::format("the process that listens at '{}' has not answered within {}", path_, to_string(limit_)));
      default: return system_failure("read", path_, error);
    }
  }

  const std::string& path_;
  const duration limit_;
  const instant deadline_;
  int descriptor_ = -1;
};

}  // namespace

snapshot read_snapshot(const std::string& path, duration limit) {
  const std::string answer = connection(path, limit).read_all();
  const auto read = [&path](auto now) {
    if (!now) throw failure(fmt::format("the answer of '{}' cannot be read: {}", path, now.error()));
    return *std::move(now);
  };
  const std::string_view text = answer;
  if (text.empty())
    throw shows_nothing(fmt::format("the answer of '{}' is empty: the runtime that it shows has ended", path));
  if (!text.starts_with("foliot-runtime ")) return read(parse_statistics(text));
  const std::size_t end = text.find(end_of_runtime);
  const std::size_t jobs_begin = end == std::string_view::npos ? text.size() : end + end_of_runtime.size();
  runtime_snapshot runtime = read(parse_runtime_statistics(text.substr(0, jobs_begin)));
  if (jobs_begin == text.size()) return runtime;
  const auto jobs = parse_job_figures(text.substr(jobs_begin));
  if (!jobs) {
    throw failure(
        fmt::format("the answer of '{}' cannot be read: behind the statistics of its runtime are not those of the jobs "
                    "of a server of this version",
                    path));
  }
  return server_snapshot{std::move(runtime), *jobs};
}

}  // namespace foliot::program
