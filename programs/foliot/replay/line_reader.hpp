// The lines of a source of bytes, in bounded memory and without a copy of each.
//
//   line_reader lines(file);
//   while (const auto line = lines.next()) …      // line->text is valid until the next call
//
// A line ends with a newline, which is not part of it; the last one may do without. A line that is
// longer than the limit is passed over up to its end and handed out empty, marked `too_long`.
//
// Thread safety: none, one thread. Memory: the limit or 256 KiB, whichever is more.
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
  /// Fills the front of `room`, which must not be empty, with what is there at once, and returns how many bytes that
  /// were: 0 only at the end. Throws failure.
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

  /// The next line; nothing at the end. Throws failure as the source does.
  std::optional<source_line> next();

 private:
  /// Makes room behind what is left of the buffer, and fills it. False at the end of the source.
  bool refill();
  std::optional<source_line> pass_over_long_line();

  byte_source& source_;
  const std::size_t longest_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // what has not been handed out is [begin_, end_) …
  std::size_t end_ = 0;
  std::size_t searched_ = 0;  // … without a newline before here
};

}  // namespace foliot::program
