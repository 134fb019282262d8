#include <cmath>

#include <foliot/version.hpp>
#include <nlohmann/json.hpp>

#include "serve_results.hpp"

namespace foliot::program::bench {

namespace {

using json = nlohmann::ordered_json;

/// To a thousandth: the rest is noise.
double rounded(double figure) { return std::round(figure * 1000) / 1000; }

json record_json(const serve_record& each) {
  json made = {{"workload", each.family}};
  for (const auto& [name, value] : each.parameters) made[name] = value;
  made["contestant"] = each.contestant;
  made["figure"] = each.figure;
  made["unit"] = each.unit;
  if (!each.head.empty()) made["column"] = each.head;
  made["median"] = rounded(each.amount.median);
  made["min"] = rounded(each.amount.min);
  made["max"] = rounded(each.amount.max);
  return made;
}

json outcome_json(const target_outcome& each) {
  json made = {{"what", each.target.what}, {"contestant", each.target.contestant}};
  if (!each.target.against.empty()) made["against"] = each.target.against;
  made[each.target.at_least ? "at_least" : "at_most"] = each.target.bound;
  made["measured"] = rounded(each.measured);
  made["reached"] = each.reached;
  return made;
}

}  // namespace

std::string serve_json(const serve_results& all) {
  json machine = json::object();
  for (const auto& [name, value] : all.machine) machine[name] = value;
  json contestants = json::array();
  for (const participant& each : all.contestants) {
    contestants.push_back({{"name", each.name}, {"version", each.version}, {"remark", each.remark}});
  }
  json absences = json::array();
  for (const absence& each : all.left_out) {
    absences.push_back({{"contestant", each.name}, {"workloads", each.from}, {"reason", each.reason}});
  }
  json workloads = json::array();
  for (const serve_family& each : all.families) workloads.push_back({{"name", each.name}, {"title", each.title}});
  json records = json::array();
  for (const serve_record& each : all.records) records.push_back(record_json(each));
  json targets = json::array();
  for (const target_outcome& each : outcomes_of(all)) targets.push_back(outcome_json(each));
  const json made = {{"version", FOLIOT_VERSION},      {"machine", machine},         {"reference", "foliot"},
                     {"repetitions", all.repetitions}, {"contestants", contestants}, {"absences", absences},
                     {"workloads", workloads},         {"records", records},         {"targets", targets}};
  return made.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

}  // namespace foliot::program::bench
