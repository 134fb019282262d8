#include "json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <new>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>

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

/// A fraction as nlohmann writes it: with a point or an exponent.
std::string fraction_text(double value) { return nlohmann::json(value).dump(); }

/// Longer texts are not read by simdjson, which takes 14 bytes of memory for each of theirs at once.
constexpr std::size_t longest_on_tape = std::size_t{4} << 20;

/// Objects with more members have their names in a set, too.
constexpr std::size_t many_members = 16;

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

/// The size of an escape by its number.
constexpr std::size_t size_of_unit = 6;

/// The number of the escape of four hexadecimal digits with which the text begins; nothing if it begins otherwise.
std::optional<unsigned> escaped_unit(std::string_view text) noexcept {
  if (text.size() < size_of_unit || !text.starts_with("\\u")) return std::nullopt;
  unsigned unit = 0;
  const char* const end = text.data() + size_of_unit;
  const auto read = std::from_chars(text.data() + 2, end, unit, 16);
  return read.ec == std::errc() && read.ptr == end ? std::optional(unit) : std::nullopt;
}

/// Where the first escape is that is half of a surrogate pair; npos: there is none.
std::size_t place_of_lone_surrogate(std::string_view text) noexcept {
  const auto is_within = [](std::optional<unsigned> unit, unsigned least, unsigned most) {
    return unit && *unit >= least && *unit <= most;
  };
  for (std::size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at)) {
    const std::optional<unsigned> unit = escaped_unit(text.substr(at));
    const bool is_first_half = is_within(unit, 0xd800, 0xdbff);
    const bool is_pair = is_first_half && is_within(escaped_unit(text.substr(at + size_of_unit)), 0xdc00, 0xdfff);
    if (!is_pair && is_within(unit, 0xd800, 0xdfff)) return at;
    at += unit ? size_of_unit : 2;
    if (is_pair) at += size_of_unit;
  }
  return std::string_view::npos;
}

/// A place in the text for people. `at` counts the bytes from 1.
std::string shown_place(std::string_view text, std::size_t at) {
  const auto line = 1 + std::ranges::count(text.substr(0, at - 1), '\n');
  return line == 1 ? fmt::format("byte {}", at) : fmt::format("byte {} (line {})", at, line);
}

/// Why a parser reads no further than this byte of the text, counted from 1; one behind the last: it needs more.
std::string why_no_json(std::string_view text, std::size_t at) {
  if (const std::size_t half = place_of_lone_surrogate(text.substr(0, at)); half != std::string_view::npos) {
    return fmt::format("the body is not JSON: the escape at {} is half of a surrogate pair",
                       shown_place(text, half + 1));
  }
  if (at > text.size()) {
    return fmt::format("the body is not JSON: it ends within a value, at {}", shown_place(text, text.size()));
  }
  const char wrong = text[at - 1];
  const bool is_visible = wrong > ' ' && wrong < '\x7f';
  const std::string shown =
      is_visible ? fmt::format("`{}`", wrong) : fmt::format("a byte {:#04x}", static_cast<unsigned char>(wrong));
  return fmt::format("the body is not JSON: {} must not stand at {}", shown, shown_place(text, at));
}

}  // namespace

/// Builds a document, and stops at the first thing that is wrong. Most public functions are those that nlohmann's
/// parser calls.
class json_builder {
 public:
  /// `text`: that is read, which must outlive it.
  json_builder(std::string_view text, const json_limits& limits)
      : source_(text),
        limits_(limits),
        texts_(std::make_unique_for_overwrite<char[]>(text.size() + simdjson::SIMDJSON_PADDING)) {
    values_.reserve(std::min<std::size_t>(text.size() / 16, 64) + 1);
  }

  /// The text, with the padding behind it that simdjson needs. Valid until the first value is built: it lies where the
  /// texts of the values will be.
  [[nodiscard]] const char* padded() noexcept {
    std::ranges::fill_n(std::ranges::copy(source_, texts_.get()).out, simdjson::SIMDJSON_PADDING, '\0');
    return texts_.get();
  }

