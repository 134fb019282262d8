// Reads the lines of a source of bytes, in bounded memory and without copying each line.
//
//   line_reader lines(file);
//   while (const auto line = lines.next()) …      // line->text is valid until the next call
//
// A line ends with a newline, which is not part of it; the last one may have none. A line that is longer than the limit
// is skipped, and returned empty and marked `too_long`.
//
// Thread safety: none, one thread. Memory: the larger one of the limit and 256 KiB.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace foliot::program {

class byte_source {
 public:
  virtual ~byte_source() = default;
  /// Reads at least one byte into the front of `room`, which must not be empty, and returns how many bytes it has read;
  /// 0 only at the end. Throws failure.
  virtual std::size_t read(std::span<char> room) = 0;
};

struct source_line {
  std::string_view text;
  bool too_long = false;
};

class line_reader {
 public:
  static constexpr std::size_t longest_line = 65536;

  explicit line_reader(byte_source& source, std::size_t longest = longest_line);

  /// The next line; nothing at the end. The text of the previous one becomes invalid. Throws failure as the source.
  std::optional<source_line> next();

 private:
  /// Moves the rest of the buffer to its front, and reads more behind it. False at the end of the source.
  bool refill();
  std::optional<source_line> skip_long_line();

  byte_source& source_;
  const std::size_t longest_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // [begin_, end_) has not been returned yet
  std::size_t end_ = 0;
  std::size_t searched_ = 0;  // [begin_, searched_) has no newline
};

}  // namespace foliot::program
