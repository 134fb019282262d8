#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/choice.hpp"
#include "bench/generations.hpp"
#include "report.hpp"
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

std::vector<std::string> names_in(const results& all) {
  std::vector<std::string> names;
  for (const participant& each : all.contestants) names.push_back(each.name);
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

/// A cell in a table of costs: the cost of the record, with its spread and its ratio, or another figure of it. Empty
/// without a record, or without that figure.
struct cost_cell {
  const record* found = nullptr;
  std::optional<double> record::* instead = nullptr;
};

column_group cost_columns(const results& all, std::string head, std::size_t width,
                          const std::vector<cost_cell>& cells) {
  column_group made{.columns = {{.head = std::move(head), .width = width},
                                {.head = "", .width = spread_width},
                                {.head = "", .width = ratio_width}}};
  for (const auto& [found, instead] : cells) {
    std::array<std::string, 3> texts;
    if (found && !instead) {
      texts = {figure(found->cost.median), percent_text(half_range(found->cost)), ratio_text(all.ratio(*found))};
    } else if (found && found->*instead) {
      texts[0] = figure(*(found->*instead));
    }
    for (std::size_t i = 0; i < texts.size(); ++i) made.columns[i].cells.push_back(std::move(texts[i]));
  }
  return made;
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
  text_table table("timers", names_in(all), name_width);
  for (const std::size_t size : values_in(all, &record::timers, records_of(what))) {
    std::vector<cost_cell> cells;
    for (const std::string& each : table.labels()) cells.push_back({all.find(what, each, size, {}, threads)});
    table.add(cost_columns(all, grouped(size), cost_width, cells));
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
  for (const participant& each : all.contestants) {
    const auto is_of_go = [&each](const record& made) {
      return kind_of(made.what) == figure_kind::processors && made.contestant == each.name;
    };
    if (std::ranges::none_of(all.records, is_of_go)) continue;
    std::vector<cost_cell> cells;
    for (const workload what : go_workloads) {
      const record* const found = all.find(what, each.name, 1, {}, processors);
      cells.insert(cells.end(), {{found}, {found, &record::worst}, {found, &record::bytes_per_task}});
    }
    table.add(cost_columns(all, each.name, go_cost_width, cells));
  }
  return fmt::format("\nGo's own benchmarks of its timers, {} processor{}; ns for each operation\n{}", processors,
                     processors == 1 ? "" : "s", table.text());
}

using records_of_one = std::vector<const record*>;

/// A line for each record: its percentiles, and one more column with `further` of it.
std::string shares_table(std::string corner, std::string_view indent, std::size_t label_width, std::size_t width,
                         const records_of_one& records, column also, auto further) {
  std::vector<std::string> labels;
  for (const record* each : records) labels.push_back(fmt::format("{}{}", indent, each->contestant));
  text_table table(std::move(corner), std::move(labels), label_width);
  const auto add = [&table, &records](column made, auto text_of) {
    for (const record* each : records) made.cells.push_back(text_of(*each));
    table.add({.columns = {std::move(made)}});
  };
  const auto add_share = [&add, width](std::string head, double percentiles::* share) {
    add({.head = std::move(head), .width = width}, [share](const record& each) { return figure(*each.calls.*share); });
  };
  add_share("p50", &percentiles::p50);
  add_share("p99", &percentiles::p99);
  add_share("p99.9", &percentiles::p999);
  add_share("worst", &percentiles::max);
  add(std::move(also), further);
  return table.text();
}

std::string lateness_table(const results& all, workload what) {
  records_of_one records;
  for (const record& each : all.records) {
    if (each.what == what) records.push_back(&each);
  }
  if (records.empty()) return {};
  return fmt::format("\n{}: {}; ns after its deadline\n{}", name(what), about(what).title,
                     shares_table("", "", long_name_width, 12, records, {.head = "ratio", .width = ratio_width},
                                  [&all](const record& each) { return ratio_text(all.ratio(each)); }));
}

std::string calls_table(const results& all, workload what) {
  const std::vector<std::size_t> sizes = values_in(all, &record::timers, records_of(what));
  if (sizes.empty()) return {};
  std::string text = fmt::format("\n{}: {}; {} timers, ns with a reading of the clock\n", name(what), about(what).title,
                                 grouped(sizes.front()));
  for (const std::string call : {"start", "stop", "reset", "expire"}) {
    records_of_one records;
    for (const participant& each : all.contestants) {
      if (const record* const found = all.find(what, each.name, sizes.front(), call)) records.push_back(found);
    }
    const bool drains = std::ranges::any_of(records, [](const record* each) { return each->per_fired.has_value(); });
    text += shares_table(call == "expire" ? "expire, 100" : call, "  ", name_width, 14, records,
                         {.head = drains ? "per timer" : "", .width = drains ? std::size_t{14} : 0},
                         [](const record& each) { return each.per_fired ? figure(*each.per_fired) : ""; });
  }
  return text;
}

std::string memory_table(const results& all) {
  const auto weighed = [](const record& each) { return each.bytes_per_timer.has_value(); };
  text_table table("timers", names_in(all), name_width);
  const std::vector<std::size_t> sizes = values_in(all, &record::timers, weighed);
  if (sizes.empty()) return {};
  for (const std::size_t size : sizes) {
    column made{.head = grouped(size), .width = 12};
    for (const std::string& name : table.labels()) {
      const auto found = std::ranges::find_if(all.records, [&](const record& each) {
        return weighed(each) && each.contestant == name && each.timers == size;
      });
      made.cells.push_back(found == all.records.end() ? "" : fmt::format("{:.1f}", *found->bytes_per_timer));
    }
    table.add({.columns = {std::move(made)}});
  }
  return "\nmemory: resident bytes for each timer, the timer itself and 8 bytes of the user's included\n" +
         table.text();
}

std::string notes(const results& all) {
  std::string text = "\n";
  for (const participant& each : all.contestants) {
    if (each.version.empty() && each.remark.empty()) continue;
    const std::string_view between = each.version.empty() || each.remark.empty() ? "" : "; ";
    text += fmt::format("{}: {}{}{}\n", each.name, each.version, between, each.remark);
  }
  for (const absence& each : all.left_out) {
    const std::string from = each.from.empty() ? "" : " of " + each.from;
    text += fmt::format("left out{}: {}: {}\n", from, each.name, each.reason);
  }
  for (const auto& [reason, workloads] : by_reason(all.not_measured)) {
    text += fmt::format("not measured: {}: {}\n", listed(workloads), reason);
  }
  return text;
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

}  // namespace

std::string results_text(const results& all) {
  std::string text = "foliot bench\n";
  for (const auto& [name, value] : all.machine) text += fmt::format("{:<{}}{}\n", name, name_width, value);
  text += fmt::format("\nmedians of {} repetitions, ± half their range", all.repetitions);
  if (!all.reference.empty() && !all.with_generations) text += fmt::format(", and the ratio to {}", all.reference);
  text += '\n';
  if (all.with_generations) text += generations_text(all);
  return text + tables(all) + memory_table(all) + notes(all);
}

}  // namespace foliot::program::bench
