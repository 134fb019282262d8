#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/bench_options.hpp"
#include "bench/benchmark.hpp"
#include "bench/record.hpp"
#include "bench/serve/serve_results.hpp"
#include "contention.hpp"
#include "text_table.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::size_t name_width = 16;
constexpr std::size_t long_name_width = 24;  // of system calls
constexpr std::size_t go_name_width = 44;
constexpr std::size_t cost_width = 9;
constexpr std::size_t go_cost_width = 12;
constexpr std::size_t spread_width = 6;
constexpr std::size_t ratio_width = 8;

constexpr std::size_t amount_width = 10;  // of servers
constexpr std::size_t serve_line_width = 124;

/// The head of a report: the command, the machine, and the number of repetitions.
std::string heading(std::string_view command, const machine_facts& machine, int repetitions) {
  std::string text = fmt::format("{}\n", command);
  for (const auto& [name, value] : machine) text += fmt::format("{:<{}}{}\n", name, name_width, value);
  return text + fmt::format("\nmedians of {} repetitions, ± half their range", repetitions);
}

/// The end of a report: the version and remark of each contestant, and the contestants that were left out.
std::string notes(const std::vector<participant>& contestants, const std::vector<absence>& left_out) {
  std::string text;
  for (const participant& each : contestants) {
    if (each.version.empty() && each.remark.empty()) continue;
    const std::string_view between = each.version.empty() || each.remark.empty() ? "" : "; ";
    text += fmt::format("{}: {}{}{}\n", each.name, each.version, between, each.remark);
  }
  for (const absence& each : left_out) {
    const std::string from = each.from.empty() ? "" : " of " + each.from;
    text += fmt::format("left out{}: {}: {}\n", from, each.name, each.reason);
  }
  return text;
}

std::vector<std::string> names_in(const std::vector<participant>& all) {
  std::vector<std::string> names;
  for (const participant& each : all) names.push_back(each.name);
  return names;
}

/// The values of a part of those records that are wanted, each once, in their order.
template <class Value, class Wanted>
std::vector<Value> values_in(const results& all, Value record::* part, Wanted wanted) {
  std::vector<Value> values;
  for (const record& each : all.records) {
    if (wanted(each) && std::ranges::find(values, each.*part) == values.end()) values.push_back(each.*part);
  }
  return values;
}

auto records_of(workload what) {
  return [what](const record& each) { return each.what == what; };
}

using records_of_one = std::vector<const record*>;

records_of_one records_where(const results& all, auto wanted) {
  records_of_one found;
  for (const record& each : all.records) {
    if (wanted(each)) found.push_back(&each);
  }
  return found;
}

/// The cost of a record, with its spread and its ratio.
std::vector<std::pair<std::size_t, std::string>> cost_cells(const results& all, const record& of, std::size_t width) {
  return {{width, figure(of.cost.median)},
          {spread_width, percent_text(half_range(of.cost))},
          {ratio_width, ratio_text(all.ratio(of))}};
}

/// The line above a table of costs: "W1: start one, stop a random one; ns for each start and stop".
std::string caption(workload what, int threads) {
  const benchmark& row = about(what);
  const std::string head = fmt::format("{}: {}; {}", row.name, row.title, unit_of(what));
  switch (row.kind) {
    case figure_kind::threads:
      return threads == 1 ? fmt::format("{} for each {}, 1 thread", head, row.operation)
                          : fmt::format("{} for each {}, {} threads together", head, row.operation, threads);
    case figure_kind::wake_ups: return head;
    default: return fmt::format("{} for each {}", head, row.operation);
  }
}

std::string costs_table(const results& all, workload what, int threads) {
  text_table table("timers", names_in(all.contestants), name_width);
  for (const record& each : all.records) {
    if (each.what != what || each.threads != threads) continue;
    table.put(each.contestant, grouped(each.timers), cost_cells(all, each, cost_width));
  }
  return fmt::format("\n{}\n{}", caption(what, threads), table.text());
}

/// A line for each of Go's benchmarks, with so many processors, and one for each further figure of its records.
std::string processors_table(const results& all, int processors) {
  std::vector<std::string> labels;
  for (const workload what : go_workloads) {
    labels.insert(labels.end(), {std::string(name(what)), "  the latest", "  bytes each"});
  }
  text_table table("", std::move(labels), go_name_width);
  for (const participant& by : all.contestants) {
    for (const record& each : all.records) {
      if (kind_of(each.what) != figure_kind::processors || each.contestant != by.name) continue;
      if (each.threads != processors) continue;
      const std::size_t row =
          3 * (static_cast<std::size_t>(each.what) - static_cast<std::size_t>(go_workloads.front()));
      table.put(row, by.name, cost_cells(all, each, go_cost_width));
      if (each.worst) table.put(row + 1, by.name, {{go_cost_width, figure(*each.worst)}});
      if (each.bytes_per_task) table.put(row + 2, by.name, {{go_cost_width, figure(*each.bytes_per_task)}});
    }
  }
  return fmt::format("\nGo's own benchmarks of its timers, {} processor{}; ns for each operation\n{}", processors,
                     processors == 1 ? "" : "s", table.text());
}

