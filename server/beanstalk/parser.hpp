// Finds the commands in the bytes that a beanstalk client sends. It does no I/O: the session hands it the bytes that it
// has read.
//
//   parser commands(max_body);
//   while (true) {
//     const auto [used, what] = commands.parse(unread);   // bytes from the socket
//     unread.remove_prefix(used);
//     if (what) answer(*what); else read_more();
//   }
//
// One call returns at most one event and takes no byte behind it, so pipelined commands come out one at a time, and a
// session whose client waits for a job stops by not calling parse(). How the bytes are split among the calls makes no
// difference.
//
// Lines end with CR LF and have at most 224 bytes with it. The parser looks for the end as beanstalkd does, in a buffer
// of 224 bytes of which only the first CR counts: if the next byte is not LF, or if the buffer is full before the end,
// the buffer is discarded and filled again, until a buffer has an end. That line is one bad_format. So a line of 225
// bytes, whose CR is the last byte of a full buffer, is answered with the line that follows it.
//
// A web page can have a browser send an HTTP request to any port of its machine, with a body of the page's choice. So a
// line that begins as `GET /` does, as no command does, is an http_request before it has an end, and so is one of any
// length that has a version of HTTP in front of its CR or LF, and is no command. For the same reason a connection with
// the first byte of a TLS handshake is a tls_record: a page can choose the bytes of a session ticket. After either
// nothing more of the connection may be parsed.
//
// A put's body is kept up to the limit; a larger one is discarded as it comes. Where a put's line is wrong its body is
// not discarded, but parsed as commands.
//
// Thread safety: none, one thread. Memory: 224 bytes, and for a body 4 KiB or twice the bytes of it that have come,
// the larger one. A body that comes in one piece is copied once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/jobs/operations.hpp>

#include "commands.hpp"
#include "http_line.hpp"

namespace foliot::program::beanstalk {

/// The longest line, in bytes, with its CR LF.
inline constexpr std::size_t longest_line = 224;

class parser {
 public:
  /// Bodies over `max_body` bytes are discarded.
  explicit parser(std::uint32_t max_body = 65'535) noexcept : max_body_(max_body) {}
  parser(const parser&) = delete;
  parser& operator=(const parser&) = delete;
  /// Wipes the line that has not come to its end: it may be an access token in a wrong place.
  ~parser() { ::explicit_bzero(line_.data(), line_.size()); }

  struct step {
    std::size_t used = 0;       ///< how many bytes of the input belong to the event or to its beginning
    std::optional<event> what;  ///< nothing only if all of the input was used
  };

  /// Takes bytes from the front of `input` up to the end of the next event. Names of the previous event become invalid.
  /// Without memory for a body, discards it. Without memory for the key or the fields of an `x-put`, throws
  /// std::bad_alloc; then the connection must be closed.
  /// Precondition: no earlier event was http_request or tls_record.
  [[nodiscard]] step parse(std::string_view input);

  /// After a put_line and before the next parse(): discards the body that follows. The event at its end is
  /// body_discarded, with out_of_memory.
  void discard_body() noexcept;

  /// For the put lines that come from now on.
  void set_max_body(std::uint32_t max_body) noexcept { max_body_ = max_body; }

  /// Whether all bytes so far belonged to events that are complete. Here a client may go away without losing anything.
  [[nodiscard]] bool between_commands() const noexcept {
    return state_ == state::line && line_size_ == 0 && !line_too_long_;
  }

  /// How many bytes of memory the parser holds for the body that it receives.
  [[nodiscard]] std::size_t body_memory() const noexcept { return put_.body.capacity(); }
  /// How many bytes more the next parse() may take for a body, with an input of this size.
  [[nodiscard]] std::size_t wanted_memory(std::size_t input) const noexcept {
    return state_ == state::body ? wanted_capacity(std::min(body_size_ - put_.body.size(), input)) : 0;
  }
  /// The same for the whole body.
  [[nodiscard]] std::size_t wanted_memory_of_body() const noexcept { return wanted_memory(body_size_); }
  /// Takes the memory for the whole body that comes, which parse() takes bit by bit. Returns false if there is none.
  [[nodiscard]] bool reserve_body() noexcept {
    return state_ != state::body || make_room(body_size_ - put_.body.size());
  }

 private:
  enum class state : std::uint8_t { line, body, discarded_body };

  /// Each takes bytes off the front of `input`, and returns the event that is complete then.
  std::optional<event> take_line(std::string_view& input);
  bool take_to_cr(std::string_view& input) noexcept;
  bool take_behind_cr(std::string_view& input) noexcept;
  std::optional<event> take_body(std::string_view& input);
  std::optional<event> skip_body(std::string_view& input);

  event end_line();
  event end_at_request() noexcept;
  /// Moves the fields and the history of a put from the end of its body to where they belong. False: they are none.
  [[nodiscard]] bool take_fields(jobs::put& complete) const;
  bool make_room(std::size_t more) noexcept;
  /// The memory that the body needs for so many bytes more; 0 if it has enough.
  [[nodiscard]] std::size_t wanted_capacity(std::size_t more) const noexcept;
  void begin_discarding(body_discarded::reason why) noexcept;

  std::uint32_t max_body_;
  state state_ = state::line;

  // The buffer of the line so far. The bytes behind its first CR are counted, not stored: they end no line.
  static constexpr std::size_t no_cr = longest_line;
  std::array<char, longest_line> line_{};
  std::size_t line_size_ = 0;
  std::size_t first_cr_ = no_cr;  // the index in line_ of its first CR
  bool line_too_long_ = false;    // a full buffer of this line has been discarded
  http_version_search version_;   // in the bytes that end no line, of this line
  bool has_begun_ = false;        // the first byte has come

  // The put whose body comes.
  jobs::put put_;
  std::size_t body_size_ = 0;     // with the fields and the history
  std::size_t fields_size_ = 0;   // of these
  std::size_t history_size_ = 0;  // and behind them
  std::uint64_t left_ = 0;        // bytes that have not come yet, of the body and its CR LF
  bool ended_by_crlf_ = true;
  body_discarded::reason why_discarded_ = body_discarded::reason::too_big;
};

}  // namespace foliot::program::beanstalk
