#include "generations_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "generations.hpp"
#include "text_cells.hpp"

namespace foliot::program::bench {

namespace {

using writer = std::back_insert_iterator<std::string>;

constexpr std::size_t line_width = 124;
constexpr std::size_t name_width = 16;
constexpr std::size_t years_width = 13;
constexpr std::size_t cell_width = 8;  // or more, if a figure is longer
constexpr std::size_t gap = 2;         // between two groups of columns

struct cell {
  double figure = 0;
  std::optional<double> half_range{};  ///< percent; nothing of a percentile
};

/// One figure of every contestant.
struct column {
  std::string head{};
  std::vector<std::optional<cell>> cells{};  ///< one for each contestant

  [[nodiscard]] std::size_t width() const {
    std::size_t widest = cell_width;
    for (const auto& each : cells) {
      if (each) widest = std::max(widest, characters(figure(each->figure)) + 1);
    }
    return widest;
  }
};

/// The columns of one workload, beside each other.
struct column_group {
  std::string title{};
  std::string subtitle{};
  std::vector<column> columns{};

  [[nodiscard]] std::size_t width() const {
    std::size_t sum = 0;
    for (const column& each : columns) sum += each.width();
    return std::max({sum, characters(title) + 1, characters(subtitle) + 1});
  }
};

/// The contestants of the story: those of the generations in their order, then the others in theirs.
std::vector<std::string_view> cast_of(const results& all) {
  std::vector<std::string_view> cast;
  const auto takes_part = [&all](std::string_view who) {
    return std::ranges::any_of(
        all.records, [who](const record& each) { return each.contestant == who && is_of_generations(each.what); });
  };
  for (const generation& each : generations) {
    if (takes_part(each.contestant)) cast.push_back(each.contestant);
  }
  for (const participant& each : all.contestants) {
    if (generation_of(each.name) == nullptr && takes_part(each.name)) cast.emplace_back(each.name);
  }
  return cast;
}

/// The values of a part of these records, sorted, each once.
template <class Value>
std::vector<Value> values_of(const std::vector<const record*>& records, Value record::* part) {
  std::vector<Value> values;
  for (const record* each : records) values.push_back(each->*part);
  std::ranges::sort(values);
  const auto [begin, end] = std::ranges::unique(values);
  values.erase(begin, end);
  return values;
}

class story {
 public:
  explicit story(const results& all) : all_(all), cast_(cast_of(all)) {
    for (const workload what : all_workloads) {
      if (is_of_generations(what)) add_groups_of(what);
    }
  }

  void write(writer out) const {
    for (auto first = groups_.begin(); first != groups_.end();) {
      auto last = first;
      std::size_t width = name_width + years_width;
      do width += gap + last->width();
      while (++last != groups_.end() && width + gap + last->width() <= line_width);
      write_band({first, last}, out);
      first = last;
    }
  }

  [[nodiscard]] const std::vector<std::string_view>& cast() const noexcept { return cast_; }
  [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }

 private:
  void add_groups_of(workload what) {
    std::vector<const record*> records;
    for (const record& each : all_.records) {
      if (each.what == what) records.push_back(&each);
    }
    if (records.empty()) return;
    switch (kind_of(what)) {
      case figure_kind::threads:
        for (const std::size_t timers : values_of(records, &record::timers)) {
          column_group& group = add_group(fmt::format("{}, ns", name(what)), fmt::format("{} timers", grouped(timers)));
          add_columns_by_threads(group, records, timers, 1);
        }
        break;
      case figure_kind::processors: {
        const std::size_t slash = std::min(name(what).find('/'), name(what).size());
        const std::string_view variant = name(what).substr(std::min(slash + 1, name(what).size()));
        column_group& group = add_group(fmt::format("{}, µs", name(what).substr(0, slash)), std::string(variant));
        add_columns_by_threads(group, records, records.front()->timers, 1e-3);
        break;
      }
      case figure_kind::lateness: {
        column_group& group = add_group(fmt::format("{}, µs", name(what)), {});
        add_column(group, "p50", records,
                   [](const record& each) { return cell{each.calls->p50 * 1e-3, half_range(each.cost)}; });
        add_column(group, "p99", records, [](const record& each) { return cell{each.calls->p99 * 1e-3, {}}; });
        break;
      }
      default: {
        column_group& group = add_group(fmt::format("{}, /s", name(what)), {});
        add_column(group, "", records,
                   [](const record& each) { return cell{each.cost.median, half_range(each.cost)}; });
      }
    }
  }

  column_group& add_group(std::string title, std::string subtitle) {
    return groups_.emplace_back(column_group{std::move(title), std::move(subtitle), {}});
  }

  void add_columns_by_threads(column_group& group, const std::vector<const record*>& records, std::size_t timers,
                              double scale) {
    for (const int threads : values_of(records, &record::threads)) {
      std::vector<const record*> here;
      std::ranges::copy_if(records, std::back_inserter(here), [timers, threads](const record* each) {
        return each->timers == timers && each->threads == threads;
      });
      add_column(group, std::to_string(threads), here,
                 [scale](const record& each) { return cell{each.cost.median * scale, half_range(each.cost)}; });
    }
  }

