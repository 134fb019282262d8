#include "request_parser.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "front_check.hpp"

namespace foliot::program::http {

namespace {

namespace beast = boost::beast;

constexpr std::size_t least_body_memory = 4096;
/// The longest line in front of a chunk, with its CR LF.
constexpr std::size_t longest_chunk_line = 1024;
/// What a field takes beside its bytes.
constexpr std::size_t memory_of_field = sizeof(field);

constexpr refusal bare_line_end{400, "", "a line must end with CR LF, and neither CR nor LF may stand alone"};
constexpr refusal head_too_large{431, "", "the fields of the request are too large"};
constexpr refusal body_too_large{413, "", "the body is larger than this server takes"};

/// How many bytes come before a CR or an LF. Not by find_first_of(), which looks at each byte by itself.
std::size_t before_line_end(std::string_view text) noexcept {
  const std::string_view line = text.substr(0, text.find('\n'));
  return std::min(line.find('\r'), line.size());
}

std::string in_lower_case(beast::string_view text) {
  std::string lower(text.data(), text.size());
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

}  // namespace

request_parser::step request_parser::parse(std::string_view input) {
  const std::size_t size = input.size();
  if (size == 0 && state_ != state::end) return {};
  std::optional<event> what;
  do {
    switch (state_) {
      case state::head: what = take_head(input); break;
      case state::body:
      case state::chunk: what = take_body(input); break;
      case state::chunk_line: what = take_chunk_line(input); break;
      case state::chunk_end: what = take_chunk_end(input); break;
      case state::trailers: what = take_trailers(input); break;
      case state::end:
        state_ = state::complete;
        what = event::complete;
        break;
      case state::complete:
      case state::refused: return {size - input.size(), std::nullopt};
    }
  } while (!what && (!input.empty() || state_ == state::end));
  return {size - input.size(), what};
}

request request_parser::take() noexcept {
  state_ = state::head;
  clear_line();
  if (line_.capacity() > least_body_memory) line_.shrink_to_fit();
  line_begin_ = fields_ = extensions_ = trailers_ = 0;
  has_blank_line_ = false;
  return std::exchange(current_, request());
}

void request_parser::clear_line() noexcept {
  wipe(line_);
  line_.clear();
}

void request_parser::forget_secrets() noexcept {
  for (field& each : current_.fields) {
    if (each.name == "authorization" || each.name == "proxy-authorization" || each.name == "cookie") wipe(each.value);
  }
}

std::size_t request_parser::wanted_memory(std::size_t input) const noexcept {
  if (state_ != state::body && state_ != state::chunk && state_ != state::chunk_line) return 0;
  return wanted_capacity(state_ == state::chunk_line ? input : std::min<std::uint64_t>(left_, input));
}

std::size_t request_parser::wanted_capacity(std::size_t more) const noexcept {
  const std::size_t needed = current_.body.size() + more;
  if (needed <= current_.body.capacity()) return 0;
  return std::min(std::max({needed, 2 * current_.body.size(), least_body_memory}),
                  std::max(limits_.body, least_body_memory));
}

request_parser::event request_parser::refuse(const refusal& why) noexcept {
  state_ = state::refused;
  why_ = why;
  return event::refused;
}

request_parser::line_end request_parser::take_line(std::string_view& input, std::size_t most) {
  while (!input.empty() && line_.size() < most) {
    const bool has_cr = line_.size() > line_begin_ && line_.back() == '\r';
    // Up to the first byte that may end the line.
    const std::size_t plain = has_cr ? 0 : before_line_end(input);
    const std::size_t taken = std::min(plain, most - line_.size());
    line_.append(input.substr(0, taken));
    input.remove_prefix(taken);
    if (taken < plain || input.empty()) continue;
    if (line_.size() == most) break;
    const char c = input.front();
    if (has_cr != (c == '\n')) return line_end::bare;
    line_ += c;
    input.remove_prefix(1);
    if (c == '\n') return line_end::found;
  }
  return line_end::missing;
}

std::optional<request_parser::event> request_parser::take_head(std::string_view& input) {
  const bool is_first = line_begin_ == 0;
  const std::size_t most = is_first ? std::min(limits_.request_line, limits_.head) : limits_.head;
  switch (take_line(input, most)) {
    case line_end::bare: return refuse(bare_line_end);
    case line_end::missing:
      if (line_.size() < most) return std::nullopt;
      return refuse(is_first ? refusal{414, "", "the request line is too long"} : head_too_large);
    case line_end::found: break;
  }
  const bool is_empty = line_.size() == line_begin_ + 2;
  if (is_empty && !is_first) return end_head();
  if (is_empty && std::exchange(has_blank_line_, true)) {
    return refuse(refusal{400, "", "a request begins with METHOD SP TARGET SP HTTP/1.1"});
  }
  if (is_empty) {
    line_.clear();
  } else {
    line_begin_ = line_.size();
  }
  return std::nullopt;
}

request_parser::event request_parser::end_head() {
  const auto framing = check_head(line_, limits_);
  if (!framing) return refuse(framing.error());
  if (!framing->is_chunked && framing->length > limits_.body) {
    return refuse(refusal{413, "content-length", "the body is larger than this server takes"});
  }
  if (!read_head()) return refuse(refusal{400, "", "the head of the request is malformed"});
  clear_line();
  line_begin_ = 0;
  left_ = framing->length;
  state_ = framing->is_chunked ? state::chunk_line : framing->length > 0 ? state::body : state::end;
  return event::head;
}

bool request_parser::read_head() {
  beast::http::request_parser<beast::http::empty_body, wiping_allocator<char>> library;
  library.header_limit(static_cast<std::uint32_t>(limits_.head));
  // Beast 1.74 takes `none` for less than any length.
  library.body_limit(std::numeric_limits<std::uint64_t>::max());
  beast::error_code error;
  const std::size_t used = library.put(boost::asio::const_buffer(line_.data(), line_.size()), error);
  if (error || used != line_.size() || !library.is_header_done()) return false;
  const auto& read = library.get();
  current_.method = std::string(read.method_string());
  current_.target = std::string(read.target());
  current_.is_http_1_0 = read.version() == 10;
  current_.keeps_connection = read.keep_alive();
  fields_ = line_.size();
  current_.fields.reserve(static_cast<std::size_t>(std::ranges::distance(read)));
  for (const auto& each : read) {
    current_.fields.push_back({in_lower_case(each.name_string()), std::string(each.value())});
    fields_ += memory_of_field;
  }
  current_.expects_continue = !current_.is_http_1_0 && current_.find("expect").has_value();
  return true;
}

std::optional<request_parser::event> request_parser::take_body(std::string_view& input) {
  const std::size_t taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
  if (const std::size_t wanted = wanted_capacity(taken)) current_.body.reserve(wanted);
  current_.body.append(input.substr(0, taken));
  input.remove_prefix(taken);
  left_ -= taken;
  if (left_ == 0) state_ = state_ == state::body ? state::end : state::chunk_end;
  return std::nullopt;
}

std::optional<request_parser::event> request_parser::take_chunk_line(std::string_view& input) {
  switch (take_line(input, longest_chunk_line)) {
    case line_end::bare: return refuse(bare_line_end);
    case line_end::missing:
      if (line_.size() < longest_chunk_line) return std::nullopt;
      return refuse(refusal{400, "", "the line in front of a chunk is too long"});
    case line_end::found: break;
  }
  const auto read = parse_chunk_line(std::string_view(line_).substr(0, line_.size() - 2));
  if (!read) return refuse(read.error());
  line_.clear();
  extensions_ += read->extensions;
  if (extensions_ > limits_.chunk_extensions) return refuse(refusal{400, "", "the chunk extensions are too large"});
  if (read->size > limits_.body - current_.body.size()) return refuse(body_too_large);
  left_ = read->size;
  state_ = left_ > 0 ? state::chunk : state::trailers;
  return std::nullopt;
}

std::optional<request_parser::event> request_parser::take_chunk_end(std::string_view& input) {
  constexpr std::string_view end = "\r\n";
  if (input.front() != end[line_.size()]) return refuse(refusal{400, "", "a chunk is longer than its size"});
  line_ += input.front();
  input.remove_prefix(1);
  if (line_.size() < end.size()) return std::nullopt;
  line_.clear();
  state_ = state::chunk_line;
  return std::nullopt;
}

std::optional<request_parser::event> request_parser::take_trailers(std::string_view& input) {
  const std::size_t most = limits_.head - trailers_;
  switch (take_line(input, most)) {
    case line_end::bare: return refuse(bare_line_end);
    case line_end::missing:
      if (line_.size() < most) return std::nullopt;
      return refuse(head_too_large);
    case line_end::found: break;
  }
  const std::string_view line = std::string_view(line_).substr(0, line_.size() - 2);
  if (line.empty()) {
    state_ = state::end;
  } else if (const std::optional<refusal> wrong = check_field_line(line)) {
    return refuse(*wrong);
  }
  trailers_ += line_.size();
  line_.clear();
  return std::nullopt;
}

}  // namespace foliot::program::http
