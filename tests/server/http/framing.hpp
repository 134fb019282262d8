// How a client's bytes become events of HTTP: by the parser, in pieces, and by a model that sees all bytes at once.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "server/http/request_parser.hpp"

namespace foliot::program::http {

using texts = std::vector<std::string>;

/// Small, so that tests reach them.
inline constexpr request_limits small_limits{
    .request_line = 60, .head = 300, .fields = 8, .body = 40, .chunk_extensions = 20};

inline std::string text_of(const request& what) {
  std::string all = what.method + " " + what.target + (what.is_http_1_0 ? " 1.0" : " 1.1");
  for (const field& each : what.fields) all += fmt::format("|{}={}", each.name, each.value);
  return all;
}

/// The events of `input`, which is read in pieces: next_piece(n) says how many of the n bytes left the next read
/// brings. Throws std::logic_error if the parser breaks its contract.
template <class Parser = request_parser, class NextPiece>
texts events_in_pieces(std::string_view input, const request_limits& limits, NextPiece next_piece) {
  Parser under_test(limits);
  texts all;
  while (!input.empty()) {
    const std::string piece(input.substr(0, next_piece(input.size())));  // AddressSanitizer finds reads past its end
    std::string_view left = piece;
    for (bool goes_on = true; goes_on;) {
      const auto [used, what] = under_test.parse(left);
      if (used > left.size()) throw std::logic_error("the parser used more bytes than there were");
      if (!what && used < left.size()) throw std::logic_error("the parser left bytes without an event");
      left.remove_prefix(used);
      goes_on = what.has_value();
      if (!what) continue;
      switch (*what) {
        case request_parser::event::head: all.push_back("HEAD " + text_of(under_test.current())); break;
        case request_parser::event::complete: all.push_back("DONE " + under_test.take().body); break;
        case request_parser::event::refused:
          all.push_back(fmt::format("REFUSED {}", under_test.why().status));
          return all;
      }
    }
    input.remove_prefix(piece.size());
  }
  return all;
}

/// The events of `input`, all of which the model sees at once: lines are found in the whole text and read by regular
/// expressions.
class framing_model {
 public:
  framing_model(std::string_view input, const request_limits& limits) : left_(input), limits_(limits) {}

  texts events() {
    while (request()) {
    }
    return all_;
  }

 private:
  enum class line_end : std::uint8_t { found, missing, bare, too_long };