/// A line for each record: its percentiles, and one more column with `further` of it.
std::string shares_table(std::string_view indent, std::size_t label_width, std::size_t width, std::string corner,
                         const records_of_one& records, std::string_view head, std::size_t head_width, auto further) {
  std::vector<std::string> labels;
  for (const record* each : records) labels.push_back(fmt::format("{}{}", indent, each->contestant));
  text_table table(std::move(corner), std::move(labels), label_width);
  for (std::size_t row = 0; row < records.size(); ++row) {
    const percentiles& at = *records[row]->calls;
    for (const auto& [share, amount] : {std::pair("p50", at.p50), std::pair("p99", at.p99), std::pair("p99.9", at.p999),
                                        std::pair("worst", at.max)}) {
      table.put(row, share, {{width, figure(amount)}});
    }
    table.put(row, head, {{head_width, further(*records[row])}});
  }
  return table.text();
}

std::string lateness_table(const results& all, workload what) {
  const records_of_one records = records_where(all, records_of(what));
  if (records.empty()) return {};
  return fmt::format("\n{}: {}; ns after its deadline\n{}", name(what), about(what).title,
                     shares_table("", long_name_width, 12, "", records, "ratio", ratio_width,
                                  [&all](const record& each) { return ratio_text(all.ratio(each)); }));
}

std::string calls_table(const results& all, workload what) {
  const records_of_one first = records_where(all, records_of(what));
  if (first.empty()) return {};
  std::string text = fmt::format("\n{}: {}; {} timers, ns with a reading of the clock\n", name(what), about(what).title,
                                 grouped(first.front()->timers));
  for (const std::string call : {"start", "stop", "reset", "expire"}) {
    const records_of_one records =
        records_where(all, [&](const record& each) { return each.what == what && each.call == call; });
    const bool drains = std::ranges::any_of(records, [](const record* each) { return each->per_fired.has_value(); });
    text +=
        shares_table("  ", name_width, 14, call == "expire" ? "expire, 100" : call, records, drains ? "per timer" : "",
                     drains ? 14 : 0, [](const record& each) { return each.per_fired ? figure(*each.per_fired) : ""; });
  }
  return text;
}

std::string memory_table(const results& all) {
  text_table table("timers", names_in(all.contestants), name_width);
  for (const record& each : all.records) {
    if (!each.bytes_per_timer) continue;
    table.put(each.contestant, grouped(each.timers), {{12, fmt::format("{:.1f}", *each.bytes_per_timer)}});
  }
  const std::string text = table.text();
  if (text.empty()) return {};
  return "\nmemory: resident bytes for each timer, the timer itself and 8 bytes of the user's included\n" + text;
}

/// The tables of those workloads that the story of the generations does not have, or of all without that story.
std::string tables(const results& all) {
  const auto in_story = [&all](workload what) { return all.with_generations && is_of_generations(what); };
  std::string text;
  for (const workload what : all_workloads) {
    if (in_story(what)) continue;
    switch (kind_of(what)) {
      case figure_kind::calls: text += calls_table(all, what); break;
      case figure_kind::lateness: text += lateness_table(all, what); break;
      case figure_kind::processors: break;  // all in one table
      default:
        for (const int threads : values_in(all, &record::threads, records_of(what))) {
          text += costs_table(all, what, threads);
        }
    }
  }
  const auto of_go = [](const record& each) { return kind_of(each.what) == figure_kind::processors; };
  if (std::ranges::all_of(all.records, [&](const record& each) { return !of_go(each) || in_story(each.what); })) {
    return text;
  }
  std::vector<int> counts = values_in(all, &record::threads, of_go);
  std::ranges::sort(counts);
  for (const int processors : counts) text += processors_table(all, processors);
  return text;
}

// ---------------------------------------------------------------- the story of the generations

constexpr std::size_t line_width = 128;
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

