#include "answer.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace foliot::program::bench {

namespace {

using json = nlohmann::json;

/// An hour an operation is nonsense.
constexpr double largest_cost = 3.6e12;

json parse(std::string_view output) { return json::parse(output, nullptr, /*allow_exceptions=*/false); }

std::optional<double> number_in(const json& told, const char* name) {
  const auto found = told.find(name);
  return found == told.end() || !found->is_number() ? std::nullopt : std::optional(found->get<double>());
}

finding cost_in(const json& told) {
  const auto ns = told.find("ns");
  if (ns == told.end() || !ns->is_number()) return {.wrong = "it told no figure"};
  const double figure = ns->get<double>();
  if (!(figure > 0 && figure < largest_cost)) return {.wrong = fmt::format("its figure is {}", figure)};
  return {.figure = figure, .worst = number_in(told, "worst_ns"), .bytes = number_in(told, "bytes")};
}

finding lateness_in(const json& told, std::size_t sleeps) {
  const auto all = told.find("lateness_ns");
  if (all == told.end() || !all->is_array()) return {.wrong = "it told no lateness"};
  if (all->size() != sleeps) return {.wrong = fmt::format("it slept {} times, not {}", all->size(), sleeps)};
  finding found;
  for (const json& each : *all) {
    if (!each.is_number_integer()) return {.wrong = "its lateness is no number"};
    const auto late = each.get<std::int64_t>();
    if (late < 0) return {.wrong = fmt::format("it woke up {} ns early", -late)};
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    found.lateness.push_back(static_cast<std::uint32_t>(std::min(late, most)));
  }
  return found;
}

}  // namespace

finding finding_in(std::string_view output, const trial& asked) {
  const json told = parse(output);
  if (!told.is_object()) return {.wrong = "it answered nothing that is JSON"};
  if (kind_of(asked.what) == figure_kind::lateness) return lateness_in(told, asked.sleeps);
  finding found = cost_in(told);
  if (found.wrong.empty() && tells_worst(asked.what) && !(found.worst >= found.figure)) {
    found.wrong = "it told no worst that could be";
  }
  return found;
}

std::string version_in(std::string_view output) {
  const json told = parse(output);
  if (!told.is_object()) return {};
  const auto version = told.find("version");
  return version == told.end() || !version->is_string() ? std::string() : version->get<std::string>();
}

}  // namespace foliot::program::bench
