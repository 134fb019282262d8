#include <algorithm>
#include <cmath>

#include <foliot/version.hpp>
#include <nlohmann/json.hpp>

#include "bench/generations.hpp"
#include "report.hpp"

namespace foliot::program::bench {

namespace {

using json = nlohmann::ordered_json;

/// To a hundredth: the rest is noise.
double rounded(double figure) { return std::round(figure * 100) / 100; }

json record_json(const results& all, const record& each) {
  json made = {{"workload", name(each.what)}};
  if (!each.call.empty()) made["call"] = each.call;
  made["contestant"] = each.contestant;
  made["n"] = each.timers;
  made["threads"] = each.threads;
  made["unit"] = unit_of(each.what);
  made["median"] = rounded(each.cost.median);
  made["min"] = rounded(each.cost.min);
  if (each.calls) {
    made["p50"] = rounded(each.calls->p50);
    made["p99"] = rounded(each.calls->p99);
    made["p999"] = rounded(each.calls->p999);
  }
  made["max"] = rounded(each.calls ? each.calls->max : each.cost.max);
  if (each.worst) made["worst"] = rounded(*each.worst);
  if (each.per_fired) made["per_fired"] = rounded(*each.per_fired);
  if (const auto ratio = all.ratio(each)) made["ratio"] = rounded(*ratio);
  if (each.bytes_per_timer) made["bytes_per_timer"] = rounded(*each.bytes_per_timer);
  if (each.bytes_per_task) made["bytes_per_task"] = rounded(*each.bytes_per_task);
  return made;
}

json workload_json(const workload what) {
  return {{"name", name(what)},
          {"title", about(what).title},
          {"operation", about(what).operation},
          {"kind", name(kind_of(what))},
          {"unit", unit_of(what)}};
}

/// The generations that were measured, in the order of their years.
json story_json(const results& all) {
  json made = json::array();
  for (const generation& each : generations) {
    if (std::ranges::find(all.contestants, each.contestant, &participant::name) == all.contestants.end()) continue;
    made.push_back(
        {{"contestant", each.contestant}, {"years", each.years}, {"original", each.original}, {"step", each.step}});
  }
  return made;
}

}  // namespace

std::string results_json(const results& all) {
  json machine = json::object();
  for (const auto& [name, value] : all.machine) machine[name] = value;
  json contestants = json::array();
  for (const participant& each : all.contestants) {
    contestants.push_back(
        {{"name", each.name}, {"version", each.version}, {"time", each.time}, {"remark", each.remark}});
  }
  json left_out = json::array();
  json absences = json::array();
  for (const absence& each : all.left_out) {
    if (each.from.empty()) left_out.push_back(each.name);
    absences.push_back({{"contestant", each.name}, {"workloads", each.from}, {"reason", each.reason}});
  }
  json not_measured = json::array();
  for (const omission& each : all.not_measured) {
    not_measured.push_back({{"workload", name(each.what)}, {"reason", each.reason}});
  }
  json workloads = json::array();
  for (const workload what : all_workloads) workloads.push_back(workload_json(what));
  json records = json::array();
  for (const record& each : all.records) records.push_back(record_json(all, each));
  json made = {{"version", FOLIOT_VERSION},  {"machine", machine},
               {"reference", all.reference}, {"repetitions", all.repetitions},
               {"contestants", contestants}, {"left_out", left_out},
               {"absences", absences},       {"not_measured", not_measured},
               {"workloads", workloads},     {"records", records}};
  if (all.with_generations) made["generations"] = story_json(all);
  return made.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

}  // namespace foliot::program::bench
