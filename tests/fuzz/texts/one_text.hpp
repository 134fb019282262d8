// One input of the fuzzer of texts that clients and operators write: its first letter says what its rest is.
//
//   j  JSON: the server takes what a model takes, and what it writes of the value it reads again
//   v  the value of a request: in the query, in the body and in a field it is the same value, or refused
//   t  the target of a request: what is read is read again from another way to write it, and has no `.` and `..`
//   f  a file of access tokens: what is read is read again from what is written of it, entries are added and removed
//      without a change of the others, and each mistake has its line, in printable characters
//   i  an Idempotency-Key: a model reads the same text, and its bare and its quoted form are the same key
//   k  an access token that is made of the bytes, and what it is with one wrong character
//
// Aborts at the first thing that is not so.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <iostream>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json_model.hpp"
#include "server/access/access_token.hpp"
#include "server/access/token_file.hpp"
#include "server/http/front_check.hpp"
#include "server/http/idempotency.hpp"
#include "server/http/inputs.hpp"
#include "server/http/json.hpp"
#include "server/http/request_access.hpp"
#include "server/http/target.hpp"
#include "server/http/times.hpp"
#include "text/printable.hpp"

namespace foliot::program {

inline void expect(bool is_so, std::string_view what) {
  if (is_so) return;
  std::cerr << "not so: " << what << '\n' << std::flush;
  std::abort();
}

/// What is fuzzed. A canary has one of these functions with a flaw.
struct sound_parsers {
  static auto json(std::string_view text) { return http::parse_json(text); }
  static auto target(std::string_view text) { return http::parse_target(text); }
  static auto tokens(std::string_view text) { return parse_tokens("f", text); }
  static auto token(std::string_view text) { return access_token::parse(text); }
  static auto key(std::string_view text) { return http::parse_idempotency_key(text); }
  static std::optional<std::uint64_t> number(http::inputs& in) { return in.number("v", 0, 1'000'000); }
};

// JSON.

template <class Parsers>
void run_json(std::string_view text) {
  http::json_model model(text);
  const bool is_json = model.is_json();
  const auto read = Parsers::json(text);
  expect(read.has_value() == is_json, "the parser takes the JSON that the model takes");
  if (!read) {
    expect(!read.error().detail.empty() && read.error().place == http::where::body, "what is wrong is named");
    return;
  }
  const http::json& value = read->root();
  if (value.is_text()) expect(value.text() == model.only_string(), "a string has its characters");
  const std::string written = http::json_text(value);
  expect(written == nlohmann::json::parse(text).dump(), "a value is written as nlohmann writes it");
  expect(http::json_text(http::ordered(value)) == written, "its copy is the same value");
  const auto again = Parsers::json(written);
  expect(again && http::json_text(again->root()) == written, "what is written of a value is the value");
}

// The values of a request.

inline std::string percent_encoded(std::string_view text) {
  std::string all;
  for (const char c : text) all += fmt::format("%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return all;
}

/// What a function makes of a value: its text, or that it is refused.
template <class Read>
std::string outcome(http::inputs in, Read read) {
  try {
    return read(in);
  } catch (const http::wrong_input& wrong) {
    expect(wrong.why().status == 400 && !wrong.why().detail.empty(), "a refusal says what is wrong");
    expect(wrong.why().name.contains('v'), "a refusal names the value");
    return "refused";
  }
}

template <class Parsers, class Read>
void run_value(std::string_view value, Read read) {
  const http::request nothing;
  const http::json no_body;
  const std::vector<http::parameter> no_query;
  const std::string by_path = outcome(http::inputs({{"v", std::string(value)}}, no_query, no_body, nothing), read);
  if (!value.contains('\0')) {
    const auto asked = Parsers::target("/?v=" + percent_encoded(value));
    expect(asked && asked->query.size() == 1, "each value has a form in the query");
    expect(outcome(http::inputs({}, asked->query, no_body, nothing), read) == by_path, "the query has the same value");
  }
  if (http::is_utf8(value)) {
    const auto body = http::parse_json(http::json_text(http::ordered_json{{"v", std::string(value)}}));
    expect(body && outcome(http::inputs({}, no_query, body->root(), nothing), read) == by_path,
           "the body has the same value");
  }
  http::request with_field;
  with_field.fields.push_back({"foliot-v", std::string(value)});
  expect(outcome(http::inputs({}, no_query, no_body, with_field), read) == by_path, "a field has the same value");
}

/// A whole number within the bounds, digit by digit.
inline std::string number_by_model(std::string_view text) {
  std::uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return "refused";
    number = std::min<std::uint64_t>(number * 10 + static_cast<std::uint64_t>(c - '0'), 10'000'000);
  }
  return text.empty() || number > 1'000'000 ? "refused" : std::to_string(number);
}

template <class Parsers>
void run_values(std::string_view value) {
  run_value<Parsers>(value, [](http::inputs& in) { return in.text("v").value_or("none"); });
  run_value<Parsers>(value, [value](http::inputs& in) {
    std::string read;
    try {
      read = std::to_string(Parsers::number(in).value_or(0));
    } catch (const http::wrong_input&) {
      read = "refused";
    }
    expect(read == number_by_model(value), "a number is what the model reads");
    return read;
  });
  run_value<Parsers>(value, [](http::inputs& in) {
    const auto length = in.length("v").value_or(jobs::milliseconds(-1));
    expect(length >= jobs::milliseconds(0), "a length of time is not negative");
    return std::to_string(length.count());
  });
  run_value<Parsers>(value, [](http::inputs& in) { return in.flag("v").value_or(false) ? "true" : "false"; });
  run_value<Parsers>(value, [](http::inputs& in) {
    const auto time = in.time("v").value_or(jobs::utc_time());
    const std::string text = http::time_text(time);
    expect(http::parse_time(text) == time, "a time that is written is read");
    return text;
  });
  if (const auto plain = http::from_base64(value)) {
    expect(http::base64(*plain) == value, "base64 has one form");
  }
  expect(http::from_base64(http::base64(value)) == std::string(value), "base64 keeps all bytes");
}

// The target of a request.

template <class Parsers>
void run_target(std::string_view text) {
  const bool is_visible = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  if (!is_visible || (text != "*" && !text.starts_with('/'))) return;  // the head of the request is refused before
  const auto read = Parsers::target(text);
  if (!read) {
    expect(read.error().status == 400 && !read.error().detail.empty(), "a refusal says what is wrong");
    return;
  }
  for (const std::string& each : read->path) expect(each != "." && each != "..", "no part of a path leads elsewhere");
  if (text == "*") return;
  std::string again;
  for (const std::string& each : read->path) again += "/" + percent_encoded(each);
  if (read->path.empty()) again = "/";
  char separator = '?';
  for (const http::parameter& each : read->query) {
    again += separator + percent_encoded(each.name) + "=" + percent_encoded(each.value);
    separator = '&';
  }
  const auto same = Parsers::target(again);
  expect(same && *same == *read, "another form of a target is the same target");
}

// The file of access tokens.

inline bool is_same(const access_entry& one, const access_entry& other) {
  const rights& first = *one.given;
  const rights& second = *other.given;
  return one.what == other.what && first.id() == second.id() && first.name() == second.name() &&
         first.scopes() == second.scopes() && first.prefixes() == second.prefixes() && first.ends() == second.ends() &&
         first.proof() == second.proof();
}

inline bool are_same(const std::vector<access_entry>& some, const std::vector<access_entry>& others) {
  return std::ranges::equal(some, others, is_same);
}

template <class Parsers>
void run_file(std::string_view text) {
  const read_tokens read = Parsers::tokens(text);
  for (const std::string& each : read.mistakes) {
    expect(each.starts_with("f:") && each.size() > 4, "a mistake has its line");
    expect(printable(each) == each, "what is told of a mistake is printable");
  }
  if (!read.mistakes.empty()) return expect(read.entries.empty(), "a file with a mistake has no entry");
  std::string written;
  for (const access_entry& each : read.entries) {
    expect(each.first_line > 0 && each.first_line <= each.last_line, "an entry has its lines");
    written = with_entry(std::move(written), each);
  }
  const read_tokens again = Parsers::tokens(written);
  expect(again.mistakes.empty() && are_same(again.entries, read.entries), "what is written of a file is the file");
  for (std::size_t i = 0; i < read.entries.size(); ++i) {
    std::vector<access_entry> others = read.entries;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const read_tokens left = Parsers::tokens(without_entry(text, read.entries[i]));
    expect(left.mistakes.empty() && are_same(left.entries, others), "without an entry the others stay");
  }
}

// Idempotency keys.

/// The text of a field, character by character; nothing if it is no key.
inline std::optional<std::string> key_by_model(std::string_view value) {
  enum class state : std::uint8_t { begin, bare, quoted, escaped, ended } now = state::begin;
  std::string text;
  for (const char c : value) {
    if (now == state::ended || c <= ' ' || c >= '\x7f') return std::nullopt;
    if (now == state::begin) {
      now = c == '"' ? state::quoted : state::bare;
      if (now == state::bare) text += c;
    } else if (now == state::bare) {
      text += c;
    } else if (now == state::escaped) {
      if (c != '"' && c != '\\') return std::nullopt;
      text += c;
      now = state::quoted;
    } else if (c == '"') {
      now = state::ended;
    } else if (c == '\\') {
      now = state::escaped;
    } else {
      text += c;
    }
  }
  const bool is_whole = now == state::bare || now == state::ended;
  if (!is_whole || text.empty() || text.size() > http::longest_idempotency_key) return std::nullopt;
  return text;
}

template <class Parsers>
void run_key(std::string_view value) {
  const std::optional<std::string> key = Parsers::key(value);
  expect(key == key_by_model(value), "a key is what the model reads");
  if (!key) return;
  std::string quoted = "\"";
  for (const char c : *key) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  expect(Parsers::key(quoted + "\"") == key, "the quoted form of a key is the same key");
  if (!key->starts_with('"')) expect(Parsers::key(*key) == key, "the bare form of a key is the same key");
}

// Access tokens.

template <class Parsers>
void run_token(std::string_view bytes) {
  static_cast<void>(Parsers::token(bytes));
  if (const auto shown = http::bearer_in(bytes)) {
    expect(bytes.ends_with(*shown) && !shown->starts_with(' '), "what Bearer shows is the end of the value");
  }
  const auto byte = [bytes](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
  std::array<std::byte, access_token::secret_bytes> secret{};
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::byte>(byte(i));
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string id;
  for (std::size_t i = 0; i < access_token::id_length; ++i) id += letters[byte(32 + i) % letters.size()];
  const std::string text = access_token::make(id, secret);
  const auto read = Parsers::token(text);
  expect(read && read->id() == id, "a token that is made is read");
  expect(http::bearer_in("Bearer " + text) == std::string_view(text), "Bearer shows the token");
  std::string wrong = text;
  wrong[byte(40) % wrong.size()] = static_cast<char>(byte(41));
  expect(Parsers::token(wrong).has_value() == (wrong == text), "a wrong character is found");
  wrong = text;
  const std::size_t first = byte(42) % (wrong.size() - 1);
  std::swap(wrong[first], wrong[first + 1]);
  expect(Parsers::token(wrong).has_value() == (wrong == text), "two characters that are exchanged are found");
  expect(!Parsers::token(text + static_cast<char>(byte(43))).has_value(), "a token has no end of its own");
}

/// Runs one input.
template <class Parsers>
void run_one_text(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view text = all.substr(1);
  switch (all.front()) {
    case 'j': return run_json<Parsers>(text);
    case 'v': return run_values<Parsers>(text);
    case 't': return run_target<Parsers>(text);
    case 'f': return run_file<Parsers>(text);
    case 'i': return run_key<Parsers>(text);
    case 'k': return run_token<Parsers>(text);
    default: return;
  }
}

}  // namespace foliot::program