  bool null() { return add({}); }
  bool boolean(bool value) { return add(of(json::kind::boolean, value ? 1 : 0)); }
  bool number_integer(std::int64_t value) {
    if (value < -largest_whole_number) return refuse_number();
    return add(of(value < 0 ? json::kind::negative : json::kind::number, static_cast<std::uint64_t>(value)));
  }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(largest_whole_number)) return refuse_number();
    return add(of(json::kind::number, value));
  }
  /// Also for whole numbers beyond 64 bits, whose text says what they are.
  bool number_float(double value, const std::string& text) {
    if (text.find_first_of(".eE") == std::string::npos) return refuse_number();
    // Programs write the shortest digits that a value has; this server has written others, which say the same.
    const auto is = [&text](std::string_view shown) { return is_same_number(text, shown); };
    if (!limits_.exact_fractions || is(fmt::format("{}", value)) || is(fraction_text(value))) return fraction(value);
    return refuse("the fraction has more digits than a value keeps", pointer());
  }
  bool fraction(double value) { return add(of(json::kind::fraction, std::bit_cast<std::uint64_t>(value))); }
  bool string(std::string_view value) {
    json made = of(json::kind::text, value.size());
    made.text_ = keep(value).data();
    return add(std::move(made));
  }
  bool binary(const std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return begin(json::kind::object); }
  bool end_object() { return end(); }
  bool start_array(std::size_t) { return begin(json::kind::array); }
  bool end_array() { return end(); }
  bool key(std::string_view name) {
    name_ = keep(name);
    if (!is_there(open_.back())) return true;
    return refuse("the member comes twice", pointer() + "/" + pointer_name(name_));
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& error) {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow) {
      return refuse(
          fmt::format("the number that ends at {} is too large: send it as a string", shown_place(source_, at)),
          pointer());
    }
    return refuse(why_no_json(source_, at), pointer());
  }

  [[nodiscard]] std::expected<json_document, problem> result(bool is_read) && {
    if (!is_read) return std::unexpected(std::move(wrong_));
    json_document made;
    made.values_ = std::move(values_);
    made.texts_ = std::move(texts_);
    return made;
  }

 private:
  /// An array or object whose end has not come.
  struct open_value {
    std::size_t at;                                          // in values_
    std::unique_ptr<std::set<std::string_view>> names = {};  // of an object, once it has many members
  };

  static json of(json::kind what, std::uint64_t number) noexcept {
    json made;
    made.kind_ = what;
    made.number_ = number;
    return made;
  }
  std::string_view keep(std::string_view text) noexcept {
    char* const at = std::ranges::copy(text, texts_.get() + kept_).out - text.size();
    kept_ += text.size();
    return {at, text.size()};
  }

  /// Of the innermost array or object.
  [[nodiscard]] std::string pointer() const {
    std::string all;
    for (std::size_t i = 1; i < open_.size(); ++i) {
      const json& in = values_[open_[i - 1].at];
      all += "/";
      all += in.is_array() ? std::to_string(in.size_ - 1) : pointer_name(values_[open_[i].at].name());
    }
    return all;
  }
  bool refuse(std::string detail, std::string at) {
    if (wrong_.detail.empty()) wrong_ = {400, std::move(detail), where::body, std::move(at)};
    return false;
  }
  bool refuse_number() {
    std::string at;
    if (!open_.empty()) {
      const json& in = values_[open_.back().at];
      at = pointer() + "/" + (in.is_array() ? std::to_string(in.size_) : pointer_name(name_));
    }
    return refuse("a whole number must be within 2^53 - 1: send a larger one as a string", std::move(at));
  }

  /// Whether the object has a member with the name that has come. Each of many names costs O(log(members)).
  bool is_there(open_value& in) {
    const json& object = values_[in.at];
    if (object.size_ < many_members) {
      // Its end is where the next value comes.
      for (std::size_t i = in.at + 1; i < values_.size(); i += values_[i].extent_) {
        if (values_[i].name() == name_) return true;
      }
      return false;
    }
    if (in.names == nullptr) {
      in.names = std::make_unique<std::set<std::string_view>>();
      for (std::size_t i = in.at + 1; i < values_.size(); i += values_[i].extent_) in.names->insert(values_[i].name());
    }
    return !in.names->insert(name_).second;
  }

  bool add(json&& value) {
    if (values_.size() == limits_.values) {
      return refuse(fmt::format("the body has over {} values", limits_.values), pointer());
    }
    if (!open_.empty()) {
      json& in = values_[open_.back().at];
      ++in.size_;
      if (in.is_object()) {
        value.name_ = name_.data();
        value.name_size_ = static_cast<std::uint32_t>(name_.size());
      }
    }
    values_.push_back(std::move(value));
    return true;
  }
  bool begin(json::kind what) {
    if (open_.size() == limits_.depth && values_.size() < limits_.values) {
      return refuse(fmt::format("arrays and objects must not be nested over {} deep", limits_.depth), pointer());
    }
    if (!add(of(what, 0))) return false;
    open_.push_back({values_.size() - 1});
    return true;
  }
  bool end() {
    json& ended = values_[open_.back().at];
    ended.extent_ = static_cast<std::uint32_t>(values_.size() - open_.back().at);
    open_.pop_back();
    return true;
  }

  const std::string_view source_;
  const json_limits limits_;
  std::vector<json> values_;
  std::unique_ptr<char[]> texts_;
  std::size_t kept_ = 0;          // bytes of texts_
  std::vector<open_value> open_;  // from the outermost to the innermost
  std::string_view name_;         // of the member whose value comes
  problem wrong_{400, "", where::body, ""};
};

