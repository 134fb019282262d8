// Bytes that were read from a source and are not consumed yet, and a search in them that goes on where it stopped.
//
// Invariants: begin_ <= end_ <= capacity_; no delimiter `searched_` begins in the first `scanned_` unread bytes.
// Complexity: find() looks at each byte once for one delimiter, however often it is called; room() moves each byte O(1)
// times on average. The capacity is at most four times the most unread bytes so far and two times `at_a_time`. Thread
// safety: a plain object.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <foliot/core/export.h>

namespace foliot::runtime::detail {

class FOLIOT_EXPORT read_buffer {
 public:
  /// room() has at least so many bytes. Throws std::invalid_argument for zero.
  explicit read_buffer(std::size_t at_a_time);

  [[nodiscard]] std::string_view unread() const noexcept { return {bytes_.get() + begin_, end_ - begin_}; }
  /// Where the source may write. Views of earlier bytes are invalid afterwards. Throws std::bad_alloc; nothing is lost.
  [[nodiscard]] std::span<std::byte> room();
  /// The source has written the first `count` bytes of room().
  void add(std::size_t count) noexcept { end_ += count; }
  /// Consumes the first `count` unread bytes, and returns the first `kept` of them.
  std::string_view consume(std::size_t count, std::size_t kept) noexcept;
  std::string_view consume(std::size_t count) noexcept { return consume(count, count); }

  /// What a search has found.
  enum class finding : std::uint8_t {
    found,
    missing,   ///< not yet: the bytes that follow decide
    too_long,  ///< no delimiter begins at `limit` or before, whatever follows
  };
  struct search_result {
    finding what = finding::missing;
    std::size_t at = 0;  ///< if found: where the delimiter begins, at most `limit`
  };
  /// Looks for the first delimiter. Precondition: it is not empty. Throws std::bad_alloc.
  [[nodiscard]] search_result find(std::string_view delimiter, std::size_t limit);
  /// Where the next search for the same delimiter begins.
  [[nodiscard]] std::size_t scanned() const noexcept { return scanned_; }

 private:
  const std::size_t at_a_time_;
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string searched_;
  std::size_t scanned_ = 0;
};

}  // namespace foliot::runtime::detail
