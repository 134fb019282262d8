// JSON as the server takes and gives it.
//
// In: one value in UTF-8, within limits, and nothing that two programs may read differently: no member twice in an
// object, no lone surrogate, no whole number beyond 2^53 - 1, which JavaScript would round. What is wrong is named by a
// JSON pointer.
//
// Thread safety: pure functions. O(length).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "problem.hpp"

namespace foliot::program::http {

/// What is written; its members stay in their order. It begins as `ordered_json::object()` or `array()`: a null value
/// that becomes one when it gets its first member, and finds no memory, says that it is one and has none; its
/// destructor then reads through a null pointer (nlohmann-json 3.11.2).
using ordered_json = nlohmann::ordered_json;

/// A value that was read: a part of its json_document, in which the values of an array or an object lie behind it, in
/// the order of the text. Whole numbers that are not negative are of the kind `number`.
class json {
 public:
  enum class kind : std::uint8_t { null, boolean, number, negative, fraction, text, array, object };

  class iterator;

  constexpr json() noexcept = default;
  json(const json&) = delete;
  json(json&&) noexcept = default;
  json& operator=(const json&) = delete;
  json& operator=(json&&) = delete;
  ~json() = default;

  [[nodiscard]] kind what() const noexcept { return kind_; }
  [[nodiscard]] bool is_boolean() const noexcept { return kind_ == kind::boolean; }
  [[nodiscard]] bool is_number() const noexcept { return kind_ == kind::number; }
  [[nodiscard]] bool is_text() const noexcept { return kind_ == kind::text; }
  [[nodiscard]] bool is_array() const noexcept { return kind_ == kind::array; }
  [[nodiscard]] bool is_object() const noexcept { return kind_ == kind::object; }

  // Precondition of each: the value is of this kind.

  [[nodiscard]] bool boolean() const noexcept { return number_ != 0; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::int64_t negative() const noexcept { return static_cast<std::int64_t>(number_); }
  [[nodiscard]] double fraction() const noexcept { return std::bit_cast<double>(number_); }
  [[nodiscard]] std::string_view text() const noexcept { return {text_, static_cast<std::size_t>(number_)}; }

  /// The values of an array or an object; none of another value.
  [[nodiscard]] iterator begin() const noexcept;
  [[nodiscard]] iterator end() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// The member of an object; null if there is none. O(members).
  [[nodiscard]] const json* find(std::string_view name) const noexcept;
  /// The name of a value that is a member of an object.
  [[nodiscard]] std::string_view name() const noexcept { return {name_, name_size_}; }

 private:
  friend class json_builder;

  const char* name_ = nullptr;  // in the document, and so is text_
  const char* text_ = nullptr;
  std::uint64_t number_ = 0;  // the bits of a number; of a text its size
  std::uint32_t name_size_ = 0;
  std::uint32_t size_ = 0;    // of an array or an object
  std::uint32_t extent_ = 1;  // how many values lie here: this one and all within it
  kind kind_ = kind::null;
};

class json::iterator {
 public:
  using value_type = json;
  using difference_type = std::ptrdiff_t;

  iterator() noexcept = default;
  explicit iterator(const json* at) noexcept : at_(at) {}

  const json& operator*() const noexcept { return *at_; }
  const json* operator->() const noexcept { return at_; }
  iterator& operator++() noexcept {
    at_ += at_->extent_;
    return *this;
  }
  iterator operator++(int) noexcept {
    const iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(iterator, iterator) noexcept = default;

 private:
  const json* at_ = nullptr;
};

inline json::iterator json::begin() const noexcept { return iterator(this + 1); }
inline json::iterator json::end() const noexcept { return iterator(this + extent_); }

/// A text of JSON that was read: its values in one row, and their texts and names in another. Their addresses stay when
/// it is moved.
class json_document {
 public:
  /// Its value is null.
  json_document() noexcept = default;

  [[nodiscard]] const json& root() const noexcept { return values_.empty() ? nothing : values_.front(); }

 private:
  friend class json_builder;

  static constexpr json nothing{};

  std::vector<json> values_;       // each array or object before the values within it
  std::unique_ptr<char[]> texts_;  // no larger than the text that was read: an escape is longer than what it means
};

inline constexpr std::int64_t largest_whole_number = (std::int64_t{1} << 53) - 1;

struct json_limits {
  std::size_t depth = 32;        ///< of arrays and objects in each other
  std::size_t values = 65'536;   ///< in all: each takes 40 bytes, however short its text is
  bool exact_fractions = false;  ///< refuses a fraction that the value would round
};

/// The value, or what is wrong with the text.
[[nodiscard]] std::expected<json_document, problem> parse_json(std::string_view text, const json_limits& limits = {});
/// The text of a value, on one line. Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string json_text(const ordered_json& value);
/// The text of a value that was read, in one form for all that mean the same: on one line, with the members in the
/// order of their names.
[[nodiscard]] std::string json_text(const json& value);
/// Appends a text as a string of JSON. Precondition: it is UTF-8.
void append_string(std::string& to, std::string_view text);
/// The value, with the members in the order of their names.
[[nodiscard]] ordered_json ordered(const json& value);

/// The name of a member as JSON pointers have it.
[[nodiscard]] std::string pointer_name(std::string_view name);

/// Whether the text is UTF-8, without surrogates and longer forms than needed.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
/// The text in base64, with padding.
[[nodiscard]] std::string base64(std::string_view bytes);
/// The bytes of a text in base64; nothing if it is none: a character, the padding or its unused bits are wrong.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace foliot::program::http