const json* json::find(std::string_view name) const noexcept {
  if (!is_object()) return nullptr;
  for (const json& each : *this) {
    if (each.name() == name) return &each;
  }
  return nullptr;
}

namespace {

std::vector<const json*> members_by_name(const json& object) {
  std::vector<const json*> all;
  all.reserve(object.size());
  for (const json& each : object) all.push_back(&each);
  std::ranges::sort(all, {}, &json::name);
  return all;
}

void append_value(std::string& to, const json& value) {
  std::string_view between;
  switch (value.what()) {
    case json::kind::null: to += "null"; break;
    case json::kind::boolean: to += value.boolean() ? "true" : "false"; break;
    case json::kind::number: fmt::format_to(std::back_inserter(to), "{}", value.number()); break;
    case json::kind::negative: fmt::format_to(std::back_inserter(to), "{}", value.negative()); break;
    case json::kind::fraction: to += fraction_text(value.fraction()); break;
    case json::kind::text: append_string(to, value.text()); break;
    case json::kind::array:
      to += '[';
      for (const json& each : value) {
        to += std::exchange(between, ",");
        append_value(to, each);
      }
      to += ']';
      break;
    case json::kind::object:
      to += '{';
      for (const json* const each : members_by_name(value)) {
        to += std::exchange(between, ",");
        append_string(to, each->name());
        to += ':';
        append_value(to, *each);
      }
      to += '}';
      break;
  }
}

}  // namespace

namespace {

/// Builds what simdjson has read.
class tape_reader {
 public:
  explicit tape_reader(json_builder& into, const json_limits& limits) noexcept : into_(into), limits_(limits) {}

