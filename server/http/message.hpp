// Requests and responses of HTTP as plain values.
//
// Thread safety: as a std::string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::program::http {

struct field {
  std::string name;
  std::string value;

  friend bool operator==(const field&, const field&) = default;
};

/// A request that has come: its head, and its body once that is complete.
struct request {
  std::string method;
  std::string target;         ///< as it came: `*`, or a path and perhaps a query
  std::vector<field> fields;  ///< in order, but those with one name together; names in lower case
  std::string body;
  bool is_http_1_0 = false;
  bool keeps_connection = true;   ///< whether the client wants to go on
  bool expects_continue = false;  ///< whether the client waits for `100 Continue` before it sends the body

  /// The value of the first field with this name, which must be in lower case; valid until the fields change.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept {
    for (const field& each : fields) {
      if (each.name == name) return each.value;
    }
    return std::nullopt;
  }

  friend bool operator==(const request&, const request&) = default;
};

/// What is sent back. The writer adds the fields that every response has.
struct response {
  int status = 200;
  std::string content_type = {};  ///< empty: there is no body
  std::string body = {};
  std::vector<field> fields = {};
  bool is_same_for_all = false;  ///< caches may keep it, and ask before each use whether it is still right
  bool closes = false;           ///< whether the connection ends behind it
  bool wants_word = false;       ///< whether its conversation wants to know when it has been sent
  bool is_sent = false;          ///< it has left already, as a stream: nothing follows it
};

/// Why a request is refused before it is known what it asks for.
struct refusal {
  int status = 400;
  std::string_view header;  ///< the field that is wrong, in lower case; empty: another part of the request
  std::string_view detail;  ///< a sentence: what is wrong, and what would be right

  friend bool operator==(const refusal&, const refusal&) = default;
};

/// The bounds of a request, in bytes.
struct request_limits {
  std::size_t request_line = 8192;  ///< with its CR LF
  std::size_t head = 32'768;        ///< the request line and all fields; the trailers of a body have as much
  std::size_t fields = 100;         ///< their number
  std::size_t body = std::size_t{1} << 20;
  std::size_t chunk_extensions = 4096;  ///< of all chunks of a body together
};

}  // namespace foliot::program::http
