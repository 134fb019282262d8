// What is JSON by the rules of the server, read a second time and in another way: an oracle for its fuzzer. Of
// the limits on the depth and on the number of values it knows that on the depth alone.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace foliot::program::http {

class json_model {
 public:
  explicit json_model(std::string_view text) : text_(text) {}

  /// Whether the text is one value.
  [[nodiscard]] bool is_json() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // the mark of an encoding, which may be ignored
    return value(0) && (blanks(), at_ == text_.size());
  }
  /// The text where the value is a string.
  [[nodiscard]] const std::optional<std::string>& only_string() const noexcept { return only_string_; }

 private:
  static constexpr std::size_t deepest = 32;
  static constexpr std::string_view largest = "9007199254740991";  // 2^53 - 1

  [[nodiscard]] int next() const noexcept { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : -1; }
  bool take(char c) noexcept {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) noexcept {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void blanks() noexcept {
    while (take(' ') || take('\t') || take('\n') || take('\r')) {
    }
  }
  std::size_t digits() noexcept {
    const std::size_t begin = at_;
    while (next() >= '0' && next() <= '9') ++at_;
    return at_ - begin;
  }

  bool value(std::size_t depth) {
    blanks();
    switch (next()) {
      case '{': return depth < deepest && object(depth);
      case '[': return depth < deepest && array(depth);
      case '"': {
        std::optional<std::string> read = string();
        if (depth == 0) only_string_ = read;
        return read.has_value();
      }
      case 't': return take_word("true");
      case 'f': return take_word("false");
      case 'n': return take_word("null");
      default: return number();
    }
  }
  bool array(std::size_t depth) {
    take('[');
    blanks();
    if (take(']')) return true;
    do {
      if (!value(depth + 1)) return false;
      blanks();
    } while (take(','));
    return take(']');
  }
  bool object(std::size_t depth) {
    take('{');
    blanks();
    if (take('}')) return true;
    std::set<std::string> names;
    do {
      blanks();
      if (next() != '"') return false;
      const std::optional<std::string> name = string();
      blanks();
      if (!name || !names.insert(*name).second || !take(':') || !value(depth + 1)) return false;
      blanks();
    } while (take(','));
    return take('}');
  }
  bool number() {
    const std::size_t begin = at_;
    take('-');
    const std::size_t whole_begin = at_;
    if (!take('0') && digits() == 0) return false;
    const std::string_view whole = text_.substr(whole_begin, at_ - whole_begin);
    bool is_whole = true;
    if (take('.')) {
      is_whole = false;
      if (digits() == 0) return false;
    }
    if (take('e') || take('E')) {
      is_whole = false;
      if (!take('+')) take('-');
      if (digits() == 0) return false;
    }
    if (is_whole) return whole.size() < largest.size() || (whole.size() == largest.size() && whole <= largest);
    return std::isfinite(std::strtod(std::string(text_.substr(begin, at_ - begin)).c_str(), nullptr));
  }

  std::optional<std::string> string() {
    take('"');
    std::string plain;
    while (!take('"')) {
      if (take('\\')) {
        if (!escape(plain)) return std::nullopt;
      } else if (!character(plain)) {
        return std::nullopt;
      }
    }
    return plain;
  }
  bool escape(std::string& plain) {
    static constexpr std::string_view letters = "\"\\/bfnrt";
    static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    if (take('u')) {
      const std::optional<std::uint32_t> first = four_digits();
      if (!first || (*first >= 0xdc00 && *first <= 0xdfff)) return false;
      if (*first < 0xd800 || *first > 0xdbff) return append(plain, *first);
      if (!take_word("\\u")) return false;
      const std::optional<std::uint32_t> second = four_digits();
      if (!second || *second < 0xdc00 || *second > 0xdfff) return false;
      return append(plain, 0x10000 + ((*first - 0xd800) << 10U) + (*second - 0xdc00));
    }
    const std::size_t which = next() < 0 ? std::string_view::npos : letters.find(static_cast<char>(next()));
    if (which == std::string_view::npos) return false;
    ++at_;
    plain += meanings[which];
    return true;
  }
  std::optional<std::uint32_t> four_digits() {
    std::uint32_t number = 0;
    for (int i = 0; i < 4; ++i) {
      const int c = next();
      const bool is_letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!is_letter && (c < '0' || c > '9')) return std::nullopt;
      number = number * 16 + static_cast<std::uint32_t>(is_letter ? (c & ~0x20) - 'A' + 10 : c - '0');
      ++at_;
    }
    return number;
  }
  /// A character of UTF-8, by its number: no longer form than needed, no surrogate, none beyond 10FFFF.
  bool character(std::string& plain) {
    const int first = next();
    if (first < 0x20) return false;
    const std::size_t begin = at_++;
    std::uint32_t number = static_cast<std::uint32_t>(first);
    const int more = first < 0x80 ? 0 : first < 0xc0 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf8 ? 3 : -1;
    if (more < 0) return false;
    if (more > 0) number &= 0x3fU >> static_cast<unsigned>(more);
    for (int i = 0; i < more; ++i, ++at_) {
      if (next() < 0x80 || next() > 0xbf) return false;
      number = number << 6U | (static_cast<std::uint32_t>(next()) & 0x3fU);
    }
    constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (number < least[more] || number > 0x10ffff || (number >= 0xd800 && number <= 0xdfff)) return false;
    plain += text_.substr(begin, at_ - begin);
    return true;
  }
  static bool append(std::string& plain, std::uint32_t number) {
    const auto tail = [&](unsigned shift) { plain += static_cast<char>(0x80U | (number >> shift & 0x3fU)); };
    if (number < 0x80) {
      plain += static_cast<char>(number);
    } else if (number < 0x800) {
      plain += static_cast<char>(0xc0U | number >> 6U);
      tail(0);
    } else if (number < 0x10000) {
      plain += static_cast<char>(0xe0U | number >> 12U);
      tail(6);
      tail(0);
    } else {
      plain += static_cast<char>(0xf0U | number >> 18U);
      tail(12);
      tail(6);
      tail(0);
    }
    return true;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string> only_string_;
};

}  // namespace foliot::program::http
