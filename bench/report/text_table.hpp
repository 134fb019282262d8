// Figures as the tables of the text show them, and a table: labels on the left, and groups of columns beside each
// other.
//
//   text_table costs("timers", {"foliot", "libuv"}, 16);
//   costs.put("libuv", "1,000", {{9, "52.5"}});
//   text += costs.text();
//
// Thread safety: none, one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/record.hpp"
#include "grouped.hpp"

namespace foliot::program::bench {

/// Three figures that count: 3.21, 32.1, 321, 3,210.
[[nodiscard]] inline std::string figure(double number) {
  if (number < 10) return fmt::format("{:.2f}", number);
  if (number < 100) return fmt::format("{:.1f}", number);
  return grouped(static_cast<std::uint64_t>(number + 0.5));
}
[[nodiscard]] inline std::string ratio_text(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.2f}x", *ratio) : "";
}

/// Half the range of the repetitions, in percent of their median.
[[nodiscard]] inline double half_range(const spread& cost) noexcept {
  return cost.median > 0 ? 50 * (cost.max - cost.min) / cost.median : 0;
}
[[nodiscard]] inline std::string percent_text(double percent) { return fmt::format("±{:.0f}%", percent); }

/// How many characters the text has: fmt counts ± and µ as one each too, but not in every locale.
[[nodiscard]] inline std::size_t characters(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) { return (byte & 0xc0) != 0x80; }));
}

/// Padded to this many characters, on the left or on the right.
[[nodiscard]] inline std::string right(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, characters(text)), ' ') + std::string(text);
}
[[nodiscard]] inline std::string left(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, characters(text)), ' ');
}

/// A head and cells, one for each label, right-aligned in a column that has room for the widest of them and a space.
struct column {
  std::string head{};
  std::size_t width = 0;  ///< at least
  std::vector<std::string> cells{};

  [[nodiscard]] std::size_t full_width() const {
    std::size_t widest = std::max(width, head.empty() ? 0 : characters(head) + 1);
    for (const std::string& each : cells) widest = std::max(widest, characters(each) + 1);
    return widest;
  }
};

/// Columns under common titles, which may be empty.
struct column_group {
  std::string title{};
  std::string subtitle{};
  std::vector<column> columns{};

  [[nodiscard]] std::size_t full_width() const {
    std::size_t sum = 0;
    for (const column& each : columns) sum += each.full_width();
    return std::max({sum, title.empty() ? 0 : characters(title) + 1, subtitle.empty() ? 0 : characters(subtitle) + 1});
  }
};

class text_table {
 public:
  /// `corner` stands above the labels, which get `label_width`, or more if one is longer. Between two groups is a gap;
  /// groups that are too many for a line go on below.
  text_table(std::string corner, std::vector<std::string> labels, std::size_t label_width, std::size_t gap = 0,
             std::size_t line_width = SIZE_MAX)
      : corner_(std::move(corner)),
        labels_(std::move(labels)),
        label_width_(label_width),
        gap_(gap),
        line_width_(line_width) {
    for (const std::string& each : labels_) label_width_ = std::max(label_width_, characters(each));
  }

  void add(column_group group) { groups_.push_back(std::move(group)); }

  /// The cells of a row, each with the width of its column, in the group of columns under this head, which is made at
  /// the end if there is none.
  void put(std::size_t row, std::string_view head, const std::vector<std::pair<std::size_t, std::string>>& cells) {
    auto group = std::ranges::find(groups_, head, [](const column_group& each) { return each.columns.front().head; });
    if (group == groups_.end()) {
      groups_.emplace_back();
      group = groups_.end() - 1;
      for (const auto& [width, text] : cells) {
        group->columns.push_back({.width = width, .cells = std::vector<std::string>(labels_.size())});
      }
      group->columns.front().head = head;
    }
    for (std::size_t i = 0; i < cells.size(); ++i) group->columns[i].cells[row] = cells[i].second;
  }
  /// The same, of the row with this label.
  void put(std::string_view label, std::string_view head,
           const std::vector<std::pair<std::size_t, std::string>>& cells) {
    put(static_cast<std::size_t>(std::ranges::find(labels_, label) - labels_.begin()), head, cells);
  }
  [[nodiscard]] const std::vector<std::string>& labels() const noexcept { return labels_; }

  /// A line of heads, after those of titles where a group has some, and one for each label with a cell; `between`
  /// stands above what goes on below.
  [[nodiscard]] std::string text(std::string_view between = {}) const {
    std::string all;
    for (auto first = groups_.begin(); first != groups_.end();) {
      auto last = first;
      std::size_t width = label_width_;
      do width += gap_ + last->full_width();
      while (++last != groups_.end() && width + gap_ + last->full_width() <= line_width_);
      all += between;
      add_band({first, last}, all);
      first = last;
    }
    return all;
  }

 private:
  using band = std::vector<column_group>;

  void add_band(const band& groups, std::string& to) const {
    const auto add_line = [&](std::string_view label, auto text_of) {
      std::string line = left(label, label_width_);
      for (const column_group& each : groups) line += std::string(gap_, ' ') + left(text_of(each), each.full_width());
      to += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    };
    const auto cells_of = [](const column_group& group, auto text_of) {
      std::string line;
      for (const column& each : group.columns) line += right(text_of(each), each.full_width());
      return line;
    };
    const auto has = [&groups](std::string column_group::* title) {
      return std::ranges::any_of(groups, [title](const column_group& each) { return !(each.*title).empty(); });
    };
    for (const auto title : {&column_group::title, &column_group::subtitle}) {
      if (has(title)) add_line("", [title](const column_group& each) { return " " + each.*title; });
    }
    add_line(corner_,
             [&](const column_group& each) { return cells_of(each, [](const column& one) { return one.head; }); });
    for (std::size_t row = 0; row < labels_.size(); ++row) {
      const auto is_there = [row](const column_group& each) {
        return std::ranges::any_of(each.columns, [row](const column& one) { return !one.cells[row].empty(); });
      };
      if (std::ranges::none_of(groups, is_there)) continue;
      add_line(labels_[row], [&](const column_group& each) {
        return cells_of(each, [row](const column& one) { return one.cells[row]; });
      });
    }
  }

  std::string corner_;
  std::vector<std::string> labels_;
  std::size_t label_width_;
  std::size_t gap_;
  std::size_t line_width_;
  std::vector<column_group> groups_;
};

}  // namespace foliot::program::bench
