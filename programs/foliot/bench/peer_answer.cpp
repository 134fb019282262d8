#include "peer_answer.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../failure.hpp"

namespace foliot::program::bench {

namespace {

using json = nlohmann::json;

/// ns: an hour an operation is nonsense.
constexpr double largest_cost = 3.6e12;

json parse(std::string_view output) { return json::parse(output, nullptr, /*allow_exceptions=*/false); }

std::optional<double> number_in(const json& answer, const char* name) {
  const auto found = answer.find(name);
  return found == answer.end() || !found->is_number() ? std::nullopt : std::optional(found->get<double>());
}

sample cost_in(const json& answer) {
  const std::optional<double> figure = number_in(answer, "ns");
  if (!figure) throw failure("it reported no figure");
  if (!(*figure > 0 && *figure < largest_cost)) throw failure(fmt::format("its figure is {}", *figure));
  return {.figure = *figure, .worst = number_in(answer, "worst_ns"), .bytes = number_in(answer, "bytes")};
}

sample lateness_in(const json& answer, std::size_t sleeps) {
  const auto all = answer.find("lateness_ns");
  if (all == answer.end() || !all->is_array()) throw failure("it reported no lateness");
  if (all->size() != sleeps) throw failure(fmt::format("it slept {} times, not {}", all->size(), sleeps));
  sample found;
  for (const json& each : *all) {
    if (!each.is_number_integer()) throw failure("its lateness is no number");
    const auto late = each.get<std::int64_t>();
    if (late < 0) throw failure(fmt::format("it woke up {} ns early", -late));
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    found.each.push_back(static_cast<std::uint32_t>(std::min(late, most)));
  }
  return found;
}

}  // namespace

samples samples_in(std::string_view output, const request& asked) {
  const json answer = parse(output);
  if (!answer.is_object()) throw failure("it answered nothing that is JSON");
  if (kind_of(asked.what) == figure_kind::lateness) return {lateness_in(answer, asked.sleeps)};
  sample found = cost_in(answer);
  if (about(asked.what).has_worst && !(found.worst >= found.figure)) {
    throw failure("it reported no worst lateness, or one below the average");
  }
  return {found};
}

std::string version_in(std::string_view output) {
  const json answer = parse(output);
  if (!answer.is_object()) return {};
  const auto version = answer.find("version");
  return version == answer.end() || !version->is_string() ? std::string() : version->get<std::string>();
}

}  // namespace foliot::program::bench
