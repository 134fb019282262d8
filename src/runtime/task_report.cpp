// What the tasks of a runtime do, as values and as text.
#include <foliot/runtime/task_report.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/detail/reports.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/stuck_task.hpp>

#include "core/place_text.hpp"
#include "scheduler.hpp"
#include "wait_words.hpp"

namespace foliot::runtime {

namespace {

/// A length of time to three digits, downwards: "12.4s". Precondition: the length is not negative.
std::string short_text(duration length) {
  const std::int64_t count = length.count();
  std::int64_t last_digit = 1;
  while (count / last_digit >= 1000) last_digit *= 10;
  return to_string(duration::nanoseconds(count - count % last_digit));
}

/// What the tasks of a group have in common. A file's name is one object for each place, or a few: groups of equal
/// places are joined at the end.
struct group_key {
  const char* name;
  task_phase phase;
  wait_reason waits_for;
  const char* file;
  std::uint_least32_t line;

  friend bool operator==(const group_key&, const group_key&) noexcept = default;
};

struct group_hash {
  std::size_t operator()(const group_key& key) const noexcept {
    std::size_t sum = std::hash<const void*>()(key.name);
    for (const std::size_t each : {std::hash<const void*>()(key.file), std::size_t{key.line}, std::size_t(key.phase),
                                   std::size_t(key.waits_for.kind()), std::size_t{key.waits_for.cases().bits()}}) {
      sum = sum * 0x9e3779b97f4a7c15 + each;
    }
    return sum;
  }
};

/// The order of places and names, in which equal groups are neighbours.
auto identity(const task_group& group) { return std::tie(group.where, group.name, group.phase, group.waits_for); }

/// What the task waits for; nothing if it does not.
wait_reason wait_of(const detail::task_state& task, task_phase phase) noexcept {
  return phase == task_phase::waiting ? task.waits_for.load(seam::relaxed) : wait_reason();
}

void add(task_group& to, std::size_t tasks, std::optional<duration> for_so_long) {
  to.tasks += tasks;
  to.for_so_long = std::max(to.for_so_long, for_so_long);
}

}  // namespace

std::string_view to_string(task_phase phase) noexcept {
  switch (phase) {
    case task_phase::ready: return "ready";
    case task_phase::running: return "running";
    case task_phase::waiting: break;
  }
  return "waiting";
}

std::string activity_text(const task_group& group) {
  std::string text(to_string(group.phase));
  if (group.phase == task_phase::waiting) {
    // A function of foliot that was spawned waits, and no co_await of the program's is in it.
    text += detail::wait_phrase(group.waits_for);
    return group.where.empty() ? text : text + " at " + group.where;
  }
  return text + (group.where.empty() ? ", before its first co_await" : ", after " + group.where);
}

std::string to_string(const task_group& group) {
  std::string text = std::to_string(group.tasks);
  if (text.size() < 8) text.insert(0, 8 - text.size(), ' ');
  text.append("  '").append(group.name).append("' ").append(activity_text(group));
  if (group.for_so_long) text += (group.tasks == 1 ? ", " : ", up to ") + short_text(*group.for_so_long);
  return text;
}

std::string to_string(const stuck_task& one) {
  std::string text = "the task '";
  text.append(one.name).append("' has kept thread ").append(std::to_string(one.thread)).append(" for ");
  text += short_text(one.running);
  const std::string place = foliot::detail::place_text(one.resumed_at);
  return text + (place.empty() ? ", since it began" : ", since it went on from " + place);
}

namespace detail {

runtime_statistics statistics_of(const scheduler& of) { return of.statistics(); }

std::vector<task_report> task_reports(const scheduler& all) {
  std::vector<task_report> found;
  all.visit_tasks([&found](const task_state& task, task_phase phase, std::optional<duration> for_so_long) {
    found.push_back({.name = task.name(),
                     .phase = phase,
                     .waits_for = wait_of(task, phase),
                     .where = task.where.load(seam::relaxed),
                     .for_so_long = for_so_long});
  });
  return found;
}

std::vector<task_group> task_groups_of(const scheduler& all) {
  std::unordered_map<group_key, task_group, group_hash> found;
  all.visit_tasks([&found](const task_state& task, task_phase phase, std::optional<duration> for_so_long) {
    const std::source_location where = task.where.load(seam::relaxed);
    const group_key key{.name = task.name(),
                        .phase = phase,
                        .waits_for = wait_of(task, phase),
                        .file = where.file_name(),
                        .line = where.line()};
    const auto [at, is_new] = found.try_emplace(key);
    if (is_new) {
      at->second = {
          .name = task.name(), .phase = phase, .waits_for = key.waits_for, .where = foliot::detail::place_text(where)};
    }
    add(at->second, 1, for_so_long);
  });
  std::vector<task_group> sorted;
  sorted.reserve(found.size());
  for (auto& each : found) sorted.push_back(std::move(each.second));
  std::ranges::sort(sorted, {}, identity);
  std::vector<task_group> groups;
  for (task_group& each : sorted) {
    if (!groups.empty() && identity(groups.back()) == identity(each)) {
      add(groups.back(), each.tasks, each.for_so_long);
    } else {
      groups.push_back(std::move(each));
    }
  }
  std::ranges::sort(groups, [](const task_group& a, const task_group& b) {
    return a.tasks != b.tasks ? a.tasks > b.tasks : identity(a) < identity(b);
  });
  return groups;
}

std::string task_dump(const scheduler& all) {
  const std::vector<task_group> groups = task_groups_of(all);
  std::size_t tasks = 0;
  std::array<std::size_t, 3> in_phase{};
  for (const task_group& each : groups) {
    tasks += each.tasks;
    in_phase[static_cast<std::size_t>(each.phase)] += each.tasks;
  }
  const auto count_in = [&](task_phase phase) {
    return std::to_string(in_phase[static_cast<std::size_t>(phase)]) + " " + std::string(to_string(phase));
  };
  const auto some = [](std::size_t count, std::string_view what) {
    return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
  };
  std::string text = "foliot: " + some(tasks, "task") + " on " + some(all.counters().processors, "processor") + ": " +
                     count_in(task_phase::running) + ", " + count_in(task_phase::ready) + ", " +
                     count_in(task_phase::waiting) + "\n";
  for (const task_group& each : groups) text += "  " + to_string(each) + "\n";
  return text;
}

}  // namespace detail

std::vector<task_report> tasks() { return detail::task_reports(detail::this_scheduler("tasks")); }
std::vector<task_group> task_groups() { return detail::task_groups_of(detail::this_scheduler("task_groups")); }
std::string dump_tasks() { return detail::task_dump(detail::this_scheduler("dump_tasks")); }

}  // namespace foliot::runtime
