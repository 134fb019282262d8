// The canaries of the fuzzer of texts, one for each of its oracles. FOLIOT_FLAW names the flaw, which no input of the
// corpus shows; each run must end with it. It takes inputs of one kind alone.
#include "one_text.hpp"

namespace foliot::program::flaws {

/// Takes a zero byte for the end of the text, as the library does.
struct json_up_to_zero : sound_parsers {
  static constexpr char kind = 'j';
  static auto json(std::string_view text) { return http::parse_json(text.substr(0, text.find('\0'))); }
};

/// Looks for `.` and `..` before it decodes.
struct dots_that_are_encoded : sound_parsers {
  static constexpr char kind = 't';
  static std::expected<http::target, http::problem> target(std::string_view text) {
    auto read = http::parse_target(text);
    if (read || !(text.contains("/%2e") || text.contains("/%2E"))) return read;
    return http::target{{"."}, {}};
  }
};

/// Takes a full stop behind a number.
struct number_with_a_tail : sound_parsers {
  static constexpr char kind = 'v';
  static std::optional<std::uint64_t> number(http::inputs& in) {
    const std::string text = in.text("v").value_or("");
    const std::size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
    if (size == 0 || size > 6 || text.substr(size) != ".") return in.number("v", 0, 1'000'000);
    return std::stoull(text.substr(0, size));
  }
};

/// Tells the first line as it is where there is a mistake.
struct lines_as_they_are : sound_parsers {
  static constexpr char kind = 'f';
  static read_tokens tokens(std::string_view text) {
    read_tokens read = parse_tokens("f", text);
    if (!read.mistakes.empty()) read.mistakes.front() += text.substr(0, text.find('\n'));
    return read;
  }
};

/// Does not look at the last digit of the checksum.
struct short_checksum : sound_parsers {
  static constexpr char kind = 'k';
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
  static constexpr char kind = 'i';
  static std::optional<std::string> key(std::string_view text) {
    return http::parse_idempotency_key(
        text.substr(0, text.find("\";") == text.npos ? text.npos : text.find("\";") + 1));
  }
};

}  // namespace foliot::program::flaws

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using flawed = foliot::program::flaws::FOLIOT_FLAW;
  if (size == 0 || data[0] != flawed::kind) return -1;
  foliot::program::run_one_text<flawed>({data, size});
  return 0;
}
