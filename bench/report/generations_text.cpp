#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/bench_options.hpp"
#include "bench/generations.hpp"
#include "report.hpp"
#include "text_table.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::size_t line_width = 128;
constexpr std::size_t name_width = 16;  // at least
constexpr std::size_t years_width = 13;
constexpr std::size_t cell_width = 8;

struct cell {
  double figure = 0;
  std::optional<double> half_range{};  ///< percent; nothing of a percentile
};

/// The contestants of the story: the generations in the order of their years, then the others in the order of the
/// results.
std::vector<std::string> cast_of(const results& all) {
  std::vector<std::string> cast;
  const auto takes_part = [&all](std::string_view name) {
    return std::ranges::any_of(
        all.records, [name](const record& each) { return each.contestant == name && is_of_generations(each.what); });
  };
  for (const generation& each : generations) {
    if (takes_part(each.contestant)) cast.emplace_back(each.contestant);
  }
  for (const participant& each : all.contestants) {
    if (generation_of(each.name) == nullptr && takes_part(each.name)) cast.push_back(each.name);
  }
  return cast;
}

/// How wide the column of names is: longer names make it wider.
std::size_t width_of_names(const std::vector<std::string>& cast) {
  std::size_t width = name_width;
  for (const std::string& each : cast) width = std::max(width, characters(each) + 1);
  return width;
}

/// A label for each contestant, with its years, and one for the spread.
std::vector<std::string> labels_of(const std::vector<std::string>& cast) {
  std::vector<std::string> labels;
  const std::size_t width = width_of_names(cast);
  for (const std::string& each : cast) {
    const generation* const known = generation_of(each);
    labels.push_back(left(each, width) + (known == nullptr ? "" : std::string(known->years)));
  }
  labels.emplace_back("widest spread");
  return labels;
}

using records_of_one = std::vector<const record*>;

records_of_one records_where(const results& all, auto wanted) {
  records_of_one found;
  for (const record& each : all.records) {
    if (wanted(each)) found.push_back(&each);
  }
  return found;
}

/// The values of a part of these records, sorted.
template <class Value>
std::set<Value> values_of(const records_of_one& records, Value record::* part) {
  std::set<Value> values;
  for (const record* each : records) values.insert(each->*part);
  return values;
}

auto scaled(double factor) {
  return [factor](const record& each) { return cell{each.cost.median * factor, half_range(each.cost)}; };
}

class story {
 public:
  explicit story(const results& all)
      : all_(all),
        cast_(cast_of(all)),
        table_("", labels_of(cast_), width_of_names(cast_) + years_width, 2, line_width) {
    for (const workload what : all_workloads) {
      const records_of_one records = records_where(all, [what](const record& each) { return each.what == what; });
      if (is_of_generations(what) && !records.empty()) add_groups_of(what, records);
    }
  }

  [[nodiscard]] std::string table() const { return table_.text("\n"); }
  [[nodiscard]] const std::vector<std::string>& cast() const noexcept { return cast_; }

 private:
  void add_groups_of(workload what, const records_of_one& records) {
    switch (kind_of(what)) {
      case figure_kind::threads:
        for (const std::size_t timers : values_of(records, &record::timers)) {
          add_by_threads(fmt::format("{}, ns", name(what)), fmt::format("{} timers", grouped(timers)), what, timers, 1);
        }
        break;
      case figure_kind::processors:
        add_by_threads(fmt::format("{}, µs", family_of(what)), std::string(variant_of(what)), what,
                       records.front()->timers, 1e-3);
        break;
      case figure_kind::lateness: {
        const auto p50 = [](const record& each) { return cell{each.calls->p50 * 1e-3, half_range(each.cost)}; };
        const auto p99 = [](const record& each) { return cell{each.calls->p99 * 1e-3, {}}; };
        table_.add({.title = fmt::format("{}, µs", name(what)),
                    .columns = {make_column("p50", records, p50), make_column("p99", records, p99)}});
        break;
      }
      default:
        table_.add({.title = fmt::format("{}, /s", name(what)), .columns = {make_column("", records, scaled(1))}});
    }
  }

  void add_by_threads(std::string title, std::string subtitle, workload what, std::size_t timers, double factor) {
    column_group group{std::move(title), std::move(subtitle), {}};
    const auto is_here = [=](const record& each) { return each.what == what && each.timers == timers; };
    for (const int threads : values_of(records_where(all_, is_here), &record::threads)) {
      const records_of_one here =
          records_where(all_, [&](const record& each) { return is_here(each) && each.threads == threads; });
      group.columns.push_back(make_column(std::to_string(threads), here, scaled(factor)));
    }
    table_.add(std::move(group));
  }

  /// A cell for each of the cast, empty where it has no record, and the widest spread.
  [[nodiscard]] column make_column(std::string head, const records_of_one& records, auto content) const {
    column made{.head = std::move(head), .width = cell_width};
    std::optional<double> widest;
    for (const std::string& name : cast_) {
      const auto found = std::ranges::find(records, name, &record::contestant);
      made.cells.emplace_back();
      if (found == records.end()) continue;
      const cell each = content(**found);
      made.cells.back() = figure(each.figure);
      if (each.half_range) widest = std::max(widest.value_or(0), *each.half_range);
    }
    made.cells.push_back(widest ? percent_text(*widest) : "");
    return made;
  }

  const results& all_;
  std::vector<std::string> cast_;
  text_table table_;
};

/// A line on each group of columns; one for all workloads of a family.
std::string legend(const results& all) {
  std::string text;
  std::string_view last;
  for (const workload what : all_workloads) {
    const bool measured = std::ranges::any_of(all.records, [what](const record& each) { return each.what == what; });
    if (!measured || !is_of_generations(what) || family_of(what) == last) continue;
    last = family_of(what);
    text += fmt::format("{}: {}", last, about(what).title);
    if (kind_of(what) == figure_kind::threads) {
      text += fmt::format("; for each {}, all threads together", about(what).operation);
    }
    if (kind_of(what) == figure_kind::processors) {
      text += "; the average, with so many processors; in the line of foliot its runtime's";
    }
    text += '\n';
  }
  return text + "widest spread: of a column, half the range of the repetitions\n";
}

/// Threads that are more than the cores do not contend as the column says.
std::string warning_of_cores(const results& all) {
  const auto cores = std::ranges::find(all.machine, "cores", &machine_facts::value_type::first);
  const int count = cores == all.machine.end() ? most_threads : std::atoi(cores->second.c_str());
  if (std::ranges::all_of(all.records, [count](const record& each) { return each.threads <= count; })) return {};
  return fmt::format("This machine has {} core{}: more threads than that take turns on them, and contend less.\n",
                     count, count == 1 ? "" : "s");
}

}  // namespace

std::string generations_text(const results& all) {
  const story told(all);
  if (told.cast().empty()) return {};
  std::string text = "\nThe generations of timers, with as many threads or processors as stand above a column\n";
  text += told.table() + "\n" + legend(all) + warning_of_cores(all) + "\n";
  const std::size_t width = width_of_names(told.cast());
  for (const std::string& name : told.cast()) {
    if (const generation* const each = generation_of(name)) {
      text += fmt::format("{}{}: {}\n", left(name, width), each->original, each->step);
    }
  }
  return text;
}

}  // namespace foliot::program::bench
