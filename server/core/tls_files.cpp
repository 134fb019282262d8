#include "tls_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "text/failure.hpp"

namespace foliot::program {

namespace {

constexpr std::int64_t largest_file = std::int64_t{1} << 20;

std::int64_t nanoseconds(const timespec& time) noexcept { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

tls_files_state::file state_of_tls_file(const std::string& path) noexcept {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return {errno};
  return {0,
          static_cast<std::int64_t>(found.st_dev),
          static_cast<std::int64_t>(found.st_ino),
          found.st_size,
          nanoseconds(found.st_mtim),
          nanoseconds(found.st_ctim)};
}

}  // namespace

std::vector<std::string> tls_files::all() const {
  std::vector<std::string> named;
  for (const std::string* const each : {&certificate, &key, &client_authorities}) {
    if (!each->empty()) named.push_back(*each);
  }
  return named;
}

tls_files_state state_of(const tls_files& files) {
  tls_files_state state;
  for (const std::string& each : files.all()) state.all.push_back(state_of_tls_file(each));
  return state;
}

std::string why_unreadable(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return system_failure("read", path, errno).what();
  struct stat found{};
  const int error = ::fstat(fd, &found) == 0 ? 0 : errno;
  ::close(fd);
  if (error != 0) return system_failure("read", path, error).what();
  if (!S_ISREG(found.st_mode)) return fmt::format("'{}' is no regular file", path);
  if (found.st_size > largest_file) {
    return fmt::format("'{}' has {} bytes, and a file with certificates or a key has at most {}", path, found.st_size,
                       largest_file);
  }
  return {};
}

}  // namespace foliot::program
