// The replies of a server, found in the bytes that it sends.
//
//   reply_scanner scanner(protocol);
//   scanner.append(bytes);
//   while (const auto found = scanner.next()) count(found->kind);
//
// It copies no body: the load generator must cost little, and the same for every server.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "client_protocol.hpp"

namespace foliot::program::bench {

class reply_scanner {
 public:
  /// The protocol must outlive it.
  explicit reply_scanner(const client_protocol& of) noexcept : protocol_(&of) {}

  /// Room for at least `least` bytes, to read into; then call added(). Invalidates the last reply.
  [[nodiscard]] std::span<char> room(std::size_t least);
  /// Some bytes were written to the beginning of that room.
  void added(std::size_t length) noexcept { end_ += length; }
  /// Copies the bytes into the room. Invalidates the last reply.
  void append(std::string_view bytes);

  /// The next complete reply, or nothing until more bytes come. Its texts are valid until the next call of room() or
  /// append().
  [[nodiscard]] std::optional<reply> next();

 private:
  const client_protocol* protocol_;
  std::vector<char> bytes_;
  std::size_t begin_ = 0;  // of what next() has not returned
  std::size_t end_ = 0;
};

}  // namespace foliot::program::bench