  /// Takes a line without its CR LF, of which at most so many bytes are looked at.
  line_end take_line(std::size_t most, std::string& line) {
    std::size_t end = left_.find_first_of("\r\n");
    if (end != std::string_view::npos && left_[end] == '\r') ++end;
    if (end == std::string_view::npos || end >= left_.size()) {
      return left_.size() >= std::max<std::size_t>(most, 1) ? line_end::too_long : line_end::missing;
    }
    if (end >= most) return line_end::too_long;
    if (left_[end] != '\n' || end == 0 || left_[end - 1] != '\r') return line_end::bare;
    line = left_.substr(0, end - 1);
    left_.remove_prefix(end + 1);
    return line_end::found;
  }
  bool refuse(int status) {
    all_.push_back(fmt::format("REFUSED {}", status));
    return false;
  }
  bool refuse_line(line_end how, int too_long) {
    if (how == line_end::missing) return false;
    return refuse(how == line_end::bare ? 400 : too_long);
  }
  static std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }
  static std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
  }

  /// 0: the line is right.
  static int wrong_in_request_line(const std::string& line) {
    static const std::regex any("[-!#$%&'*+.^_`|~0-9A-Za-z]{1,32} .* [^ ]*");
    static const std::regex of_some_version("[^ ]+ .* HTTP/[0-9]\\.[0-9]");
    static const std::regex of_right_version("[^ ]+ .* HTTP/1\\.[01]");
    static const std::regex right("[^ ]+ (\\*|/[!-~]*) HTTP/1\\.[01]");
    if (!std::regex_match(line, any)) return 400;
    if (std::regex_match(line, of_some_version) && !std::regex_match(line, of_right_version)) return 505;
    return std::regex_match(line, right) ? 0 : 400;
  }
  static bool is_list(const std::string& value) {
    static const std::regex list(
        "[ \t]*([-!#$%&'*+.^_`|~0-9A-Za-z]+[ \t]*)?(,[ \t]*([-!#$%&'*+.^_`|~0-9A-Za-z]+[ \t]*)?)*");
    return std::regex_match(value, list);
  }
  static bool is_field(const std::string& line) {
    static const std::regex token("[-!#$%&'*+.^_`|~0-9A-Za-z]+");
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !std::regex_match(line.substr(0, colon), token)) return false;
    const bool has_controls = std::ranges::any_of(
        line, [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
    return !has_controls;
  }

  bool request() {
    std::string line;
    line_end how = take_line(std::min(limits_.request_line, limits_.head), line);
    if (how == line_end::found && line.empty()) how = take_line(std::min(limits_.request_line, limits_.head), line);
    if (how != line_end::found) return refuse_line(how, 414);
    std::size_t size = line.size() + 2;
    const std::string first = line;
    if (first.empty()) return refuse(400);
    std::vector<std::string> fields;
    do {
      how = take_line(limits_.head - size, line);
      if (how != line_end::found) return refuse_line(how, 431);
      size += line.size() + 2;
      if (!line.empty()) fields.push_back(line);
    } while (!line.empty());
    if (const int status = wrong_in_request_line(first)) return refuse(status);
    return head(first, fields);
  }

  static bool has(const std::vector<field>& fields, std::string_view name) {
    return std::ranges::find(fields, name, &field::name) != fields.end();
  }
  /// Behind those with the same name, if there are any.
  static void add(std::vector<field>& fields, const field& added) {
    auto at = std::ranges::find(fields, added.name, &field::name);
    while (at != fields.end() && at->name == added.name) ++at;
    fields.insert(at, added);
  }

  bool head(const std::string& first, const std::vector<std::string>& lines) {
    static const std::array<std::string, 11> single = {
        "host",   "content-length", "transfer-encoding", "authorization", "content-type", "expect",
        "origin", "sec-fetch-site", "idempotency-key",   "if-match",      "if-none-match"};
    const bool is_old = first.ends_with("1.0");
    std::vector<field> fields;
    std::string text = "HEAD " + first.substr(0, first.size() - 9) + (is_old ? " 1.0" : " 1.1");
    std::string length;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i == limits_.fields) return refuse(431);
      if (!is_field(lines[i])) return refuse(400);
      const std::size_t colon = lines[i].find(':');
      const std::string name = lower(lines[i].substr(0, colon));
      const std::string value = trimmed(lines[i].substr(colon + 1));
      if (has(fields, name) && std::ranges::find(single, name) != single.end()) return refuse(400);
      add(fields, {name, value});
      if (name == "transfer-encoding" && lower(value) != "chunked") return refuse(501);
      if (name == "expect" && lower(value) != "100-continue") return refuse(417);
      const bool is_connection = name == "connection" || name == "proxy-connection";
      if (is_connection && !is_list(value)) return refuse(400);
      if (name != "content-length") continue;
      if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos) return refuse(400);
      if (value.size() > 19) return refuse(413);
      length = value;
    }
    const bool is_chunked = has(fields, "transfer-encoding");
    if (is_chunked && (!length.empty() || is_old)) return refuse(400);
    if (!is_old && !has(fields, "host")) return refuse(400);
    const std::uint64_t bytes = length.empty() ? 0 : std::stoull(length);
    if (bytes > limits_.body) return refuse(413);
    for (const field& each : fields) text += fmt::format("|{}={}", each.name, each.value);
    all_.push_back(text);
    return is_chunked ? chunks() : body(bytes);
  }

  bool body(std::uint64_t bytes) {
    if (left_.size() < bytes) return false;
    all_.push_back("DONE " + std::string(left_.substr(0, bytes)));
    left_.remove_prefix(bytes);
    return true;
  }

  bool chunks() {
    std::string whole;
    std::size_t extensions = 0;
    for (;;) {
      std::string line;
      const line_end how = take_line(1024, line);
      if (how != line_end::found) return refuse_line(how, 400);
      const std::size_t digits = std::min(line.find_first_not_of("0123456789abcdefABCDEF"), line.size());
      const std::string rest = trimmed(line.substr(digits));
      if (digits == 0 || digits > 16 || (digits < line.size() && !rest.starts_with(';'))) return refuse(400);
      if (!is_field("x:" + rest)) return refuse(400);
      extensions += line.size() - digits;
      if (extensions > limits_.chunk_extensions) return refuse(400);
      const std::uint64_t size = std::stoull(line.substr(0, digits), nullptr, 16);
      if (size > limits_.body - whole.size()) return refuse(413);
      if (size == 0) return trailers(whole);
      if (left_.size() < size) return false;
      whole += left_.substr(0, size);
      left_.remove_prefix(size);
      if (!left_.empty() && left_[0] != '\r') return refuse(400);
      if (left_.size() > 1 && left_[1] != '\n') return refuse(400);
      if (left_.size() < 2) return false;
      left_.remove_prefix(2);
    }
  }

  bool trailers(const std::string& whole) {
    std::size_t size = 0;
    for (std::string line;;) {
      const line_end how = take_line(limits_.head - size, line);
      if (how != line_end::found) return refuse_line(how, 431);
      size += line.size() + 2;
      if (line.empty()) break;
      if (!is_field(line)) return refuse(400);
    }
    all_.push_back("DONE " + whole);
    return true;
  }

  std::string_view left_;
  const request_limits limits_;
  texts all_;
};

inline texts events_by_model(std::string_view input, const request_limits& limits) {
  return framing_model(input, limits).events();
}

}  // namespace foliot::program::http
