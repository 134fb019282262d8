// Reads an object of JSON that a user has written, member by member: what is wrong is named by a JSON pointer, with
// what would be right; a member that there is not, with the nearest one that there is.
//
//   object_reader in(value, "/delay", "`delay`");
//   const auto factor = in.fraction("factor", 1, 100);
//   in.expect_no_others();
//
// Each call throws wrong_member. A member that is null is none, unless a call says otherwise.
//
// Thread safety: none, one task. O(members) for each call.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <foliot/core/duration.hpp>

#include "json.hpp"
#include "text/nearest.hpp"

namespace foliot::program::http {

/// A value is wrong: ends the reading.
class wrong_member : public std::exception {
 public:
  wrong_member(std::string pointer, std::string detail) : pointer_(std::move(pointer)), detail_(std::move(detail)) {}

  /// To the value, such as `/rules/0`; empty: the whole.
  [[nodiscard]] std::string& pointer() noexcept { return pointer_; }
  /// What is wrong, and what would be right: a sentence without its full stop.
  [[nodiscard]] std::string& detail() noexcept { return detail_; }
  [[nodiscard]] const char* what() const noexcept override { return detail_.c_str(); }

 private:
  std::string pointer_;
  std::string detail_;
};

/// "`a`, `b` or `c`".
[[nodiscard]] std::string listed_words(std::span<const std::string_view> words);

class object_reader {
 public:
  /// `what`: the value, for the message where it is none. Precondition: `of` outlives it.
  object_reader(const json& of, std::string pointer, std::string_view what);

  [[nodiscard]] std::string pointer_to(std::string_view name) const { return pointer_ + "/" + pointer_name(name); }
  [[noreturn]] void refuse(std::string_view name, std::string detail) const {
    throw wrong_member(pointer_to(name), std::move(detail));
  }

  /// The member, which need not be there.
  [[nodiscard]] const json* find(std::string_view name);
  /// The member, where null is a value.
  [[nodiscard]] const json* find_any(std::string_view name);
  [[nodiscard]] std::optional<std::string_view> text(std::string_view name, std::string_view such_as);
  [[nodiscard]] std::optional<bool> flag(std::string_view name);
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name, std::uint64_t least, std::uint64_t most);
  /// A number that need not be whole.
  [[nodiscard]] std::optional<double> fraction(std::string_view name, double least, double most);
  /// The place of a text among these.
  template <std::size_t Count>
  [[nodiscard]] std::optional<std::size_t> choice(std::string_view name,
                                                  const std::array<std::string_view, Count>& names) {
    const json* const found = find(name);
    if (found == nullptr) return std::nullopt;
    const auto place = found->is_text() ? std::ranges::find(names, found->text()) : names.end();
    if (place != names.end()) return static_cast<std::size_t>(place - names.begin());
    std::string detail = fmt::format("`{}` must be {}", name, listed_words(names));
    if (found->is_text()) {
      const auto near = nearest(found->text(), {names.begin(), names.end()});
      if (near) detail += fmt::format(", not '{}': did you mean `{}`?", found->text(), *near);
    }
    refuse(name, std::move(detail));
  }
  /// A length of time: a text, or a number of seconds. Rounded up to `Unit`.
  template <class Unit>
  [[nodiscard]] std::optional<Unit> length(std::string_view name, Unit least, Unit most) {
    const json* const found = find(name);
    if (found == nullptr) return std::nullopt;
    return length_of<Unit>(*found, pointer_to(name), name, least, most);
  }
  /// The same of a value that was found. `pointer` and `name`: for the message.
  template <class Unit>
  [[nodiscard]] static Unit length_of(const json& value, std::string pointer, std::string_view name, Unit least,
                                      Unit most) {
    const std::optional<duration> read = read_length(value, pointer, name);
    if (read) {
      const auto made = std::chrono::ceil<Unit>(read->to_chrono());
      if (made >= least && made <= most) return made;
    }
    throw wrong_member(std::move(pointer), fmt::format("`{}` must be from {} to {}", name, to_string(duration(least)),
                                                       to_string(duration(most))));
  }

  /// Throws if there is a member that nobody has asked for.
  void expect_no_others() const;

 private:
  /// Nothing: it is longer than a duration.
  static std::optional<duration> read_length(const json& value, const std::string& pointer, std::string_view name);

  const json& object_;
  std::string pointer_;
  std::vector<std::string> asked_;
};

}  // namespace foliot::program::http
