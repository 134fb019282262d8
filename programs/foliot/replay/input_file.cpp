#include "input_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "../failure.hpp"

namespace foliot::program {

namespace {

bool is_standard_input(const std::string& name) noexcept { return name == "-"; }

bool is_gzip(std::span<const char> head) noexcept { return head.size() == 2 && head[0] == '\x1f' && head[1] == '\x8b'; }

}  // namespace

/// Unpacks the data of `file`.
class input_file::gunzip {
 public:
  explicit gunzip(input_file& file) : file_(file) {
    constexpr int gzip_only = 16;
    if (::inflateInit2(&stream_, MAX_WBITS + gzip_only) != Z_OK) throw std::bad_alloc();
  }
  ~gunzip() { ::inflateEnd(&stream_); }
  gunzip(const gunzip&) = delete;
  gunzip& operator=(const gunzip&) = delete;

  std::size_t read(std::span<char> room) {
    room = room.first(std::min(room.size(), largest_piece));
    for (;;) {
      if (stream_.avail_in == 0 && !refill()) {
        if (inside_member_) throw failure("'" + file_.name_ + "' ends in the middle of its gzip data: is it complete?");
        return 0;
      }
      if (!inside_member_ && !begin_member()) continue;
      stream_.next_out = reinterpret_cast<Bytef*>(room.data());
      stream_.avail_out = static_cast<uInt>(room.size());
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        inside_member_ = false;
        ::inflateReset(&stream_);
      } else if (result == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        throw failure("'" + file_.name_ +
                      "' is damaged gzip data: " + (stream_.msg != nullptr ? stream_.msg : "not readable"));
      }
      if (const std::size_t unpacked = room.size() - stream_.avail_out; unpacked > 0) return unpacked;
    }
  }

 private:
  static constexpr std::size_t largest_piece = std::size_t{1} << 30;  // zlib counts in 32 bits

  bool refill() {
    const std::size_t size = file_.read_raw(packed_);
    stream_.next_in = reinterpret_cast<const Bytef*>(packed_.data());
    stream_.avail_in = static_cast<uInt>(size);
    return size > 0;
  }

  /// Whether a member begins here. If not, padding has been skipped, and there may be more to read.
  bool begin_member() {
    if (any_member_ && skip_padding()) return false;
    if (padded_) {
      throw failure("'" + file_.name_ +
                    "' has more data after the zeros that follow its gzip data: is a part of it lost?");
    }
    if (any_member_ && *stream_.next_in != 0x1f) {
      throw failure("'" + file_.name_ + "' has data after its gzip data that are not gzip: unpack it first");
    }
    any_member_ = inside_member_ = true;
    return true;
  }

  /// Skips zeros, and returns whether there were any.
  bool skip_padding() {
    const uInt before = stream_.avail_in;
    while (stream_.avail_in > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
    }
    const bool any = stream_.avail_in < before;
    padded_ = padded_ || any;
    return any;
  }

  input_file& file_;
  z_stream stream_{};
  bool inside_member_ = false;
  bool any_member_ = false;
  bool padded_ = false;  // zeros have followed a member
  std::array<char, std::size_t{64} * 1024> packed_;
};

input_file::input_file(std::string name)
    : descriptor_(is_standard_input(name) ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC)),
      name_(is_standard_input(name) ? "standard input" : std::move(name)) {
  if (descriptor_ < 0) throw system_failure("read", name_, errno);
  try {
    std::size_t size = 0;
    while (size < sizeof head_) {
      const std::size_t more = read_raw(std::span(head_).subspan(size));
      if (more == 0) break;
      size += more;
    }
    head_end_ = size;
    if (is_gzip(std::span(head_).first(size))) gunzip_ = std::make_unique<gunzip>(*this);
  } catch (...) {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
    throw;
  }
}

input_file::~input_file() {
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

std::size_t input_file::read(std::span<char> room) { return gunzip_ != nullptr ? gunzip_->read(room) : read_raw(room); }

std::size_t input_file::read_raw(std::span<char> room) {
  if (head_begin_ < head_end_) {
    const std::size_t size = std::min(room.size(), head_end_ - head_begin_);
    std::memcpy(room.data(), head_ + head_begin_, size);
    head_begin_ += size;
    return size;
  }
  for (;;) {
    const ssize_t size = ::read(descriptor_, room.data(), room.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw system_failure("read", name_, errno);
    bytes_read_ += static_cast<std::size_t>(size);
    return static_cast<std::size_t>(size);
  }
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
