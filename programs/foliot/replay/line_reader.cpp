#include "line_reader.hpp"

#include <algorithm>
#include <cstring>

namespace foliot::program {

namespace {

constexpr std::size_t block = std::size_t{256} * 1024;

}  // namespace

line_reader::line_reader(byte_source& source, std::size_t longest)
    : source_(source), longest_(longest), buffer_(std::max(longest + 1, block)) {}

std::optional<source_line> line_reader::next() {
  for (;;) {
    const char* found = static_cast<const char*>(std::memchr(buffer_.data() + searched_, '\n', end_ - searched_));
    if (found != nullptr) {
      const std::string_view text(buffer_.data() + begin_, found);
      begin_ = searched_ = static_cast<std::size_t>(found - buffer_.data()) + 1;
      if (text.size() > longest_) return source_line{{}, true};
      return source_line{text};
    }
    searched_ = end_;
    if (end_ - begin_ > longest_) return skip_long_line();
    if (!refill()) break;
  }
  if (begin_ == end_) return std::nullopt;
  const std::string_view text(buffer_.data() + begin_, end_ - begin_);
  begin_ = searched_ = end_;
  return source_line{text};
}

bool line_reader::refill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    searched_ -= begin_;
    begin_ = 0;
  }
  const std::size_t size = source_.read(std::span(buffer_).subspan(end_));
  end_ += size;
  return size > 0;
}

std::optional<source_line> line_reader::skip_long_line() {
  const void* found = nullptr;
  do {
    begin_ = end_ = searched_ = 0;
    if (!refill()) return source_line{{}, true};
    found = std::memchr(buffer_.data(), '\n', end_);
  } while (found == nullptr);
  begin_ = searched_ = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) + 1;
  return source_line{{}, true};
}

}  // namespace foliot::program
