#include "output_file.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text/failure.hpp"

namespace foliot::program {

namespace {

constexpr std::size_t buffer_size = std::size_t{64} * 1024;

/// Whether the name is one of an open descriptor of this process, which must be written to directly.
bool names_a_descriptor(std::string_view name) noexcept {
  return name.starts_with("/dev/fd/") || name.starts_with("/dev/std") || name.starts_with("/proc/");
}

}  // namespace

output_file::output_file(std::string name) : name_(std::move(name)) {
  buffer_.reserve(buffer_size);
  if (is_standard_output(name_)) {
    name_ = "standard output";
    descriptor_ = STDOUT_FILENO;
    return;
  }
  if (name_.empty()) throw system_failure("write", name_, ENOENT);
  struct stat existing{};
  const bool exists = ::stat(name_.c_str(), &existing) == 0;
  if (!exists && errno == ELOOP) throw system_failure("write", name_, ELOOP);
  if (exists && S_ISDIR(existing.st_mode)) throw system_failure("write", name_, EISDIR);
  if (exists && (!S_ISREG(existing.st_mode) || names_a_descriptor(name_))) {
    descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) throw system_failure("write", name_, errno);
    return;
  }
  // A rename would replace a file that the user may not write.
  if (exists && ::access(name_.c_str(), W_OK) != 0) throw system_failure("write", name_, errno);
  temporary_.emplace(end_of_links(name_));
  descriptor_ = temporary_->descriptor();
}

output_file::~output_file() {
  if (descriptor_ >= 0 && descriptor_ != STDOUT_FILENO && !temporary_) ::close(descriptor_);
}

void output_file::write(std::string_view text) {
  if (buffer_.size() + text.size() > buffer_size) {
    write_out(buffer_);
    buffer_.clear();
  }
  if (text.size() > buffer_size) {
    write_out(text);
  } else {
    buffer_ += text;
  }
}

void output_file::finish() {
  if (descriptor_ < 0) return;
  write_out(buffer_);
  buffer_.clear();
  const int descriptor = std::exchange(descriptor_, -1);
  if (temporary_) {
    temporary_->close();
  } else if (descriptor != STDOUT_FILENO && ::close(descriptor) != 0) {
    throw system_failure("write", name_, errno);
  }
}

void output_file::publish() {
  finish();
  if (temporary_) temporary_->publish();
}

void output_file::write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw system_failure("write", name_, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void print(std::string_view text) {
  output_file out("-");
  out.write(text);
  out.finish();
}

file_identity file_identity::of_output(const std::string& name) {
  return output_file::is_standard_output(name) ? file_identity(STDOUT_FILENO) : file_identity(name);
}

file_identity file_identity::of_input(const std::string& name) {
  return name == "-" ? file_identity(STDIN_FILENO) : file_identity(name);
}

file_identity::file_identity(int stream) noexcept : stream_(stream) {
  struct stat found{};
  if (::fstat(stream, &found) == 0) note(found);
}

file_identity::file_identity(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0) {
    note(found);
    return;
  }
  std::error_code ignored;
  path_ = std::filesystem::weakly_canonical(std::filesystem::absolute(end_of_links(path), ignored), ignored).string();
}

void file_identity::note(const struct ::stat& found) noexcept {
  inode_ = {found.st_dev, found.st_ino};
  regular_ = S_ISREG(found.st_mode);
}

std::string end_of_links(const std::string& name) {
  constexpr int longest_chain = 40;  // Linux'
  std::filesystem::path path = name;
  for (int i = 0; i < longest_chain; ++i) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) return path.string();
    path = path.parent_path() / target;  // the target itself, if it is absolute
  }
  return name;
}

}  // namespace foliot::program