/// The values of a part of these records, sorted.
template <class Value>
std::set<Value> sorted_values(const records_of_one& records, Value record::* part) {
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
      const records_of_one records = records_where(all, records_of(what));
      if (is_of_generations(what) && !records.empty()) add_groups_of(what, records);
    }
  }

  [[nodiscard]] std::string table() const { return table_.text("\n"); }
  [[nodiscard]] const std::vector<std::string>& cast() const noexcept { return cast_; }

 private:
  void add_groups_of(workload what, const records_of_one& records) {
    switch (kind_of(what)) {
      case figure_kind::threads:
        for (const std::size_t timers : sorted_values(records, &record::timers)) {
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
    for (const int threads : sorted_values(records_where(all_, is_here), &record::threads)) {
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
    const bool measured = std::ranges::any_of(all.records, records_of(what));
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

// ---------------------------------------------------------------- servers

/// The values of a part of these records, each once, in their order.
std::vector<std::string> values_of(const std::vector<const serve_record*>& records, std::string serve_record::* part) {
  std::vector<std::string> values;
  for (const serve_record* each : records) {
    if (std::ranges::find(values, each->*part) == values.end()) values.push_back(each->*part);
  }
  return values;
}

/// A column, and one for the spreads beside it, for each head of these records.
std::string table_of(const std::vector<const serve_record*>& records, std::vector<std::string> names) {
  text_table table("", std::move(names), name_width, 0, serve_line_width);
  for (const serve_record* each : records) {
    table.put(each->contestant, each->head,
              {{amount_width, figure(each->amount.median)}, {spread_width, percent_text(half_range(each->amount))}});
  }
  return table.text("\n").substr(1);
}

/// A table for each unit; the title of the family is that of the first.
std::string family_tables(const serve_results& all, const serve_family& family) {
  std::vector<const serve_record*> shown;
  for (const serve_record& each : all.records) {
    if (each.family == family.name && !each.head.empty()) shown.push_back(&each);
  }
  std::string text;
  for (const std::string& unit : values_of(shown, &serve_record::unit)) {
    std::vector<const serve_record*> here;
    std::ranges::copy_if(shown, std::back_inserter(here),
                         [&unit](const serve_record* each) { return each->unit == unit; });
    const std::string title = text.empty() ? family.title : fmt::format("{}, {}", here.front()->figure, unit);
    text += fmt::format("\n{}: {}\n{}", family.name, title, table_of(here, names_in(all.contestants)));
  }
  return text;
}

std::string targets_table(const serve_results& all) {
  const std::vector<target_outcome> outcomes = outcomes_of(all);
  if (outcomes.empty()) return {};
  std::vector<std::string> labels;  // one may come twice, for two servers
  std::size_t width = 0;
  for (const target_outcome& each : outcomes) {
    labels.push_back(each.target.what);
    width = std::max(width, characters(each.target.what) + 1);
  }
  text_table table("", std::move(labels), width);
  for (std::size_t row = 0; row < outcomes.size(); ++row) {
    const auto& [target, measured, reached] = outcomes[row];
    const char* const unit = target.against.empty() ? "" : "x";
    table.put(row, "server", {{name_width, target.contestant}});
    table.put(row, "against", {{name_width, target.against}});
    table.put(row, "target",
              {{amount_width, fmt::format("{} {:g}{}", target.at_least ? "≥" : "≤", target.bound, unit)}});
    table.put(row, "measured", {{amount_width, fmt::format("{:.2f}{}", measured, unit)}});
    table.put(row, "reached", {{amount_width, reached ? "yes" : "no"}});
  }
  return "\ntargets: ratios and amounts of the medians of this run\n" + table.text();
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

std::string results_text(const results& all) {
  std::string text = heading("foliot bench", all.machine, all.repetitions);
  if (!all.reference.empty() && !all.with_generations) text += fmt::format(", and the ratio to {}", all.reference);
  text += '\n';
  if (all.with_generations) text += generations_text(all);
  text += tables(all) + memory_table(all) + contention_text(all) + '\n' + notes(all.contestants, all.left_out);
  for (const auto& [reason, workloads] : by_reason(all.not_measured)) {
    text += fmt::format("not measured: {}: {}\n", listed(workloads), reason);
  }
  return text;
}

std::string serve_text(const serve_results& all) {
  std::string text = heading(all.command, all.machine, all.repetitions);
  text += all.has_load_generator ? "; the load generator shares the machine\n" : "\n";
  for (const serve_family& each : all.families) text += family_tables(all, each);
  text += targets_table(all);
  const std::string last = notes(all.contestants, all.left_out);
  return last.empty() ? text : text + '\n' + last;
}

}  // namespace foliot::program::bench
