// The replies of a server of the beanstalk protocol, found in the bytes that it sends.
//
//   reply_scanner scanner;
//   scanner.append(bytes);
//   while (const auto found = scanner.next()) count(found->kind);
//
// It looks for ends of lines and compares first words, and copies no body: the load generator must cost little, and the
// same for every server.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace foliot::program::bench {

enum class reply_kind : std::uint8_t {
  inserted,
  reserved,
  deleted,
  released,
  buried,
  touched,
  kicked,
  used,      ///< USING
  watching,  ///< WATCHING
  found,
  ok,
  not_found,
  deadline_soon,
  timed_out,
  other,  ///< an error, or a reply that is none of these: its line says which
};

struct reply {
  reply_kind kind = reply_kind::other;
  std::uint64_t number =
      0;                    ///< after the first word: the id of a job, a count, or the length of the body of `OK`; or 0
  std::string_view line{};  ///< without its end
  std::string_view body{};  ///< of RESERVED, FOUND and OK
};

class reply_scanner {
 public:
  /// Room for at least `least` bytes, to read into; then call added(). Invalidates the last reply.
  [[nodiscard]] std::span<char> room(std::size_t least);
  /// Some bytes were written to the beginning of that room.
  void added(std::size_t length) noexcept { end_ += length; }
  /// Copies the bytes into the room. Invalidates the last reply.
  void append(std::string_view bytes);

  /// The next complete reply, or nothing until more bytes come. Its texts are valid until the next call of room() or
  /// append(). O(the length of its line).
  [[nodiscard]] std::optional<reply> next();

 private:
  std::vector<char> bytes_;
  std::size_t begin_ = 0;  // of what next() has not returned
  std::size_t end_ = 0;
};

}  // namespace foliot::program::bench
