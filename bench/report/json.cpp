#include <algorithm>
#include <cmath>

#include <foliot/version.hpp>
#include <nlohmann/json.hpp>

#include "bench/benchmark.hpp"
#include "bench/record.hpp"
#include "bench/serve/serve_results.hpp"
#include "contention.hpp"

namespace foliot::program::bench {

namespace {

using json = nlohmann::ordered_json;

/// The rest is noise.
double rounded(double figure) { return std::round(figure * 100) / 100; }
double to_thousandth(double figure) { return std::round(figure * 1000) / 1000; }

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

json contention_json(const contention& each) {
  json made = {{"workload", name(each.what)}, {"contestant", each.contestant}, {"n", each.timers}};
  if (each.begins_at) made["begins_at"] = *each.begins_at;
  if (each.last_judged) made["judged_up_to"] = *each.last_judged;
  made["threads"] = json::array();
  for (const contention::step& at : each.steps) {
    made["threads"].push_back({{"threads", at.threads}, {"share", to_thousandth(at.share)}});
  }
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

/// An array of what `of` makes of each.
json array_of(const auto& all, auto of) {
  json made = json::array();
  for (const auto& each : all) made.push_back(of(each));
  return made;
}

/// What the figures of timers and those of servers begin with.
json head_json(const machine_facts& facts, std::string_view reference, int repetitions) {
  json machine = json::object();
  for (const auto& [name, value] : facts) machine[name] = value;
  return {{"version", FOLIOT_VERSION}, {"machine", machine}, {"reference", reference}, {"repetitions", repetitions}};
}

json absences_json(const std::vector<absence>& all) {
  return array_of(all, [](const absence& each) -> json {
    return {{"contestant", each.name}, {"workloads", each.from}, {"reason", each.reason}};
  });
}

std::string text_of(const json& made) { return made.dump(1, ' ', false, json::error_handler_t::replace) + '\n'; }

json record_json(const serve_record& each) {
  json made = {{"workload", each.family}};
  for (const auto& [name, value] : each.parameters) made[name] = value;
  made["contestant"] = each.contestant;
  made["figure"] = each.figure;
  made["unit"] = each.unit;
  if (!each.head.empty()) made["column"] = each.head;
  made["median"] = to_thousandth(each.amount.median);
  made["min"] = to_thousandth(each.amount.min);
  made["max"] = to_thousandth(each.amount.max);
  return made;
}

json outcome_json(const target_outcome& each) {
  json made = {{"what", each.target.what}, {"contestant", each.target.contestant}};
  if (!each.target.against.empty()) made["against"] = each.target.against;
  made[each.target.at_least ? "at_least" : "at_most"] = each.target.bound;
  made["measured"] = to_thousandth(each.measured);
  made["reached"] = each.reached;
  return made;
}

}  // namespace

std::string results_json(const results& all) {
  json made = head_json(all.machine, all.reference, all.repetitions);
  made["contestants"] = array_of(all.contestants, [](const participant& each) -> json {
    return {{"name", each.name}, {"version", each.version}, {"time", each.time}, {"remark", each.remark}};
  });
  made["left_out"] = json::array();
  for (const absence& each : all.left_out) {
    if (each.from.empty()) made["left_out"].push_back(each.name);
  }
  made["absences"] = absences_json(all.left_out);
  made["not_measured"] = array_of(all.not_measured, [](const omission& each) -> json {
    return {{"workload", name(each.what)}, {"reason", each.reason}};
  });
  made["workloads"] = array_of(all_workloads, workload_json);
  made["records"] = array_of(all.records, [&all](const record& each) { return record_json(all, each); });
  if (const auto found = contention_in(all); !found.empty()) made["contention"] = array_of(found, contention_json);
  if (all.with_generations) made["generations"] = story_json(all);
  return text_of(made);
}

std::string serve_json(const serve_results& all) {
  json made = head_json(all.machine, "foliot", all.repetitions);
  made["contestants"] = array_of(all.contestants, [](const participant& each) -> json {
    return {{"name", each.name}, {"version", each.version}, {"remark", each.remark}};
  });
  made["absences"] = absences_json(all.left_out);
  made["workloads"] = array_of(
      all.families, [](const serve_family& each) -> json { return {{"name", each.name}, {"title", each.title}}; });
  made["records"] = array_of(all.records, [](const serve_record& each) { return record_json(each); });
  made["targets"] = array_of(outcomes_of(all), outcome_json);
  return text_of(made);
}

}  // namespace foliot::program::bench
