// How the lines of beanstalk and the first line of an HTTP request are told apart.
//
// A request is known by its beginning, if its method is a well-known one, or by the version at the end of its first
// line. RTSP, SIP and ICAP write their requests in the same form, so their versions count as well.
//
// Thread safety: none, one thread. O(bytes), without an allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace foliot::program::beanstalk {

/// Whether the line, which may not be complete, begins with a well-known method of HTTP, a space, and
/// what may be the beginning of a target: `/`, `*`, or `http`. After `CONNECT ` anything may.
[[nodiscard]] bool begins_as_http(std::string_view line) noexcept;

/// Looks for the end of a request line in bytes that come in pieces: white space, a version such as `HTTP/1.1`, perhaps
/// white space again, and CR or LF.
class http_version_search {
 public:
  /// Whether the bytes so far have such an end. Once they do, the search must not go on.
  [[nodiscard]] bool finds_end(std::string_view bytes) noexcept;

 private:
  /// What the byte that was read last is.
  enum class state : std::uint8_t {
    other,
    blank,        ///< a version may begin behind it
    name,         ///< of a protocol, in upper case
    slash,        ///< behind such a name
    number,       ///< a digit of the version
    point,        ///< in the version
    fraction,     ///< a digit behind the point
    blank_after,  ///< the version is complete; another one may begin
  };

  [[nodiscard]] state behind(char c) noexcept;
  [[nodiscard]] state behind_letter(char c) noexcept;
  [[nodiscard]] bool has_version() const noexcept {
    return state_ == state::number || state_ == state::fraction || state_ == state::blank_after;
  }

  state state_ = state::other;
  std::array<char, 4> name_{};
  std::size_t name_size_ = 0;
};

}  // namespace foliot::program::beanstalk
