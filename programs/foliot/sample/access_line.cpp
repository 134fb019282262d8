#include "access_line.hpp"

#include <iterator>

#include <fmt/format.h>

#include "text/timestamp.hpp"

namespace foliot::program {

void access_line_writer::append(std::string& to, const identity& who, instant time, const served_request& request) {
  constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;
  const std::int64_t second = time.nanoseconds() / nanoseconds_per_second;
  if (second_text_.empty() || second != second_) {
    second_ = second;
    second_text_.clear();
    append_log_time(second_text_, time);
  }
  append_address(to, who);
  to += " - ";
  append_user(to, who);
  fmt::format_to(std::back_inserter(to), " [{}] \"{} {} HTTP/1.1\" {} ", second_text_, request.method, request.path,
                 request.status);
  if (request.size == 0) {
    to += '-';
  } else {
    fmt::format_to(std::back_inserter(to), "{}", request.size);
  }
  fmt::format_to(std::back_inserter(to), " \"{}\" \"{}\"\n", request.referer, agent_of(who));
}

}  // namespace foliot::program
