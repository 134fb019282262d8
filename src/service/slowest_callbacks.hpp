// The slowest callbacks so far: of each line that arms timers, and of each name, the slowest one.
//
// Thread safety: none; a plain value. Complexity: O(1); it has room for a few.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/service/statistics.hpp>

#include "core/place_text.hpp"
#include "shared_name.hpp"

namespace foliot::detail {

class slowest_callbacks {
 public:
  struct one {
    duration took{};
    std::source_location armed_at{};
    shared_name name{};
  };

  /// Whether add() would keep a callback of this length, unless it keeps a slower one of its kind.
  [[nodiscard]] bool takes(duration took) const noexcept { return size_ < all_.size() || took > all_[size_ - 1].took; }

  void add(const one& added) noexcept {
    const auto end = all_.begin() + static_cast<std::ptrdiff_t>(size_);
    auto at = std::find_if(all_.begin(), end, [&](const one& each) { return is_same_kind(each, added); });
    if (at == end) {
      if (size_ < all_.size()) {
        ++size_;
      } else if (--at; at->took >= added.took) {
        return;
      }
    } else if (at->took >= added.took) {
      return;
    }
    *at = added;
    for (; at != all_.begin() && (at - 1)->took < at->took; --at) std::iter_swap(at - 1, at);
  }
  void add(const slowest_callbacks& others) noexcept {
    for (std::size_t i = 0; i < others.size_; ++i) add(others.all_[i]);
  }

  /// The slowest first.
  [[nodiscard]] std::vector<slowest_callback> in_words() const {
    std::vector<slowest_callback> words;
    for (std::size_t i = 0; i < size_; ++i) {
      const one& each = all_[i];
      words.push_back({.took = each.took,
                       .name = each.name != nullptr ? *each.name : std::string(),
                       .armed_at = place_text(each.armed_at)});
    }
    return words;
  }

 private:
  static bool is_same_kind(const one& a, const one& b) noexcept {
    const auto text = [](const one& each) {
      return each.name != nullptr ? std::string_view(*each.name) : std::string_view();
    };
    return a.armed_at.line() == b.armed_at.line() &&
           std::string_view(a.armed_at.file_name()) == b.armed_at.file_name() && text(a) == text(b);
  }

  // The slowest first; the first `size_` are used.
  std::array<one, most_slowest_callbacks> all_{};
  std::size_t size_ = 0;
};

}  // namespace foliot::detail
