#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "../generations.hpp"
#include "report.hpp"
#include "text_table.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::size_t line_width = 124;
constexpr std::size_t name_width = 16;
constexpr std::size_t years_width = 13;
constexpr std::size_t cell_width = 8;

struct cell {
  double figure = 0;
  std::optional<double> half_range{};  ///< percent; nothing of a percentile
};
using cell_of = std::function<cell(const record&)>;

cell median_of(const record& each) { return {each.cost.median, half_range(each.cost)}; }

/// The contestants of the story: those of the generations in their order, then the others in theirs.
std::vector<std::string> cast_of(const results& all) {
  std::vector<std::string> cast;
  const auto takes_part = [&all](std::string_view who) {
    return std::ranges::any_of(
        all.records, [who](const record& each) { return each.contestant == who && is_of_generations(each.what); });
  };
  for (const generation& each : generations) {
    if (takes_part(each.contestant)) cast.emplace_back(each.contestant);
  }
  for (const participant& each : all.contestants) {
    if (generation_of(each.name) == nullptr && takes_part(each.name)) cast.push_back(each.name);
  }
  return cast;
}

/// A label for each contestant, with its years, and one for the spread.
std::vector<std::string> labels_of(const std::vector<std::string>& cast) {
  std::vector<std::string> labels;
  for (const std::string& each : cast) {
    const generation* const known = generation_of(each);
    labels.push_back(left(each, name_width) + (known == nullptr ? "" : std::string(known->years)));
  }
  labels.emplace_back("widest spread");
  return labels;
}

using records_of_one = std::vector<const record*>;

/// The values of a part of these records, sorted, each once.
template <class Value>
std::vector<Value> values_of(const records_of_one& records, Value record::* part) {
  std::vector<Value> values;
  for (const record* each : records) values.push_back(each->*part);
  std::ranges::sort(values);
  const auto [begin, end] = std::ranges::unique(values);
  values.erase(begin, end);
  return values;
}

class story {
 public:
  explicit story(const results& all)
      : all_(all), cast_(cast_of(all)), table_("", labels_of(cast_), name_width + years_width, 2, line_width) {
    for (const workload what : all_workloads) {
      if (is_of_generations(what)) add_groups_of(what);
    }
  }

  [[nodiscard]] std::string table() const { return table_.text("\n"); }
  [[nodiscard]] const std::vector<std::string>& cast() const noexcept { return cast_; }

 private:
  void add_groups_of(workload what) {
    records_of_one records;
    for (const record& each : all_.records) {
      if (each.what == what) records.push_back(&each);
    }
    if (records.empty()) return;
    switch (kind_of(what)) {
      case figure_kind::threads:
        for (const std::size_t timers : values_of(records, &record::timers)) {
          add_by_threads(fmt::format("{}, ns", name(what)), fmt::format("{} timers", grouped(timers)), records, timers,
                         1);
        }
        break;
      case figure_kind::processors:
        add_by_threads(fmt::format("{}, µs", family_of(what)), std::string(variant_of(what)), records,
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
        table_.add({.title = fmt::format("{}, /s", name(what)), .columns = {make_column("", records, median_of)}});
    }
  }

  void add_by_threads(std::string title, std::string subtitle, const records_of_one& records, std::size_t timers,
                      double scale) {
    column_group group{std::move(title), std::move(subtitle), {}};
    for (const int threads : values_of(records, &record::threads)) {
      records_of_one here;
      std::ranges::copy_if(records, std::back_inserter(here), [timers, threads](const record* each) {
        return each->timers == timers && each->threads == threads;
      });
      group.columns.push_back(make_column(std::to_string(threads), here, [scale](const record& each) {
        return cell{each.cost.median * scale, half_range(each.cost)};
      }));
    }
    table_.add(std::move(group));
  }

  /// A cell for each of the cast, empty where it has no record, and the widest spread.
  [[nodiscard]] column make_column(std::string head, const records_of_one& records, const cell_of& content) const {
    column made{.head = std::move(head), .width = cell_width};
    std::optional<double> widest;
    for (const std::string& who : cast_) {
      const auto found = std::ranges::find(records, who, [](const record* each) { return each->contestant; });
      if (found == records.end()) {
        made.cells.emplace_back();
        continue;
      }
      const cell each = content(**found);
      made.cells.push_back(figure(each.figure));
      if (each.half_range) widest = std::max(widest.value_or(0), *each.half_range);
    }
    made.cells.push_back(widest ? percent_text(*widest) : "");
    return made;
  }

  const results& all_;
  std::vector<std::string> cast_;
  text_table table_;
};

/// What the columns are. Families have one title.
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

/// With fewer cores than threads, these do not contend as the column says.
std::string warning_of_cores(const results& all) {
  const auto cores = std::ranges::find(all.machine, "cores", &std::pair<std::string, std::string>::first);
  if (cores == all.machine.end()) return {};
  int count = 0;
  const std::string& text = cores->second;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc()) return {};
  int most = 0;
  for (const record& each : all.records) most = std::max(most, each.threads);
  if (most <= count) return {};
  return fmt::format("This machine has {} core{}: more threads than that take turns on them, and contend less.\n",
                     count, count == 1 ? "" : "s");
}

}  // namespace

std::string generations_text(const results& all) {
  const story told(all);
  if (told.cast().empty()) return {};
  std::string text = "\nThe generations of timers, with as many threads or processors as stand above a column\n";
  text += told.table() + "\n" + legend(all) + warning_of_cores(all) + "\n";
  for (const std::string& who : told.cast()) {
    if (const generation* const each = generation_of(who)) {
      text += fmt::format("{}{}: {}\n", left(who, name_width), each->original, each->step);
    }
  }
  return text;
}

}  // namespace foliot::program::bench
