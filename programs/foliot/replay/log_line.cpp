#include "log_line.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include "../load_word.hpp"

namespace foliot::program {

namespace {

constexpr std::size_t none = std::string_view::npos;

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string_view without_trailing_space(std::string_view line) noexcept {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.remove_suffix(1);
  return line;
}

/// The index of the first space or control character; the size if there is none. Examines eight bytes at a time, since
/// every line has a client.
std::size_t end_of_field(std::string_view line) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101;
  std::size_t at = 0;
  for (; at + 8 <= line.size(); at += 8) {
    const auto word = detail::load_word<std::uint64_t>(line.data() + at);
    // The top bit of a byte is set where that is below 0x21; above the first such byte borrows may set others.
    const std::uint64_t found = (word - ones * 0x21) & ~word & (ones * 0x80);
    if (found != 0) return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
  }
  while (at < line.size() && static_cast<unsigned char>(line[at]) > ' ') ++at;
  return at;
}

/// The end of ` status size` that begins at `at`, or none.
std::size_t status_and_size_end(std::string_view line, std::size_t at) noexcept {
  const auto take = [&](char wanted) {
    const bool there = at < line.size() && line[at] == wanted;
    if (there) ++at;
    return there;
  };
  const auto take_digits = [&] {
    const std::size_t begin = at;
    while (at < line.size() && is_digit(line[at])) ++at;
    return at - begin;
  };
  if (!take(' ')) return none;
  if (!take('-') && take_digits() != 3) return none;
  if (!take(' ')) return none;
  if (!take('-') && take_digits() == 0) return none;
  return at == line.size() || line[at] == ' ' ? at : none;
}

/// The error in the line after its time, if any. `request` is where the request's text
/// begins. It is taken to end at the first quote that makes sense of the rest.
std::optional<malformed> check_rest(std::string_view line, std::size_t request) noexcept {
  malformed reason = malformed::no_status;
  for (std::size_t quote = line.find('"', request); quote != none; quote = line.find('"', quote + 1)) {
    const std::size_t end = status_and_size_end(line, quote + 1);
    if (end == none) continue;
    // Where the quoted fields end does not matter: quotes may be inside them, and the line may be cut off there.
    if (end == line.size() || line.compare(end, 2, " \"") == 0) return std::nullopt;
    reason = malformed::no_quoted_field;
  }
  return reason;
}

}  // namespace

std::string_view to_text(malformed reason) noexcept {
  switch (reason) {
    case malformed::empty: return "it is empty";
    case malformed::too_long: return "longer than 65536 bytes";
    case malformed::no_client: return "it begins with a space instead of a client";
    case malformed::control_character: return "a control character in the client";
    case malformed::no_ident: return "the client is not followed by an identity and a user, each at least -";
    case malformed::no_user: return "no user between the second field and the time";
    case malformed::no_time: return "no time in brackets, as [02/Mar/2026:13:45:07 +0100]";
    case malformed::impossible_time: return "a time that does not exist, or not as [02/Mar/2026:13:45:07 +0100]";
    case malformed::no_request: return "no request in quotes after the time";
    case malformed::no_status: return "no status and size after the request in quotes";
    case malformed::no_quoted_field: return "the text after the size is not a referer in quotes";
  }
  return "not in the format";
}

std::expected<log_request, malformed> log_parser::parse(std::string_view line) noexcept {
  line = without_trailing_space(line);
  if (line.empty()) return std::unexpected(malformed::empty);
  const std::size_t client_end = end_of_field(line);
  if (client_end == line.size()) return std::unexpected(malformed::no_ident);
  if (line[client_end] != ' ') return std::unexpected(malformed::control_character);
  if (client_end == 0) return std::unexpected(malformed::no_client);

  const std::size_t ident_end = line.find(' ', client_end + 1);
  if (ident_end == none || ident_end == client_end + 1) return std::unexpected(malformed::no_ident);

  const auto found = find_time(line, ident_end + 1);
  if (!found) return std::unexpected(found.error());
  if (line.compare(found->end, 2, " \"") != 0) return std::unexpected(malformed::no_request);
  if (const auto reason = check_rest(line, found->end + 2)) return std::unexpected(*reason);
  return log_request{line.substr(0, client_end), found->time};
}

std::expected<log_parser::found_time, malformed> log_parser::find_time(std::string_view line,
                                                                       std::size_t user) noexcept {
  const std::string_view rest = line.substr(user);
  malformed reason = rest.starts_with('[') || rest.starts_with(" [") ? malformed::no_user : malformed::no_time;
  // The user has at least one character. Its name may contain " [", so every occurrence is tried.
  for (std::size_t space = line.find(" [", user + 1); space != none; space = line.find(" [", space + 1)) {
    const std::size_t text = space + 2;
    const std::size_t bracket = text + log_time_length;
    instant time;
    if (bracket < line.size() && line[bracket] == ']' && read_time(line.substr(text, log_time_length), time)) {
      return found_time{time, bracket + 1};
    }
    reason = malformed::impossible_time;
  }
  return std::unexpected(reason);
}

bool log_parser::read_time(std::string_view text, instant& time) noexcept {
  if (std::memcmp(text.data(), last_text_, log_time_length) != 0) {
    const auto read = parse_log_time(text);
    if (!read) return false;
    std::memcpy(last_text_, text.data(), log_time_length);
    last_time_ = *read;
  }
  time = last_time_;
  return true;
}

}  // namespace foliot::program
