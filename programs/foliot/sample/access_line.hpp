// Writes a request as a server logs it, in Combined Log Format.
//
// Thread safety: none, one thread: it keeps the text of the latest second.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/core/instant.hpp>

#include "identity.hpp"

namespace foliot::program {

struct served_request {
  std::string_view method = "GET";
  std::string_view path;
  int status = 200;
  std::uint64_t size = 0;  ///< 0 for no body, which is logged as `-`
  std::string_view referer = "-";
};

class access_line_writer {
 public:
  /// Appends the line of a request by `who`, received at `time`.
  void append(std::string& to, const identity& who, instant time, const served_request& request);

 private:
  std::int64_t second_ = 0;
  std::string second_text_;  // empty until a second has been written
};

}  // namespace foliot::program
