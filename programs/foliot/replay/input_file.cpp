#include "input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text/failure.hpp"

namespace foliot::program {

namespace {

bool is_standard_input(const std::string& name) noexcept { return name == "-"; }

std::string shown(const std::string& name) { return is_standard_input(name) ? "standard input" : name; }

}  // namespace

input_file::raw_file::raw_file(const std::string& name)
    : name_(shown(name)),
      descriptor_(is_standard_input(name) ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw system_failure("read", name_, errno);
  try {
    read_head();
  } catch (...) {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
    throw;
  }
}

input_file::raw_file::~raw_file() {
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

void input_file::raw_file::read_head() {
  std::size_t size = 0;
  while (size < head_.size()) {
    const std::size_t more = read_descriptor(std::span(head_).subspan(size));
    if (more == 0) break;
    size += more;
  }
  head_end_ = size;
}

std::size_t input_file::raw_file::read(std::span<char> room) {
  if (head_begin_ == head_end_) return read_descriptor(room);
  const std::size_t size = std::min(room.size(), head_end_ - head_begin_);
  std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(head_begin_), size, room.begin());
  head_begin_ += size;
  return size;
}

std::size_t input_file::raw_file::read_descriptor(std::span<char> room) {
  for (;;) {
    const ssize_t size = ::read(descriptor_, room.data(), room.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw system_failure("read", name_, errno);
    bytes_read_ += static_cast<std::size_t>(size);
    return static_cast<std::size_t>(size);
  }
}

input_file::input_file(const std::string& name) : file_(name) {
  if (auto format = codec_for(file_.head(), shown(name))) {
    unpacker_ = std::make_unique<unpacker>(file_, std::move(format), shown(name));
  }
}

std::size_t input_file::read(std::span<char> room) {
  return unpacker_ != nullptr ? unpacker_->read(room) : file_.read(room);
}

void input_file::check(const std::string& name) {
  if (is_standard_input(name)) return;
  struct stat status{};
  if (::stat(name.c_str(), &status) != 0) throw system_failure("read", name, errno);
  if (S_ISDIR(status.st_mode)) throw system_failure("read", name, EISDIR);
  if (::access(name.c_str(), R_OK) != 0) throw system_failure("read", name, errno);
}

std::optional<std::uint64_t> input_file::size(const std::string& name) noexcept {
  struct stat status{};
  const int result = is_standard_input(name) ? ::fstat(STDIN_FILENO, &status) : ::stat(name.c_str(), &status);
  if (result != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace foliot::program
