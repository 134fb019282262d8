#include "log_line.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include <arpa/inet.h>

#include "text_hash.hpp"

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
inline std::size_t end_of_field(std::string_view line) noexcept {
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

/// Whether these two characters stand at `at`. Precondition: at <= line.size().
bool has_pair_at(std::string_view line, std::size_t at, const char (&pair)[3]) noexcept {
  return line.size() - at >= 2 && line[at] == pair[0] && line[at + 1] == pair[1];
}

std::string_view without_mark(std::string_view line) noexcept {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  return line;
}

/// A client, and the index of the space that follows its field.
struct found_client {
  std::string_view name;
  std::size_t end;
};

/// The end of the field that begins at `at`, which a space follows. It may be empty.
std::expected<std::size_t, malformed> find_space(std::string_view line, std::size_t at) noexcept {
  const std::size_t end = at + end_of_field(line.substr(at));
  if (end == line.size()) return std::unexpected(malformed::no_ident);
  if (line[end] != ' ') return std::unexpected(malformed::control_character);
  return end;
}

/// The leftmost address of the list that begins at `at`. Its first field ends at `end`; a comma at the end of a field
/// says that another one follows.
std::expected<found_client, malformed> read_list(std::string_view line, std::size_t at, std::size_t end) noexcept {
  while (line[end - 1] == ',') {
    const auto next = find_space(line, end + 1);
    if (!next) return std::unexpected(next.error());
    if (*next == end + 1) return std::unexpected(malformed::empty_address);
    end = *next;
  }
  const std::string_view list = line.substr(at, end - at);
  if (list.starts_with(',') || list.find(",,") != none || list.find(" ,") != none) {
    return std::unexpected(malformed::empty_address);
  }
  return found_client{list.substr(0, list.find(',')), end};
}

/// The client whose field begins at `at`.
std::expected<found_client, malformed> read_client(std::string_view line, std::size_t at) noexcept {
  const auto end = find_space(line, at);
  if (!end) return std::unexpected(end.error());
  const std::string_view name = line.substr(at, *end - at);
  if (name.empty()) return std::unexpected(malformed::no_client);
  if (name.find(',') != none) return read_list(line, at, *end);
  return found_client{name, *end};
}

bool is_address(std::string_view text) noexcept {
  char copy[INET6_ADDRSTRLEN] = {};
  if (text.size() >= sizeof copy) return false;
  text.copy(copy, text.size());
  in6_addr address{};
  return ::inet_pton(AF_INET, copy, &address) == 1 || ::inet_pton(AF_INET6, copy, &address) == 1;
}

/// Whether these can be what follows a client, and not the fields of another format.
bool are_ident_and_user(std::string_view ident, std::string_view user) noexcept {
  if (user.find(' ') != none && user.size() > 1) {
    return ident == "-" && !user.starts_with("- ") && !user.ends_with(" -");
  }
  return ident == "-" || (ident.find(',') == none && !is_address(ident));
}

/// Whether the line begins with a virtual host as Apache's %v:%p writes it: example.org:443, [::1]:80.
bool begins_with_host_and_port(std::string_view line) noexcept {
  const std::string_view field = line.substr(0, end_of_field(line));
  const std::size_t colon = field.rfind(':');
  if (colon == none || colon == 0) return false;
  const std::string_view host = field.substr(0, colon);
  const std::string_view port = field.substr(colon + 1);
  const bool in_brackets = host.starts_with('[') && host.ends_with(']');
  return !port.empty() && port.size() <= 5 && std::ranges::all_of(port, is_digit) &&
         (in_brackets || host.find(':') == none);
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
std::optional<malformed> check_rest(std::string_view line, std::size_t request, log_format format) noexcept {
  malformed reason = malformed::no_status;
  for (std::size_t quote = line.find('"', request); quote != none; quote = line.find('"', quote + 1)) {
    const std::size_t end = status_and_size_end(line, quote + 1);
    if (end == none) continue;
    // Where the quoted fields end does not matter: quotes may be inside them, and the line may be cut off there.
    const bool ends = end == line.size();
    if (!ends && format == log_format::common) {
      reason = malformed::after_the_size;
    } else if (ends ? format != log_format::combined : has_pair_at(line, end, " \"")) {
      return std::nullopt;
    } else {
      reason = malformed::no_quoted_field;
    }
  }
  return reason;
}

}  // namespace

std::optional<log_format> log_format_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(log_format_names, name);
  if (found == log_format_names.end()) return std::nullopt;
  return static_cast<log_format>(found - log_format_names.begin());
}

