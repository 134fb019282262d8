// The canaries of the fuzzer of texts, one for each of its oracles. FOLIOT_FLAW in the environment names the flaw,
// which no input of the corpus shows; each run must end with it. It takes inputs of one kind alone.
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "one_text.hpp"

namespace foliot::program::flaws {

/// Takes a zero byte for the end of the text, as the library does.
struct json_up_to_zero : sound_parsers {
  static auto json(std::string_view text) { return http::parse_json(text.substr(0, text.find('\0'))); }
};

/// Looks for `.` and `..` before it decodes.
struct dots_that_are_encoded : sound_parsers {
  static std::expected<http::target, http::problem> target(std::string_view text) {
    auto read = http::parse_target(text);
    if (read || !(text.contains("/%2e") || text.contains("/%2E"))) return read;
    return http::target{{"."}, {}};
  }
};

/// Takes a punctuation mark behind a number.
struct number_with_a_tail : sound_parsers {
  static std::optional<std::uint64_t> number(http::inputs& in) {
    const std::string text = in.text("v").value_or("");
    const std::size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
    const bool has_mark = size + 1 == text.size() && std::ispunct(static_cast<unsigned char>(text.back())) != 0;
    if (size == 0 || size > 7 || !has_mark) return in.number("v", 0, 1'000'000);
    return std::stoull(text.substr(0, size));
  }
};

/// Tells the first line as it is where there is a mistake.
struct lines_as_they_are : sound_parsers {
  static read_tokens tokens(std::string_view text) {
    read_tokens read = parse_tokens("f", text);
    if (!read.mistakes.empty()) read.mistakes.front() += text.substr(0, text.find('\n'));
    return read;
  }
};

/// Does not look at the last digit of the checksum.
struct short_checksum : sound_parsers {
  static std::expected<access_token, token_flaw> token(std::string_view text) {
    const auto read = access_token::parse(text);
    if (read || text.size() != access_token::length) return read;
    static const std::string any = access_token::make("aaaaaaaa", std::array<std::byte, access_token::secret_bytes>{});
    std::string other(text);
    for (const char each : std::string_view("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")) {
      other.back() = each;
      if (access_token::parse(other)) return access_token::parse(any);
    }
    return read;
  }
};

/// Takes the parameters that the draft allows behind a quoted string.
struct key_with_a_tail : sound_parsers {
  static std::optional<std::string> key(std::string_view text) {
    return http::parse_idempotency_key(
        text.substr(0, text.find("\";") == text.npos ? text.npos : text.find("\";") + 1));
  }
};

struct canary {
  std::string_view name;
  char kind;
  void (*run)(std::string_view text);
};

constexpr canary canaries[] = {
    {"json_up_to_zero", 'j', run_json<json_up_to_zero>},
    {"dots_that_are_encoded", 't', run_target<dots_that_are_encoded>},
    {"number_with_a_tail", 'v', run_values<number_with_a_tail>},
    {"lines_as_they_are", 'f', run_file<lines_as_they_are>},
    {"key_with_a_tail", 'i', run_key<key_with_a_tail>},
    {"short_checksum", 'k', run_token<short_checksum>},
};

/// Ends the process if the environment names no canary.
const canary& chosen() {
  const char* const wanted = std::getenv("FOLIOT_FLAW");
  for (const canary& each : canaries) {
    if (wanted != nullptr && each.name == wanted) return each;
  }
  std::cerr << "FOLIOT_FLAW names no canary\n";
  std::exit(1);
}

}  // namespace foliot::program::flaws

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const foliot::program::flaws::canary& flawed = foliot::program::flaws::chosen();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (!input.starts_with(flawed.kind)) return -1;
  flawed.run(input.substr(1));
  return 0;
}
