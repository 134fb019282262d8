#include <foliot/runtime/detail/read_buffer.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace foliot::runtime::detail {

namespace {

std::size_t saturating_sum(std::size_t a, std::size_t b) noexcept {
  return a > std::numeric_limits<std::size_t>::max() - b ? std::numeric_limits<std::size_t>::max() : a + b;
}

}  // namespace

read_buffer::read_buffer(std::size_t at_a_time) : at_a_time_(at_a_time) {
  if (at_a_time == 0) throw std::invalid_argument("foliot: a buffered reader must read at least one byte at a time");
}

std::span<std::byte> read_buffer::room() {
  if (capacity_ - end_ < at_a_time_) {
    const std::size_t count = end_ - begin_;
    // The bytes before begin_ pay for the move.
    if (count <= begin_ && capacity_ - count >= at_a_time_) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, count);
    } else {
      const std::size_t larger = std::max(2 * capacity_, count + at_a_time_);
      auto more = std::make_unique_for_overwrite<char[]>(larger);
      if (count > 0) std::memcpy(more.get(), bytes_.get() + begin_, count);
      bytes_ = std::move(more);
      capacity_ = larger;
    }
    begin_ = 0;
    end_ = count;
  }
  return std::as_writable_bytes(std::span(bytes_.get() + end_, capacity_ - end_));
}

std::string_view read_buffer::consume(std::size_t count, std::size_t kept) noexcept {
  const std::string_view text = unread().substr(0, kept);
  begin_ += count;
  scanned_ -= std::min(scanned_, count);
  if (begin_ == end_) begin_ = end_ = 0;
  return text;
}

read_buffer::search_result read_buffer::find(std::string_view delimiter, std::size_t limit) {
  if (delimiter != searched_) {
    searched_ = delimiter;
    scanned_ = 0;
  }
  const std::string_view text = unread();
  const std::string_view window = text.substr(0, saturating_sum(limit, delimiter.size()));
  const std::size_t at = window.find(delimiter, scanned_);
  if (at != std::string_view::npos) return {finding::found, at};
  if (window.size() >= delimiter.size()) scanned_ = std::max(scanned_, window.size() - delimiter.size() + 1);
  if (text.size() <= limit) return {finding::missing, 0};
  // A delimiter may have begun at `limit` or before, and go on after the last byte.
  for (std::size_t i = scanned_; i <= limit; ++i) {
    if (delimiter.starts_with(text.substr(i))) return {finding::missing, 0};
  }
  return {finding::too_long, 0};
}

}  // namespace foliot::runtime::detail
