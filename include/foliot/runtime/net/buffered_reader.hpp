// Reads lines, texts up to a delimiter, and exact numbers of bytes, from a stream or anything else that has
// read_some().
//
//   buffered_reader in(peer);                                // peer: a stream, which must outlive the reader
//   for (;;) {
//     const auto line = co_await in.read_line(1000);         // at most 1,000 bytes
//     if (!line) …                                           // io_errc::too_long, or an error of peer.read_some()
//     if (!line->complete) break;                            // the end; line->text came after the last line, if any
//     use(line->text);                                       // without its LF or CRLF; valid until the next read
//   }
//
// The reader reads as much as there is and keeps the rest for the next call, so all reads must go through it; writes
// and deadlines stay the stream's. Every text has a limit, since the other side decides how long it is.
//
// Nothing is lost: a call that fails, or throws `cancelled`, has consumed nothing, and the next call finds the bytes
// that were read meanwhile. So a line whose deadline came in the middle may be read on, and one that is too long may
// be read with a larger limit, skipped by read_some(), or be the reason to close the connection.
//
// The end of the stream is no error: the text that came before it is returned, with `complete` false.
//
// Thread safety: one task at a time. Complexity: each byte is looked at once, also over several calls with the same
// delimiter (a delimiter of k bytes takes O(k) for a byte at worst). Memory: at most four times the longest text and
// two times the bytes that are read at a time; it is allocated by the first read, and kept.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <expected>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>

#include <foliot/runtime/detail/read_buffer.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

/// What a buffered_reader has read. A value; the text is the reader's.
struct received_text {
  std::string_view text;  ///< valid until the next call of the reader
  bool complete = false;  ///< whether the delimiter, or the last byte, came; false: the stream ended first
};

/// Something that a buffered_reader reads from: read_some() gives a first part of what comes, 0 at the end, and may be
/// called again after an error or `cancelled`, without loss.
template <class Source>
concept reads_some = requires(Source& source, std::span<std::byte> into) {
  { source.read_some(into) } -> std::same_as<task<or_error<std::size_t>>>;
};

/// Reads from a source, with a buffer. Neither copied nor moved.
template <reads_some Source>
class buffered_reader {
 public:
  /// Reads from `source`, which must outlive the reader, at least `at_a_time` bytes at once if there are so many, from
  /// 1 on. Throws std::invalid_argument.
  explicit buffered_reader(Source& source, std::size_t at_a_time = 4096) : source_(source), buffer_(at_a_time) {}
  buffered_reader(const buffered_reader&) = delete;
  buffered_reader& operator=(const buffered_reader&) = delete;

  /// Reads a line: until LF or CRLF, which the text does not have. Returns io_errc::too_long if the line without its
  /// end has more than `limit` bytes, and the errors of the source. Throws what the source throws, and std::bad_alloc.
  [[nodiscard]] task<or_error<received_text>> read_line(std::size_t limit) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    for (;;) {
      const auto found = buffer_.find("\n", limit == most ? most : limit + 1);  // one more, for a CR
      const std::string_view unread = buffer_.unread();
      if (found.what == finding::found) {
        const bool has_return = found.at > 0 && unread[found.at - 1] == '\r';
        const std::size_t length = found.at - (has_return ? 1 : 0);
        if (length > limit) co_return std::unexpected(make_error_code(io_errc::too_long));
        co_return received_text{buffer_.consume(found.at + 1, length), true};
      }
      const bool may_end = unread.size() <= limit || (unread.size() == limit + 1 && unread.back() == '\r');
      if (!may_end) co_return std::unexpected(make_error_code(io_errc::too_long));
      const std::span<std::byte> room = buffer_.room();
      const or_error<std::size_t> got = co_await detail::inner(source_.read_some(room));
      if (!got) co_return std::unexpected(got.error());
      if (*got == 0) co_return rest(limit);
      buffer_.add(*got);
    }
  }

  /// Reads until `delimiter`, which is consumed too, but is not part of the text. The delimiter must live until the
  /// result is there. Returns io_errc::too_long if the text has more than `limit` bytes, and the errors of the source.
  /// Throws std::invalid_argument if the delimiter is empty, what the source throws, and std::bad_alloc.
  [[nodiscard]] task<or_error<received_text>> read_until(std::string_view delimiter, std::size_t limit) {
    if (delimiter.empty()) throw std::invalid_argument("foliot: the delimiter of read_until() must not be empty");
    for (;;) {
      const auto found = buffer_.find(delimiter, limit);
      if (found.what == finding::found) {
        co_return received_text{buffer_.consume(found.at + delimiter.size(), found.at), true};
      }
      if (found.what == finding::too_long) co_return std::unexpected(make_error_code(io_errc::too_long));
      const std::span<std::byte> room = buffer_.room();
      const or_error<std::size_t> got = co_await detail::inner(source_.read_some(room));
      if (!got) co_return std::unexpected(got.error());
      if (*got == 0) co_return rest(limit);
      buffer_.add(*got);
    }
  }
  /// The same for a delimiter of one byte.
  [[nodiscard]] task<or_error<received_text>> read_until(char delimiter, std::size_t limit) {
    const or_error<received_text> got = co_await detail::inner(read_until(std::string_view(&delimiter, 1), limit));
    co_return got;
  }

  /// Reads `count` bytes. If the stream ends first, returns those that came, with `complete` false. Returns the errors
  /// of the source. Throws what the source throws, and std::bad_alloc. The memory grows with what has come, not with
  /// `count`, which the other side may have named.
  [[nodiscard]] task<or_error<received_text>> read_exactly(std::size_t count) {
    while (buffer_.unread().size() < count) {
      const std::span<std::byte> room = buffer_.room();
      const or_error<std::size_t> got = co_await detail::inner(source_.read_some(room));
      if (!got) co_return std::unexpected(got.error());
      if (*got == 0) co_return rest(count);
      buffer_.add(*got);
    }
    co_return received_text{buffer_.consume(count), true};
  }

  /// Gives the bytes in the buffer; if there are none, reads as source.read_some() does. Returns how much, 0 at the end
  /// of the stream or if `into` is empty.
  [[nodiscard]] task<or_error<std::size_t>> read_some(std::span<std::byte> into) {
    const std::size_t count = std::min(into.size(), buffer_.unread().size());
    if (count > 0) {
      std::memcpy(into.data(), buffer_.consume(count).data(), count);
      co_return count;
    }
    const or_error<std::size_t> got = co_await detail::inner(source_.read_some(into));
    co_return got;
  }
  /// The same for characters.
  [[nodiscard]] task<or_error<std::size_t>> read_some(std::span<char> into) {
    return read_some(std::as_writable_bytes(into));
  }

  /// The bytes in the buffer: they were read from the source, and no call has returned them yet. Valid until the next
  /// call.
  [[nodiscard]] std::string_view buffered() const noexcept { return buffer_.unread(); }

 private:
  using finding = detail::read_buffer::finding;

  /// All that is left, at the end of the stream.
  [[nodiscard]] or_error<received_text> rest(std::size_t limit) noexcept {
    const std::size_t count = buffer_.unread().size();
    if (count > limit) return std::unexpected(make_error_code(io_errc::too_long));
    return received_text{buffer_.consume(count), false};
  }

  Source& source_;
  detail::read_buffer buffer_;
};

}  // namespace foliot::runtime
