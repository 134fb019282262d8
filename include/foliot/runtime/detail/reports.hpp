// What a scheduler tells of itself, for a task of its own and for guests of its runtime (runtime_gate.hpp).
//
// Thread safety: all functions from any thread, while the scheduler exists.
#pragma once

#include <string>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/runtime/statistics.hpp>
#include <foliot/runtime/task_report.hpp>

namespace foliot::runtime::detail {

class scheduler;

[[nodiscard]] FOLIOT_EXPORT runtime_statistics statistics_of(const scheduler& of);
[[nodiscard]] FOLIOT_EXPORT std::vector<task_report> task_reports(const scheduler& of);
[[nodiscard]] FOLIOT_EXPORT std::vector<task_group> task_groups_of(const scheduler& of);
[[nodiscard]] FOLIOT_EXPORT std::string task_dump(const scheduler& of);

}  // namespace foliot::runtime::detail