  /// Whether the builder has taken the value.
  bool add(simdjson::dom::element value) {
    using type = simdjson::dom::element_type;
    switch (value.type()) {
      case type::ARRAY: return add_array(get<simdjson::dom::array>(value));
      case type::OBJECT: return add_object(get<simdjson::dom::object>(value));
      case type::INT64: {
        const auto number = get<std::int64_t>(value);
        return number < 0 ? into_.number_integer(number) : into_.number_unsigned(static_cast<std::uint64_t>(number));
      }
      case type::UINT64: return into_.number_unsigned(get<std::uint64_t>(value));
      case type::DOUBLE:
        needs_digits_ = limits_.exact_fractions;
        return !needs_digits_ && into_.fraction(get<double>(value));
      case type::STRING: return into_.string(get<std::string_view>(value));
      case type::BOOL: return into_.boolean(get<bool>(value));
      case type::NULL_VALUE: break;
    }
    return into_.null();
  }
  /// Whether the value was not taken because the digits of a number are not on the tape.
  [[nodiscard]] bool needs_digits() const noexcept { return needs_digits_; }

 private:
  /// Precondition: the value is of this type.
  template <class Value>
  static Value get(simdjson::dom::element from) noexcept {
    return from.get<Value>().value_unsafe();
  }

  bool add_array(simdjson::dom::array values) {
    if (!into_.start_array(0)) return false;
    for (const simdjson::dom::element each : values) {
      if (!add(each)) return false;
    }
    return into_.end_array();
  }
  bool add_object(simdjson::dom::object members) {
    if (!into_.start_object(0)) return false;
    for (const auto& [name, value] : members) {
      if (!into_.key(name) || !add(value)) return false;
    }
    return into_.end_object();
  }

  json_builder& into_;
  const json_limits& limits_;
  bool needs_digits_ = false;
};

/// What simdjson makes of the text; nothing if the other parser must read it, as it says better what is wrong.
std::optional<std::expected<json_document, problem>> read_tape(std::string_view text, const json_limits& limits) {
  if (text.size() > longest_on_tape) return std::nullopt;
  json_builder made(text, limits);
  simdjson::dom::parser library;
  simdjson::dom::element root;
  // It counts one more than the arrays and objects that are open.
  simdjson::error_code error = library.allocate(text.size(), limits.depth + 2);
  if (!error) error = library.parse(made.padded(), text.size(), false).get(root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error) return std::nullopt;
  tape_reader reading(made, limits);
  const bool is_read = reading.add(root);
  if (reading.needs_digits()) return std::nullopt;
  return std::move(made).result(is_read);
}

}  // namespace

std::expected<json_document, problem> parse_json(std::string_view text, const json_limits& limits) {
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {  // a library would end there
    return std::unexpected(problem{400, why_no_json(text, zero + 1), where::body, ""});
  }
  if (auto read = read_tape(text, limits)) return std::move(*read);
  json_builder made(text, limits);
  const bool is_read = nlohmann::json::sax_parse(text, &made);
  return std::move(made).result(is_read);
}

std::string json_text(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

void append_string(std::string& to, std::string_view text) {
  const auto is_escaped = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; };
  if (std::ranges::any_of(text, is_escaped)) {
    to += nlohmann::json(text).dump();
  } else {
    to.append("\"").append(text).append("\"");
  }
}

std::string json_text(const json& value) {
  std::string all;
  append_value(all, value);
  return all;
}

ordered_json ordered(const json& value) {
  switch (value.what()) {
    case json::kind::null: break;
    case json::kind::boolean: return value.boolean();
    case json::kind::number: return value.number();
    case json::kind::negative: return value.negative();
    case json::kind::fraction: return value.fraction();
    case json::kind::text: return value.text();
    case json::kind::array: {
      ordered_json all = ordered_json::array();
      for (const json& each : value) all.push_back(ordered(each));
      return all;
    }
    case json::kind::object: {
      ordered_json all = ordered_json::object();
      // They have different names: nlohmann would look for each among those before it.
      auto& members = all.get_ref<ordered_json::object_t&>();
      for (const json* const each : members_by_name(value)) members.emplace_back(each->name(), ordered(*each));
      return all;
    }
  }
  return nullptr;
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
