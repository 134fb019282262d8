#include "json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace foliot::program::http {

namespace {

/// A number of JSON as whole digits without zeros at their ends, and a power of ten.
struct decimal {
  bool is_negative = false;
  std::string digits;  // empty: zero
  std::int64_t power = 0;

  friend bool operator==(const decimal&, const decimal&) = default;
};

/// Nothing if the power of ten has too many digits.
std::optional<decimal> decimal_of(std::string_view text) {
  decimal read;
  read.is_negative = text.starts_with('-');
  if (read.is_negative) text.remove_prefix(1);
  const std::string_view mantissa = text.substr(0, text.find_first_of("eE"));
  text.remove_prefix(std::min(mantissa.size() + 1, text.size()));
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 10) return std::nullopt;
  std::from_chars(text.data(), text.data() + text.size(), read.power);
  bool has_point = false;
  for (const char c : mantissa) {
    if (c == '.') {
      has_point = true;
      continue;
    }
    if (has_point) --read.power;
    if (c != '0' || !read.digits.empty()) read.digits += c;
  }
  while (read.digits.ends_with('0')) {
    read.digits.pop_back();
    ++read.power;
  }
  if (read.digits.empty()) read.power = 0;
  return read;
}

bool is_same_number(std::string_view one, std::string_view other) {
  const std::optional<decimal> first = decimal_of(one);
  return first && first == decimal_of(other);
}

/// Builds the value, and stops at the first thing that is wrong. The functions are those that nlohmann's parser calls.
class builder {
 public:
  explicit builder(const json_limits& limits) : limits_(limits) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return value >= -largest_whole_number ? add(value) : refuse_number(); }
  bool number_unsigned(std::uint64_t value) {
    return value <= static_cast<std::uint64_t>(largest_whole_number) ? add(value) : refuse_number();
  }
  /// Also for whole numbers beyond 64 bits, whose text says what they are.
  bool number_float(double value, const std::string& text) {
    if (text.find_first_of(".eE") == std::string::npos) return refuse_number();
    // Programs write the shortest digits that a value has; this server has written others, which say the same.
    const auto is = [&text](std::string_view shown) { return is_same_number(text, shown); };
    if (!limits_.exact_fractions || is(fmt::format("{}", value)) || is(json(value).dump())) return add(value);
    return refuse("the fraction has more digits than a value keeps", pointer());
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return begin(json::object()); }
  bool end_object() { return end(); }
  bool start_array(std::size_t) { return begin(json::array()); }
  bool end_array() { return end(); }
  bool key(std::string& name) {
    name_ = std::move(name);
    if (!open_.back()->contains(name_)) return true;
    return refuse("the member comes twice", pointer() + "/" + pointer_name(name_));
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& error) {
    return refuse(fmt::format("the body is not JSON at byte {}: {}", at, error.what()), pointer());
  }

  [[nodiscard]] std::expected<json, problem> result(bool is_read) && {
    if (is_read) return std::move(root_);
    return std::unexpected(std::move(wrong_));
  }

 private:
  /// Of the innermost array or object.
  [[nodiscard]] std::string pointer() const {
    std::string all;
    for (std::size_t i = 1; i < open_.size(); ++i) all += "/" + path_[i];
    return all;
  }
  bool refuse(std::string detail, std::string at) {
    if (wrong_.detail.empty()) wrong_ = {400, std::move(detail), where::body, std::move(at)};
    return false;
  }
  bool refuse_number() {
    return refuse("a whole number must be within 2^53 - 1: send a larger one as a string",
                  open_.empty() ? std::string() : pointer() + "/" + next_name());
  }
  [[nodiscard]] std::string next_name() const {
    return open_.back()->is_array() ? std::to_string(open_.back()->size()) : pointer_name(name_);
  }

  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& in = *open_.back();
    if (in.is_object()) return &(in[name_] = std::move(value));
    in.push_back(std::move(value));
    return &in.back();
  }
  bool count() {
    return ++values_ <= limits_.values || refuse(fmt::format("the body has over {} values", limits_.values), pointer());
  }
  bool add(json value) {
    if (!count()) return false;
    place(std::move(value));
    return true;
  }
  bool begin(json value) {
    if (!count()) return false;
    if (open_.size() == limits_.depth) {
      return refuse(fmt::format("arrays and objects must not be nested over {} deep", limits_.depth), pointer());
    }
    path_.push_back(open_.empty() ? std::string() : next_name());
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool end() {
    open_.pop_back();
    path_.pop_back();
    return true;
  }

  const json_limits limits_;
  json root_;
  std::vector<json*> open_;  // from the outermost to the innermost; those of an array do not move while it is open
  std::vector<std::string> path_;  // the name of each of them in the one before
  std::string name_;               // of the member whose value comes
  std::size_t values_ = 0;
  problem wrong_{400, "", where::body, ""};
};

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes of the character at the begin of the text; 0 if it is malformed.
std::size_t size_of_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i, unsigned least = 0x80, unsigned most = 0xbf) {
    return byte(i) >= least && byte(i) <= most;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool is_right = follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && follows(2);
    return is_right ? 3 : 0;
  }
  if (first < 0xf0 || first > 0xf4) return 0;
  const bool is_right =
      follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && follows(2) && follows(3);
  return is_right ? 4 : 0;
}

}  // namespace

std::expected<json, problem> parse_json(std::string_view text, const json_limits& limits) {
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {  // the library would end there
    return std::unexpected(
        problem{400, fmt::format("the body is not JSON at byte {}: a zero byte", zero + 1), where::body, ""});
  }
  builder made(limits);
  const bool is_read = json::sax_parse(text, &made);
  return std::move(made).result(is_read);
}

std::string json_text(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string pointer_name(std::string_view name) {
  std::string all;
  for (const char c : name) {
    if (c == '~') {
      all += "~0";
    } else if (c == '/') {
      all += "~1";
    } else {
      all += c;
    }
  }
  return all;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t size = size_of_character(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < group.size() ? static_cast<unsigned char>(group[j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) text += j <= group.size() ? digits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  std::size_t count = 0;
  for (const char c : text) {
    const std::size_t value = digits.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xffffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(static_cast<unsigned char>(bits >> count & 0xff));
  }
  const std::uint32_t unused = (1U << count) - 1;
  if ((bits & unused) != 0) return std::nullopt;
  return bytes;
}

}  // namespace foliot::program::http
