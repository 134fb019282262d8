#include "http_line.hpp"

#include <algorithm>

namespace foliot::program::beanstalk {
namespace {

constexpr bool is_upper(char c) noexcept { return 'A' <= c && c <= 'Z'; }

}  // namespace

bool begins_as_http(std::string_view line) noexcept {
  constexpr std::array<std::string_view, 9> methods{"GET ",     "POST ",  "HEAD ",  "PUT ", "DELETE ",
                                                    "OPTIONS ", "PATCH ", "TRACE ", "PRI "};
  if (line.empty() || !is_upper(line.front())) return false;  // as every command
  const auto begins = [line](std::string_view method) {
    if (!line.starts_with(method)) return false;
    const std::string_view target = line.substr(method.size());
    return target.starts_with('/') || target.starts_with('*') || target.starts_with("http");
  };
  return std::ranges::any_of(methods, begins) || line.starts_with("CONNECT ");
}

bool http_version_search::finds_end(std::string_view bytes) noexcept {
  for (const char c : bytes) {
    if ((c == '\r' || c == '\n') && has_version()) return true;
    state_ = behind(c);
  }
  return false;
}

http_version_search::state http_version_search::behind(char c) noexcept {
  if (c == ' ' || c == '\t') return has_version() ? state::blank_after : state::blank;
  if ('0' <= c && c <= '9') {
    if (state_ == state::slash || state_ == state::number) return state::number;
    return state_ == state::point || state_ == state::fraction ? state::fraction : state::other;
  }
  if (c == '.') return state_ == state::number ? state::point : state::other;
  return behind_letter(c);
}

/// Or behind the slash that ends the name.
http_version_search::state http_version_search::behind_letter(char c) noexcept {
  constexpr std::array<std::string_view, 4> names{"HTTP", "RTSP", "ICAP", "SIP"};
  if (c == '/' && state_ == state::name) {
    const std::string_view name(name_.data(), name_size_);
    return std::ranges::find(names, name) != names.end() ? state::slash : state::other;
  }
  if (state_ == state::blank || state_ == state::blank_after) name_size_ = 0;
  const bool is_in_name = state_ == state::blank || state_ == state::blank_after || state_ == state::name;
  if (!is_in_name || !is_upper(c) || name_size_ == name_.size()) return state::other;
  name_[name_size_++] = c;
  return state::name;
}

}  // namespace foliot::program::beanstalk
