// The real side of the socket file: Linux.
#include <foliot/core/seam/socket_file.hpp>

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace foliot::inline core::seam {

socket_file::socket_file(const std::string& path) : path_(path) {
  if (path_.starts_with('/')) return;
  std::array<char, PATH_MAX> folder;
  // A directory that was removed, or that lies outside the process's root, has no path: then the relative path is kept.
  if (::getcwd(folder.data(), folder.size()) == nullptr || folder.front() != '/') return;
  path_ = std::string(folder.data()) + '/' + path;
}

std::error_code socket_file::claim() noexcept {
  struct stat found{};
  if (::lstat(path_.c_str(), &found) != 0) return {errno, std::generic_category()};
  device_ = found.st_dev;
  inode_ = found.st_ino;
  maker_ = ::getpid();
  return {};
}

void socket_file::remove() noexcept {
  if (std::exchange(maker_, 0) != ::getpid()) return;
  struct stat found{};
  if (::lstat(path_.c_str(), &found) != 0 || found.st_dev != device_ || found.st_ino != inode_) return;
  ::unlink(path_.c_str());
}

}  // namespace foliot::inline core::seam