std::string_view to_text(malformed reason) noexcept {
  switch (reason) {
    case malformed::empty: return "it is empty";
    case malformed::too_long: return "longer than 65536 bytes";
    case malformed::no_host: return "no virtual host in front of the client";
    case malformed::no_client: return "no client where one belongs";
    case malformed::empty_address: return "a list of forwarded addresses, one of which is empty";
    case malformed::control_character: return "a control character in the client";
    case malformed::no_ident: return "the client is not followed by an identity and a user, each at least -";
    case malformed::no_user: return "no user between the identity and the time";
    case malformed::other_fields: return "other fields before the time than a client, an identity and a user";
    case malformed::no_time: return "no time in brackets, as [02/Mar/2026:13:45:07 +0100]";
    case malformed::impossible_time: return "a time that does not exist, or not as [02/Mar/2026:13:45:07 +0100]";
    case malformed::no_request: return "no request in quotes after the time";
    case malformed::no_status: return "no status and size after the request in quotes";
    case malformed::no_quoted_field: return "no referer in quotes after the size";
    case malformed::after_the_size: return "text after the size, where the common format ends";
  }
  return "not in the format";
}

inline std::optional<log_parser::fields> log_parser::read_usual_fields(std::string_view line) noexcept {
  const std::size_t end = end_of_field(line);
  const std::size_t user = end + 3;
  if (end == 0 || user >= line.size() || format_ == log_format::vhost_combined) return std::nullopt;
  if (line[end] != ' ' || line[end + 1] != '-' || line[end + 2] != ' ') return std::nullopt;
  if (std::memchr(line.data(), ',', end) != nullptr) return std::nullopt;
  const auto time = find_time(line, user);
  if (!time) return std::nullopt;
  if (time->begin > user + 1 && line.substr(user, time->begin - user).find(' ') != none) return std::nullopt;
  return fields{std::string_view(line.data(), end), time->time, time->end};
}

std::expected<log_request, malformed> log_parser::parse(std::string_view line) noexcept {
  line = without_mark(without_trailing_space(line));
  if (line.empty()) return std::unexpected(malformed::empty);
  std::optional<fields> found = read_usual_fields(line);
  if (!found) [[unlikely]] {
    const auto other = read_fields(line);
    if (!other) return std::unexpected(other.error());
    found = *other;
  }
  if (!has_pair_at(line, found->end, " \"")) return std::unexpected(malformed::no_request);
  if (const auto reason = check_rest(line, found->end + 2, format_)) return std::unexpected(*reason);
  return log_request{found->client, found->time};
}

std::expected<log_parser::fields, malformed> log_parser::read_fields(std::string_view line) noexcept {
  if (format_ == log_format::vhost_combined) return read_fields_behind_host(line);
  auto found = read_fields_from(line, 0);
  // A client may have its port, too, so only the fields that follow tell a virtual host from one.
  if (!found && found.error() == malformed::other_fields && format_ == log_format::any &&
      begins_with_host_and_port(line)) {
    return read_fields_behind_host(line);
  }
  return found;
}

std::expected<log_parser::fields, malformed> log_parser::read_fields_behind_host(std::string_view line) noexcept {
  const auto end = find_space(line, 0);
  if (!end) return std::unexpected(end.error());
  if (*end == 0 || line[*end - 1] == ',') return std::unexpected(malformed::no_host);
  if (line.substr(*end).starts_with(" - ")) return std::unexpected(malformed::no_client);
  return read_fields_from(line, *end + 1);
}

std::expected<log_parser::fields, malformed> log_parser::read_fields_from(std::string_view line,
                                                                          std::size_t client) noexcept {
  const auto found = read_client(line, client);
  if (!found) return std::unexpected(found.error());
  const std::size_t ident = found->end + 1;
  const std::size_t ident_end = line.find(' ', ident);
  if (ident_end == none || ident_end == ident) return std::unexpected(malformed::no_ident);
  const std::size_t user = ident_end + 1;
  const auto time = find_time(line, user);
  if (!time) return std::unexpected(time.error());
  const std::string_view identity = line.substr(ident, ident_end - ident);
  const bool are_usual = are_ident_and_user(identity, line.substr(user, time->begin - user));
  // Behind what may be a virtual host, a word may be the client.
  if (!are_usual || (identity != "-" && begins_with_host_and_port(line.substr(client)))) {
    return std::unexpected(malformed::other_fields);
  }
  return fields{found->name, time->time, time->end};
}

std::expected<log_parser::found_time, malformed> log_parser::find_time(std::string_view line,
                                                                       std::size_t user) noexcept {
  bool has_bracket = false;
  // The user has at least one character. Its name may contain " [", so every occurrence is tried.
  for (std::size_t space = line.find(" [", user + 1); space != none; space = line.find(" [", space + 1)) {
    const std::size_t text = space + 2;
    const std::size_t bracket = text + log_time_length;
    instant time;
    if (bracket < line.size() && line[bracket] == ']' &&
        read_time(std::string_view(line.data() + text, log_time_length), time)) {
      return found_time{time, space, bracket + 1};
    }
    has_bracket = true;
  }
  if (has_bracket) return std::unexpected(malformed::impossible_time);
  const std::string_view rest = line.substr(user);
  return std::unexpected(rest.starts_with('[') || rest.starts_with(" [") ? malformed::no_user : malformed::no_time);
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
