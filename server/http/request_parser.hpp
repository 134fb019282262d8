// Finds the requests in the bytes that an HTTP client sends. It does no I/O: the session hands it the bytes that it has
// read.
//
//   request_parser requests(limits);
//   while (true) {
//     const auto [used, what] = requests.parse(unread);   // bytes from the socket
//     unread.remove_prefix(used);
//     if (!what) read_more();
//     else if (*what == request_parser::event::complete) answer(requests.take());
//   }
//
// One call returns at most one event and takes no byte behind it, so pipelined requests come out one at a time. How the
// bytes are split among the calls makes no difference. Behind a refusal nothing more of the connection may be parsed:
// it is not known where the next request begins.
//
// The head goes through the front check first (front_check.hpp), and then through Boost.Beast's parser, from which the
// fields come; what one of the two refuses is refused. The framing of a body is read here: to check it and to follow it
// is the same work. Trailers are checked and dropped.
//
// A head may have a secret, as an access token in Authorization: the memory in which it was gathered is wiped before it
// is given back, also where it has grown.
//
// Thread safety: none, one thread. Memory: the head up to its limit, and of the body at most twice the bytes that have
// come, or 4 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "message.hpp"
#include "server/core/wiping_allocator.hpp"

namespace foliot::program::http {

class request_parser {
 public:
  enum class event : std::uint8_t {
    head,      ///< current() has all but the body; the server may refuse the request now
    complete,  ///< current() is complete: take() it
    refused,   ///< why() says why
  };
  struct step {
    std::size_t used = 0;       ///< how many bytes of the input belong to the event or to its beginning
    std::optional<event> what;  ///< nothing only if all of the input was used
  };

  explicit request_parser(const request_limits& limits = {}) noexcept : limits_(limits) {}

  /// Takes bytes from the front of `input` up to the end of the next event. Each request has the event `head` and, also
  /// where it has no body, the event `complete`, which may come without more input. Throws std::bad_alloc.
  /// Precondition: no request is complete and not taken, and none was refused.
  [[nodiscard]] step parse(std::string_view input);

  /// The request of the latest event.
  [[nodiscard]] const request& current() const noexcept { return current_; }
  /// The request that is complete. The next one begins.
  [[nodiscard]] request take() noexcept;
  /// Precondition: the latest event is refused.
  [[nodiscard]] const refusal& why() const noexcept { return why_; }

  /// Whether no byte of a request has come that is not taken.
  [[nodiscard]] bool between_requests() const noexcept { return state_ == state::head && line_.empty(); }
  /// Whether bytes of the current request's body are to come.
  [[nodiscard]] bool expects_body() const noexcept {
    return state_ != state::head && state_ != state::end && state_ != state::complete && state_ != state::refused;
  }
  /// How many bytes of the body have come.
  [[nodiscard]] std::size_t body_size() const noexcept { return current_.body.size(); }

  /// Wipes the values of the fields of the current request that are secrets. Call it when they have been looked at.
  void forget_secrets() noexcept;

  /// Gives back the memory that is kept for the next request. Precondition: between_requests().
  void trim() noexcept { wiped_string().swap(line_); }

  /// How many bytes of memory the parser holds.
  [[nodiscard]] std::size_t memory() const noexcept { return line_.capacity() + current_.body.capacity() + fields_; }
  /// How many bytes more the next parse() may take for a body, with an input of this size.
  [[nodiscard]] std::size_t wanted_memory(std::size_t input) const noexcept;

 private:
  enum class state : std::uint8_t { head, body, chunk_line, chunk, chunk_end, trailers, end, complete, refused };

  /// Each takes bytes off the front of `input`, and returns the event that has come then.
  std::optional<event> take_head(std::string_view& input);
  std::optional<event> take_body(std::string_view& input);
  std::optional<event> take_chunk_line(std::string_view& input);
  std::optional<event> take_chunk_end(std::string_view& input);
  std::optional<event> take_trailers(std::string_view& input);

  enum class line_end : std::uint8_t { missing, found, bare };
  /// Takes bytes up to the end of a line, which it appends to line_; at most so many.
  line_end take_line(std::string_view& input, std::size_t most);
  event end_head();
  /// Wipes and empties line_.
  void clear_line() noexcept;
  /// Has Beast parse the head. Returns false if that refuses it.
  [[nodiscard]] bool read_head();
  event refuse(const refusal& why) noexcept;
  [[nodiscard]] std::size_t wanted_capacity(std::size_t more) const noexcept;

  request_limits limits_;
  state state_ = state::head;
  wiped_string line_;            // the head so far; later the line of a chunk or trailer that has begun
  std::size_t line_begin_ = 0;   // in the head: where its last line begins
  bool has_blank_line_ = false;  // an empty line was skipped in front of the head
  request current_;
  std::size_t fields_ = 0;      // the memory of the current request's fields, as an estimate
  std::uint64_t left_ = 0;      // of the body or the chunk
  std::size_t extensions_ = 0;  // bytes of chunk extensions so far
  std::size_t trailers_ = 0;    // bytes of trailers so far
  refusal why_;
};

}  // namespace foliot::program::http
