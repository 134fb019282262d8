#include "parser.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include <foliot/core/contract.hpp>

#include "command_line.hpp"

namespace foliot::program::beanstalk {
namespace {

constexpr std::string_view crlf = "\r\n";
constexpr std::size_t small_body = 4096;
/// The first byte of a connection by TLS: the type of its record. No command begins with it.
constexpr char tls_handshake = 0x16;

std::string_view take(std::string_view& input, std::size_t count) noexcept {
  const std::string_view taken = input.substr(0, count);
  input.remove_prefix(taken.size());
  return taken;
}

}  // namespace

parser::step parser::parse(std::string_view input) {
  if (!input.empty() && !std::exchange(has_begun_, true) && input.front() == tls_handshake) return {1, tls_record()};
  std::string_view rest = input;
  std::optional<event> what;
  while (!rest.empty() && !what) {
    switch (state_) {
      case state::line: what = take_line(rest); break;
      case state::body: what = take_body(rest); break;
      case state::discarded_body: what = skip_body(rest); break;
    }
  }
  return {input.size() - rest.size(), std::move(what)};
}

std::optional<event> parser::take_line(std::string_view& input) {
  bool is_http = false;
  if (first_cr_ == no_cr) {
    is_http = take_to_cr(input);
  } else if (first_cr_ == line_size_ - 1 && input.front() == '\n') {
    take(input, 1);
    return end_line();
  } else {
    is_http = take_behind_cr(input);
  }
  if (is_http) return end_at_request();
  if (line_size_ == longest_line) {
    line_size_ = 0;
    first_cr_ = no_cr;
    line_too_long_ = true;
  }
  return std::nullopt;
}

/// Whether that shows an HTTP request.
bool parser::take_to_cr(std::string_view& input) noexcept {
  const std::string_view piece = input.substr(0, longest_line - line_size_);
  const std::size_t cr = piece.find('\r');
  const std::string_view taken = take(input, cr == std::string_view::npos ? piece.size() : cr + 1);
  std::ranges::copy(taken, line_.data() + line_size_);
  line_size_ += taken.size();
  if (cr != std::string_view::npos) first_cr_ = line_size_ - 1;
  const std::string_view line(line_.data(), line_size_);
  if (!line_too_long_ && begins_as_http(line)) return true;
  return line_size_ == longest_line && version_.finds_end(line);
}

/// Takes bytes that end no line. No line can end in this buffer any more, so they are not kept. Whether they show an
/// HTTP request.
bool parser::take_behind_cr(std::string_view& input) noexcept {
  if (first_cr_ == line_size_ - 1 && version_.finds_end({line_.data(), line_size_})) return true;
  const std::string_view taken = take(input, longest_line - line_size_);
  line_size_ += taken.size();
  return version_.finds_end(taken);
}

event parser::end_at_request() noexcept {
  line_size_ = 0;
  first_cr_ = no_cr;
  return http_request();
}

event parser::end_line() {
  const std::string_view line(line_.data(), first_cr_);
  const std::string_view line_and_cr(line_.data(), first_cr_ + 1);
  line_size_ = 0;
  first_cr_ = no_cr;
  http_version_search version = std::exchange(version_, http_version_search());
  event what = std::exchange(line_too_long_, false) ? bad_format() : parse_line(line, max_body_, put_);
  const auto* const unknown = std::get_if<unknown_command>(&what);
  const bool is_command = unknown == nullptr && !std::holds_alternative<bad_format>(what);
  if (!is_command && version.finds_end(line_and_cr)) return http_request();
  if (unknown != nullptr && unknown->is_sign_in) ::explicit_bzero(line_.data(), line_.size());
  if (const auto* begun = std::get_if<put_line>(&what)) {
    body_size_ = begun->size;
    fields_size_ = begun->fields;
    history_size_ = begun->history;
    left_ = std::uint64_t{begun->size} + crlf.size();
    ended_by_crlf_ = true;
    state_ = state::body;
    if (begun->too_big) begin_discarding(body_discarded::reason::too_big);
  }
  return what;
}

std::optional<event> parser::take_body(std::string_view& input) {
  std::string& body = put_.body;
  const std::size_t missing = body_size_ - body.size();
  const std::size_t come = std::min(missing, input.size());
  if (!make_room(come)) {
    begin_discarding(body_discarded::reason::out_of_memory);
    return std::nullopt;
  }
  body += take(input, come);
  left_ -= come;
  while (left_ <= crlf.size() && left_ > 0 && !input.empty()) {
    ended_by_crlf_ = ended_by_crlf_ && input.front() == crlf[crlf.size() - left_];
    take(input, 1);
    --left_;
  }
  if (left_ > 0) return std::nullopt;
  state_ = state::line;
  jobs::put complete = std::exchange(put_, jobs::put());
  if (!ended_by_crlf_) return body_without_crlf();
  if (fields_size_ + history_size_ != 0 && !take_fields(complete)) return bad_format();
  return put{std::move(complete)};
}

bool parser::take_fields(jobs::put& complete) const {
  const auto take_last = [&body = complete.body](std::size_t size, jobs::job_fields& to) {
    std::optional<jobs::job_fields> parsed = jobs::job_fields::parse(std::string_view(body).substr(body.size() - size));
    if (!parsed) return false;
    to = *std::move(parsed);
    body.resize(body.size() - size);
    return true;
  };
  if (!take_last(history_size_, complete.history) || !take_last(fields_size_, complete.fields)) return false;
  // What counts the memory of a body counts its size.
  if (complete.body.size() < complete.body.capacity() / 2) complete.body.shrink_to_fit();
  return true;
}

/// It doubles, so that a slow client costs no more memory than for twice the bytes that it has sent; a small body gets
/// its memory at once.
std::size_t parser::wanted_capacity(std::size_t more) const noexcept {
  const std::string& body = put_.body;
  const std::size_t needed = body.size() + more;
  if (needed <= body.capacity()) return 0;
  return std::min(std::max({needed, small_body, 2 * body.capacity()}), body_size_);
}

/// Grows the body's memory for `more` bytes. False if there is none.
bool parser::make_room(std::size_t more) noexcept {
  const std::size_t wanted = wanted_capacity(more);
  if (wanted == 0) return true;
  try {
    put_.body.reserve(wanted);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::length_error&) {
    return false;
  }
}

std::optional<event> parser::skip_body(std::string_view& input) {
  left_ -= take(input, static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()))).size();
  if (left_ > 0) return std::nullopt;
  state_ = state::line;
  return body_discarded{why_discarded_};
}

void parser::discard_body() noexcept {
  FOLIOT_ASSERT(state_ != state::line, "a body can be discarded only between its put_line and its end");
  if (state_ == state::body) begin_discarding(body_discarded::reason::out_of_memory);
}

void parser::begin_discarding(body_discarded::reason why) noexcept {
  static_cast<void>(std::exchange(put_, jobs::put()));  // an assignment would keep the memory of the body
  why_discarded_ = why;
  state_ = state::discarded_body;
}

}  // namespace foliot::program::beanstalk
