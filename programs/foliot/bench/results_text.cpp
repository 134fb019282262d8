#include "results_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "../replay/grouped.hpp"
#include "choice.hpp"
#include "generations.hpp"
#include "generations_text.hpp"
#include "text_cells.hpp"

namespace foliot::program::bench {

namespace {

using writer = std::back_insert_iterator<std::string>;

std::string ratio_text(std::optional<double> ratio) { return ratio ? fmt::format("{:.2f}x", *ratio) : ""; }

constexpr std::size_t name_width = 16;
constexpr std::size_t long_name_width = 24;  // of system calls
constexpr std::size_t go_name_width = 44;
constexpr std::size_t go_cost_width = 12;
constexpr std::size_t cost_width = 9;
constexpr std::size_t spread_width = 6;
constexpr std::size_t ratio_width = 8;
constexpr std::size_t cell_width = cost_width + spread_width + ratio_width;
constexpr std::size_t go_cell_width = go_cost_width + spread_width + ratio_width;

std::vector<std::size_t> sizes_in(const results& all, workload what) {
  std::vector<std::size_t> sizes;
  for (const record& each : all.records) {
    if (each.what == what && std::ranges::find(sizes, each.timers) == sizes.end()) sizes.push_back(each.timers);
  }
  return sizes;
}

std::vector<int> threads_in(const results& all, workload what) {
  std::vector<int> threads;
  for (const record& each : all.records) {
    if (each.what == what && std::ranges::find(threads, each.threads) == threads.end()) threads.push_back(each.threads);
  }
  return threads;
}

/// What a table of costs says above itself: "W1: start one, stop a random one; ns for each start and stop".
std::string caption(workload what, int threads) {
  const std::string head = fmt::format("{}: {}; {}", name(what), title(what), unit_of(what));
  switch (kind_of(what)) {
    case figure_kind::threads:
      return threads == 1 ? fmt::format("{} for each {}, 1 thread", head, operation_of(what))
                          : fmt::format("{} for each {}, {} threads together", head, operation_of(what), threads);
    case figure_kind::wake_ups: return head;
    default: return fmt::format("{} for each {}", head, operation_of(what));
  }
}

void costs_table(const results& all, workload what, int threads, writer out) {
  const std::vector<std::size_t> sizes = sizes_in(all, what);
  fmt::format_to(out, "\n{}\n{:<{}}", caption(what, threads), "timers", name_width);
  // The size stands over the cost, the rest of its cell is the spread and the ratio.
  for (const std::size_t size : sizes) {
    fmt::format_to(out, "{:>{}}{:<{}}", grouped(size), cost_width, "", cell_width - cost_width);
  }
  fmt::format_to(out, "\n");
  for (const participant& each : all.contestants) {
    std::string line;
    for (const std::size_t size : sizes) {
      const record* found = all.find(what, each.name, size, {}, threads);
      if (found == nullptr) continue;
      line += right(figure(found->cost.median), cost_width) +
              right(percent_text(half_range(found->cost)), spread_width) +
              right(ratio_text(all.ratio(*found)), ratio_width);
    }
    if (!line.empty()) fmt::format_to(out, "{:<{}}{}\n", each.name, name_width, line);
  }
}

/// What the records of Go's benchmarks tell beside their figure, each in a line of its own.
struct further_figure {
  std::string_view name;
  std::optional<double> record::* figure;
};
constexpr std::array further_figures = {further_figure{"  the latest", &record::worst},
                                        further_figure{"  bytes each", &record::bytes_per_task}};

/// One line for each of Go's benchmarks, with so many processors.
void processors_table(const results& all, int processors, writer out) {
  std::vector<std::string_view> taking;
  for (const participant& each : all.contestants) {
    const auto takes_part = [&each](const record& made) {
      return kind_of(made.what) == figure_kind::processors && made.contestant == each.name;
    };
    if (std::ranges::any_of(all.records, takes_part)) taking.push_back(each.name);
  }
  fmt::format_to(out, "\nGo's own benchmarks of its timers, {} processor{}; ns for each operation\n{:<{}}", processors,
                 processors == 1 ? "" : "s", "", go_name_width);
  for (const std::string_view each : taking) {
    fmt::format_to(out, "{:>{}}{:<{}}", each, go_cost_width + spread_width, "", ratio_width);
  }
  fmt::format_to(out, "\n");
  for (const workload what : go_workloads) {
    // A figure of everybody, or nothing if nobody has it.
    const auto told = [&](auto figures_of) {
      std::string line;
      bool any = false;
      for (const std::string_view each : taking) {
        const record* const found = all.find(what, each, 1, {}, processors);
        const std::string cell = found == nullptr ? "" : figures_of(*found);
        any = any || !cell.empty();
        line += cell.empty() ? std::string(go_cell_width, ' ') : cell;
      }
      return any ? line : "";
    };
    const std::string costs = told([&all](const record& found) {
      return right(figure(found.cost.median), go_cost_width) +
             right(percent_text(half_range(found.cost)), spread_width) +
             right(ratio_text(all.ratio(found)), ratio_width);
    });
    if (costs.empty()) continue;
    fmt::format_to(out, "{:<{}}{}\n", name(what), go_name_width, costs);
    for (const auto& [title, further] : further_figures) {
      const std::string line = told([further](const record& found) {
        const std::optional<double> also = found.*further;
        return also ? right(figure(*also), go_cost_width) + std::string(go_cell_width - go_cost_width, ' ') : "";
      });
      if (!line.empty()) fmt::format_to(out, "{:<{}}{}\n", title, go_name_width, line);
    }
  }
}

/// The numbers of processors that any of them was measured with.
std::vector<int> processors_in(const results& all) {
  std::vector<int> found;
  for (const record& each : all.records) {
    if (kind_of(each.what) == figure_kind::processors && std::ranges::find(found, each.threads) == found.end()) {
      found.push_back(each.threads);
    }
  }
  std::ranges::sort(found);
  return found;
}

void lateness_table(const results& all, workload what, writer out) {
  if (sizes_in(all, what).empty()) return;
  fmt::format_to(out, "\n{}: {}; ns after its deadline\n{:<{}}{:>12}{:>12}{:>12}{:>12}{:>{}}\n", name(what),
                 title(what), "", long_name_width, "p50", "p99", "p99.9", "worst", "ratio", ratio_width);
  for (const record& each : all.records) {
    if (each.what != what) continue;
    fmt::format_to(out, "{:<{}}{:>12}{:>12}{:>12}{:>12}{:>{}}\n", each.contestant, long_name_width,
                   figure(each.calls->p50), figure(each.calls->p99), figure(each.calls->p999), figure(each.calls->max),
                   ratio_text(all.ratio(each)), ratio_width);
  }
}

void calls_table(const results& all, workload what, writer out) {
  const std::vector<std::size_t> sizes = sizes_in(all, what);
  if (sizes.empty()) return;
  fmt::format_to(out, "\n{}: {}; {} timers, ns with a reading of the clock\n", name(what), title(what),
                 grouped(sizes.front()));
  for (const std::string_view call : {"start", "stop", "reset", "expire"}) {
    const bool drains = what == workload::worst_one_slot && call == "expire";
    fmt::format_to(out, "{:<{}}{:>14}{:>14}{:>14}{:>14}{}\n", call == "expire" ? "expire, 100" : call, name_width,
                   "p50", "p99", "p99.9", "worst", drains ? "     per timer" : "");
    for (const participant& each : all.contestants) {
      const record* found = all.find(what, each.name, sizes.front(), call);
      if (found == nullptr) continue;
      fmt::format_to(out, "  {:<{}}{:>14}{:>14}{:>14}{:>14}", each.name, name_width - 2, figure(found->calls->p50),
                     figure(found->calls->p99), figure(found->calls->p999), figure(found->calls->max));
      if (found->per_fired) fmt::format_to(out, "{:>14}", figure(*found->per_fired));
      fmt::format_to(out, "\n");
    }
  }
}

void memory_table(const results& all, writer out) {
  std::vector<std::size_t> sizes;
  for (const record& each : all.records) {
    if (each.bytes_per_timer && std::ranges::find(sizes, each.timers) == sizes.end()) sizes.push_back(each.timers);
  }
  if (sizes.empty()) return;
  fmt::format_to(out,
                 "\nmemory: resident bytes for each timer, the timer itself and 8 bytes of the user's included\n{:<{}}",
                 "timers", name_width);
  for (const std::size_t size : sizes) fmt::format_to(out, "{:>12}", grouped(size));
  fmt::format_to(out, "\n");
  for (const participant& each : all.contestants) {
    const auto weighed = [&each](const record& made) { return made.contestant == each.name && made.bytes_per_timer; };
    if (std::ranges::none_of(all.records, weighed)) continue;
    fmt::format_to(out, "{:<{}}", each.name, name_width);
    for (const std::size_t size : sizes) {
      const auto found =
          std::ranges::find_if(all.records, [&](const record& made) { return weighed(made) && made.timers == size; });
      fmt::format_to(out, "{:>12}", found == all.records.end() ? "" : fmt::format("{:.1f}", *found->bytes_per_timer));
    }
    fmt::format_to(out, "\n");
  }
}

void notes(const results& all, writer out) {
  fmt::format_to(out, "\n");
  for (const participant& each : all.contestants) {
    if (each.version.empty() && each.remark.empty()) continue;
    const std::string_view between = each.version.empty() || each.remark.empty() ? "" : "; ";
    fmt::format_to(out, "{}: {}{}{}\n", each.name, each.version, between, each.remark);
  }
  for (const absence& each : all.left_out) {
    const std::string from = each.from.empty() ? "" : " of " + each.from;
    fmt::format_to(out, "left out{}: {}: {}\n", from, each.name, each.reason);
  }
  for (const auto& [reason, workloads] : by_reason(all.not_measured)) {
    fmt::format_to(out, "not measured: {}: {}\n", listed(workloads), reason);
  }
}

/// The tables of those workloads that the story of the generations does not have, or of all if it is not told.
void tables(const results& all, writer out) {
  const auto in_story = [&all](workload what) { return all.tells_generations && is_of_generations(what); };
  for (const workload what : all_workloads) {
    if (in_story(what)) continue;
    switch (kind_of(what)) {
      case figure_kind::calls: calls_table(all, what, out); break;
      case figure_kind::lateness: lateness_table(all, what, out); break;
      case figure_kind::processors: break;  // all in one table
      default:
        for (const int threads : threads_in(all, what)) costs_table(all, what, threads, out);
    }
  }
  const auto has_own_table = [&in_story](const record& each) {
    return kind_of(each.what) == figure_kind::processors && !in_story(each.what);
  };
  if (std::ranges::none_of(all.records, has_own_table)) return;
  for (const int processors : processors_in(all)) processors_table(all, processors, out);
}

}  // namespace

std::string results_text(const results& all) {
  std::string text = "foliot bench\n";
  const writer out = std::back_inserter(text);
  for (const auto& [name, value] : all.machine) fmt::format_to(out, "{:<{}}{}\n", name, name_width, value);
  fmt::format_to(out, "\nmedians of {} repetitions, ± half their range", all.repetitions);
  if (!all.reference.empty() && !all.tells_generations) fmt::format_to(out, ", and the ratio to {}", all.reference);
  fmt::format_to(out, "\n");
  if (all.tells_generations) text += generations_text(all);
  tables(all, out);
  memory_table(all, out);
  notes(all, out);
  return text;
}

}  // namespace foliot::program::bench
