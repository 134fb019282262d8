// The values of the layer `jobs` as text, for the messages of the tests.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include <foliot/jobs/operations.hpp>

namespace foliot::jobs::conformance {

std::string show(std::uint64_t number);
std::string show(const reservation& token);
std::string show(job_state state);
std::string show(utc_time when);
std::string show(instant when);
std::string show(const job_counters& counters);
std::string show(const job_fields& fields);
std::string show(const job_counts& counts);
std::string show(const job& it);
std::string show(const put_answer& it);
std::string show(const put_all_answer& it);
std::string show(const claim_answer& it);
std::string show(const holder_answer& it);
std::string show(const change_answer& it);
std::string show(const bulk_answer& it);
std::string show(const pause_answer& it);
std::string show(const peek_answer& it);
std::string show(const count_answer& it);
std::string show(const tubes_answer& it);
std::string show(const due_answer& it);
std::string show(const nodes_answer& it);
std::string show(const jobs_answer& it);
std::string show(const passed_over_answer& it);
std::string show(const unavailable_answer& it);

template <class Value>
std::string show(const std::vector<Value>& all) {
  std::string text = "[";
  for (const Value& each : all) text += (text.size() > 1 ? ", " : "") + show(each);
  return text + "]";
}

}  // namespace foliot::jobs::conformance
