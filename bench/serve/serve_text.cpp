#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/report/text_table.hpp"
#include "serve_results.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::size_t name_width = 16;
constexpr std::size_t amount_width = 10;
constexpr std::size_t spread_width = 6;
constexpr std::size_t line_width = 124;

std::vector<std::string> names_in(const serve_results& all) {
  std::vector<std::string> names;
  for (const participant& each : all.contestants) names.push_back(each.name);
  return names;
}

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
  text_table table("", std::move(names), name_width, 0, line_width);
  for (const std::string& head : values_of(records, &serve_record::head)) {
    column amounts{.head = head, .width = amount_width};
    column spreads{.head = "", .width = spread_width};
    for (const std::string& name : table.labels()) {
      const auto found = std::ranges::find_if(
          records, [&](const serve_record* each) { return each->head == head && each->contestant == name; });
      const bool measured = found != records.end();
      amounts.cells.push_back(measured ? figure((*found)->amount.median) : "");
      spreads.cells.push_back(measured ? percent_text(half_range((*found)->amount)) : "");
    }
    table.add({.columns = {std::move(amounts), std::move(spreads)}});
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
    text += fmt::format("\n{}: {}\n{}", family.name, title, table_of(here, names_in(all)));
  }
  return text;
}

std::string targets_table(const serve_results& all) {
  const std::vector<target_outcome> outcomes = outcomes_of(all);
  if (outcomes.empty()) return {};
  std::vector<std::string> labels;
  column own{.head = "server", .width = name_width};
  column against{.head = "against", .width = name_width};
  column wanted{.head = "target", .width = amount_width};
  column measured{.head = "measured", .width = amount_width};
  column reached{.head = "reached", .width = amount_width};
  for (const target_outcome& each : outcomes) {
    const serve_target& target = each.target;
    const char* const unit = target.against.empty() ? "" : "x";
    labels.push_back(target.what);
    own.cells.push_back(target.contestant);
    against.cells.push_back(target.against);
    wanted.cells.push_back(fmt::format("{} {:g}{}", target.at_least ? "≥" : "≤", target.bound, unit));
    measured.cells.push_back(fmt::format("{:.2f}{}", each.measured, unit));
    reached.cells.emplace_back(each.reached ? "yes" : "no");
  }
  std::size_t width = 0;
  for (const std::string& each : labels) width = std::max(width, characters(each) + 1);
  // A label may come twice, for two servers: the table keeps the order.
  text_table table("", std::move(labels), width);
  table.add(
      {.columns = {std::move(own), std::move(against), std::move(wanted), std::move(measured), std::move(reached)}});
  return "\ntargets: ratios and amounts of the medians of this run\n" + table.text();
}

std::string notes(const serve_results& all) {
  std::string text;
  for (const participant& each : all.contestants) {
    if (each.version.empty() && each.remark.empty()) continue;
    text += fmt::format("{}: {}{}{}\n", each.name, each.version,
                        each.version.empty() || each.remark.empty() ? "" : "; ", each.remark);
  }
  for (const absence& each : all.left_out) {
    text += fmt::format("left out{}: {}: {}\n", each.from.empty() ? "" : " of " + each.from, each.name, each.reason);
  }
  return text.empty() ? text : '\n' + text;
}

}  // namespace

std::string serve_text(const serve_results& all) {
  std::string text = all.command + '\n';
  for (const auto& [name, value] : all.machine) text += fmt::format("{:<{}}{}\n", name, name_width, value);
  text += fmt::format("\nmedians of {} repetitions, ± half their range{}\n", all.repetitions,
                      all.has_load_generator ? "; the load generator shares the machine" : "");
  for (const serve_family& each : all.families) text += family_tables(all, each);
  return text + targets_table(all) + notes(all);
}

}  // namespace foliot::program::bench
