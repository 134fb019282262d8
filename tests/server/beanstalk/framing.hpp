// How a client's bytes become events: by the parser, in pieces, and by a model that sees all bytes at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "event_text.hpp"
#include "server/beanstalk/command_line.hpp"
#include "server/beanstalk/http_line.hpp"
#include "server/beanstalk/parser.hpp"

namespace foliot::program::beanstalk {

/// The events of `input`, which is read in pieces: next_piece(n) says how many of the n bytes left the next read
/// brings. Nothing is parsed behind what begins another protocol. Throws std::logic_error if the parser breaks its
/// contract.
template <class Parser = parser, class NextPiece>
texts events_in_pieces(std::string_view input, std::uint32_t max_body, NextPiece next_piece) {
  Parser under_test(max_body);
  texts all;
  std::size_t received = 0;
  while (!input.empty()) {
    const std::string piece(input.substr(0, next_piece(input.size())));  // AddressSanitizer finds reads past its end
    std::string_view left = piece;
    while (!left.empty()) {
      const auto [used, what] = under_test.parse(left);
      if (used > left.size()) throw std::logic_error("the parser used more bytes than there were");
      if (!what && used < left.size()) throw std::logic_error("the parser left bytes without an event");
      received += used;
      if (under_test.body_memory() > std::max<std::size_t>(2 * received, 4096)) {
        throw std::logic_error("the parser keeps more memory than twice what has come");
      }
      left.remove_prefix(used);
      if (what) all.push_back(event_text::of(*what));
      if (what && (std::holds_alternative<http_request>(*what) || std::holds_alternative<tls_record>(*what)))
        return all;
    }
    input.remove_prefix(piece.size());
  }
  return all;
}

/// Whether white space and a version of HTTP, or of a protocol like it, stand before an end of a line in the text.
inline bool has_version_of_http(const std::string& text) {
  static const std::regex version("[ \\t](HTTP|RTSP|ICAP|SIP)/[0-9]+(\\.[0-9]+)?[ \\t]*[\\r\\n]");
  return std::regex_search(text, version);
}

/// The events of `input` by the rules of beanstalkd, without any state: blocks of 224 bytes, in each of which the first
/// CR may end a line; and by those of foliot, which ends at what begins another protocol.
inline texts events_by_model(std::string_view input, std::uint32_t max_body) {
  texts all;
  if (input.starts_with('\x16')) return {"TLS"};
  std::string lost;  // the full blocks of a line that is too long
  while (!input.empty()) {
    const std::string_view block = input.substr(0, 224);
    if (lost.empty() && begins_as_http(block)) return all.push_back("HTTP"), all;
    const std::size_t cr = block.substr(0, block.size() - 1).find('\r');
    if (cr == std::string_view::npos || block[cr + 1] != '\n') {
      const bool is_lost = block.size() == 224 || cr != std::string_view::npos;
      if (is_lost && has_version_of_http(lost += block)) return all.push_back("HTTP"), all;
      if (block.size() < 224) break;
      input.remove_prefix(block.size());
      continue;
    }
    input.remove_prefix(cr + 2);
    jobs::put job;
    const std::string_view line = block.substr(0, cr);
    const bool is_whole = lost.empty();
    const std::string text = std::exchange(lost, std::string()).append(line).append("\r");
    const event what = is_whole ? parse_line(line, max_body, job) : bad_format();
    const bool is_wrong = std::holds_alternative<unknown_command>(what) || std::holds_alternative<bad_format>(what);
    if (is_wrong && has_version_of_http(text)) return all.push_back("HTTP"), all;
    all.push_back(event_text::of(what));
    const auto* const begun = std::get_if<put_line>(&what);
    if (begun == nullptr) continue;
    if (input.size() < begun->size + 2) break;
    const std::size_t body = begun->size - begun->fields - begun->history;
    const auto fields = jobs::job_fields::parse(input.substr(body, begun->fields));
    const auto history = jobs::job_fields::parse(input.substr(body + begun->fields, begun->history));
    job.body = input.substr(0, begun->too_big ? 0 : body);
    job.fields = fields.value_or(jobs::job_fields());
    job.history = history.value_or(jobs::job_fields());
    const bool right = input.substr(begun->size, 2) == "\r\n";
    input.remove_prefix(begun->size + 2);
    all.push_back(begun->too_big        ? "JOB_TOO_BIG"
                  : !right              ? "EXPECTED_CRLF"
                  : !fields || !history ? "BAD_FORMAT"
                                        : event_text::of(put{job}));
  }
  return all;
}

}  // namespace foliot::program::beanstalk
