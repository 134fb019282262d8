#include "snapshot.hpp"

#include <cerrno>
#include <cstddef>
#include <utility>

#include <fmt/format.h>
#include <foliot/service/statistics_text.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "../failure.hpp"

namespace foliot::program {

namespace {

constexpr std::size_t longest_answer = std::size_t{1} << 20;

bool is_socket(const std::string& path) noexcept {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

class connection {
 public:
  explicit connection(const std::string& path) : path_(path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path)) {
      throw failure(
          fmt::format("'{}' cannot be a socket's path: that has 1 to {} bytes", path, sizeof(address.sun_path) - 1));
    }
    path.copy(address.sun_path, path.size());
    descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) throw system_failure("connect to", path, errno);
    const timeval patience{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));  // for the connect
    if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return;
    const int error = errno;
    ::close(descriptor_);
    throw refusal(error);
  }
  ~connection() { ::close(descriptor_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  [[nodiscard]] std::string read_all() const {
    std::string text;
    char piece[16'384];
    for (;;) {
      const ssize_t got = ::read(descriptor_, piece, sizeof(piece));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw refusal(errno);
      if (got == 0) return text;
      text.append(piece, static_cast<std::size_t>(got));
      if (text.size() > longest_answer) throw failure(fmt::format("what '{}' answers has no end", path_));
    }
  }

 private:
  [[nodiscard]] failure refusal(int error) const {
    switch (error) {
      case ENOENT: return failure(fmt::format("there is no '{}': no program shows its timers there", path_));
      case ECONNREFUSED:  // by a socket that nobody has, or by what is none
        return failure(is_socket(path_) ? fmt::format("nobody listens at '{}': the program that did has ended", path_)
                                        : fmt::format("'{}' is no socket: no program shows its timers there", path_));
      case EAGAIN: return failure(fmt::format("who listens at '{}' does not answer", path_));
      default: return system_failure("read", path_, error);
    }
  }
  const std::string& path_;
  int descriptor_ = -1;
};

}  // namespace

service_statistics read_snapshot(const std::string& path) {
  auto now = parse_statistics(connection(path).read_all());
  if (!now) throw failure(fmt::format("what '{}' answers cannot be read: {}", path, now.error()));
  return *std::move(now);
}

}  // namespace foliot::program