  template <class CellOf>
  void add_column(column_group& to, std::string head, const std::vector<const record*>& records, CellOf cell_of) {
    column made{std::move(head), {}};
    for (const std::string_view who : cast_) {
      const auto found = std::ranges::find(records, who, [](const record* each) { return each->contestant; });
      made.cells.push_back(found == records.end() ? std::nullopt : std::optional<cell>(cell_of(**found)));
    }
    to.columns.push_back(std::move(made));
  }

  /// Some groups beside each other, with a line for each contestant that has a figure in them.
  void write_band(std::span<const column_group> groups, writer out) const {
    const auto head = [&](std::string_view label, auto text_of) {
      std::string line = left(label, name_width + years_width);
      for (const column_group& each : groups) line += std::string(gap, ' ') + left(text_of(each), each.width());
      write_line(line, out);
    };
    fmt::format_to(out, "\n");
    head("", [](const column_group& each) { return " " + each.title; });
    if (std::ranges::any_of(groups, [](const column_group& each) { return !each.subtitle.empty(); }))
      head("", [](const column_group& each) { return " " + each.subtitle; });
    head("", [](const column_group& each) { return cells_of(each, [](const column& one) { return one.head; }); });
    for (std::size_t row = 0; row < cast_.size(); ++row) {
      const auto is_there = [row](const column_group& each) {
        return std::ranges::any_of(each.columns, [row](const column& one) { return one.cells[row].has_value(); });
      };
      if (std::ranges::none_of(groups, is_there)) continue;
      const generation* const known = generation_of(cast_[row]);
      const std::string label = left(cast_[row], name_width) + (known == nullptr ? "" : std::string(known->years));
      head(label, [row](const column_group& each) {
        return cells_of(each,
                        [row](const column& one) { return one.cells[row] ? figure(one.cells[row]->figure) : ""; });
      });
    }
    head("widest spread", [](const column_group& each) { return cells_of(each, widest_spread); });
  }

  template <class TextOf>
  static std::string cells_of(const column_group& group, TextOf text_of) {
    std::string line;
    for (const column& each : group.columns) line += right(text_of(each), each.width());
    return line;
  }

  static std::string widest_spread(const column& of) {
    std::optional<double> widest;
    for (const auto& each : of.cells) {
      if (each && each->half_range) widest = std::max(widest.value_or(0), *each->half_range);
    }
    return widest ? percent_text(*widest) : "";
  }

  static void write_line(std::string_view line, writer out) {
    fmt::format_to(out, "{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }

  const results& all_;
  std::vector<std::string_view> cast_;
  std::vector<column_group> groups_;
};

/// Families have one title.
void legend(const results& all, writer out) {
  std::string_view told;
  for (const workload what : all_workloads) {
    const bool measured = std::ranges::any_of(all.records, [what](const record& each) { return each.what == what; });
    const std::string_view family = name(what).substr(0, name(what).find('/'));
    if (!measured || !is_of_generations(what) || family == told) continue;
    told = family;
    fmt::format_to(out, "{}: {}", family, title(what));
    if (kind_of(what) == figure_kind::threads) {
      fmt::format_to(out, "; for each {}, all threads together", operation_of(what));
    }
    if (kind_of(what) == figure_kind::processors) {
      fmt::format_to(out, "; the average, with so many processors; in the line of foliot its runtime's");
    }
    fmt::format_to(out, "\n");
  }
}

/// With fewer cores than threads these do not contend as the column says.
void warn_of_cores(const results& all, writer out) {
  const auto cores = std::ranges::find(all.machine, "cores", &std::pair<std::string, std::string>::first);
  if (cores == all.machine.end()) return;
  int count = 0;
  const std::string& text = cores->second;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc()) return;
  int most = 0;
  for (const record& each : all.records) most = std::max(most, each.threads);
  if (most <= count) return;
  fmt::format_to(out, "This machine has {} core{}: more threads than that take turns on them, and contend less.\n",
                 count, count == 1 ? "" : "s");
}

}  // namespace

std::string generations_text(const results& all) {
  const story told(all);
  if (told.empty()) return {};
  std::string text = "\nThe generations of timers, with as many threads or processors as stand above a column\n";
  const writer out = std::back_inserter(text);
  told.write(out);
  fmt::format_to(out, "\n");
  legend(all, out);
  fmt::format_to(out, "widest spread: of a column, half the range of the repetitions\n");
  warn_of_cores(all, out);
  fmt::format_to(out, "\n");
  for (const std::string_view who : told.cast()) {
    if (const generation* const each = generation_of(who)) {
      fmt::format_to(out, "{}{}: {}\n", left(who, name_width), each->original, each->step);
    }
  }
  return text;
}

}  // namespace foliot::program::bench
