#include <foliot/jobs/limits.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/core/clock.hpp>

namespace foliot::jobs {
namespace {

using problem = std::optional<std::string>;

/// The first of these that is a problem.
template <class... Problem>
problem first_of(Problem... each) {
  problem found;
  static_cast<void>(((found = std::move(each), found.has_value()) || ...));
  return found;
}

problem bad_name(std::string_view what, std::string_view name, std::size_t longest) {
  const std::string subject(what);
  if (name.empty()) return subject + " must not be empty";
  if (name.size() > longest) {
    return subject + " must have at most " + std::to_string(longest) + " bytes, got " + std::to_string(name.size());
  }
  if (name.find('\0') != std::string_view::npos) return subject + " must not contain a zero byte";
  return std::nullopt;
}

problem bad_tube(std::string_view tube) { return bad_name("tube name", tube, longest_tube_name); }

problem bad_key(std::string_view key) { return bad_name("key", key, longest_key); }

problem bad_length(std::string_view what, milliseconds length, milliseconds shortest) {
  if (length >= shortest && length <= longest_time) return std::nullopt;
  return std::string(what) + " must be from " + std::to_string(shortest.count()) + " ms to " +
         std::to_string(longest_time.count()) + " ms, got " + std::to_string(length.count()) + " ms";
}

problem bad_due(const due_at& due) {
  if (const auto* delay = std::get_if<milliseconds>(&due)) return bad_length("delay", *delay, milliseconds(0));
  const utc_time latest = latest_due();
  const utc_time when = std::get<utc_time>(due);
  if (when >= utc_time{} && when <= latest) return std::nullopt;
  return "due time must be from 0 ms to " + std::to_string(latest.time_since_epoch().count()) + " ms after 1970, got " +
         std::to_string(when.time_since_epoch().count()) + " ms";
}

problem bad_job_name(const job_name& name) {
  const auto* key = std::get_if<job_key>(&name);
  if (key == nullptr) return std::nullopt;  // any id: a store answers `gone` to one that it has not given
  return first_of(bad_tube(key->tube), bad_key(key->key));
}

problem bad_body(std::size_t size, const job_limits& limits) {
  const std::size_t largest = std::min(limits.max_body, largest_body);
  if (size <= largest) return std::nullopt;
  return "body must have at most " + std::to_string(largest) + " bytes, got " + std::to_string(size);
}

problem bad_expectation(const put& what) {
  if (what.expected == 0 || (!what.key.empty() && what.existing == on_existing::replace)) return std::nullopt;
  return "put that expects a version must have a key, and replace the job that has it";
}

problem bad_holder(const put& what) {
  if (!what.holder) return std::nullopt;
  if (what.key.empty() || what.existing != on_existing::replace) {
    return "put with a holder must have a key, and replace the job that has it";
  }
  if (what.expected != 0) return "put with a holder must expect no version: its reservation says which job is meant";
  if (!what.once.empty()) return "put with a holder must have no once: a reservation ends once";
  return std::nullopt;
}

problem bad_tubes(std::string_view name, const std::vector<std::string>& tubes) {
  if (tubes.empty()) return std::string(name) + " must name at least one tube";
  for (const std::string& tube : tubes) {
    if (problem wrong = bad_tube(tube)) return wrong;
  }
  return std::nullopt;
}

problem bad_prefix(std::string_view prefix) {
  return prefix.empty() ? std::nullopt : bad_name("prefix", prefix, longest_tube_name);
}

problem bad_page(std::uint32_t count, std::uint32_t most, std::string_view what = "jobs") {
  if (count >= 1 && count <= most) return std::nullopt;
  return "page must have from 1 to " + std::to_string(most) + " " + std::string(what) + ", got " +
         std::to_string(count);
}

problem bad_page_of_tubes(const list_tubes& what) {
  if (!what.after.empty()) {
    if (problem wrong = bad_name("name behind which a page begins", what.after, longest_tube_name)) return wrong;
  }
  if (what.count != 0) return bad_page(what.count, most_listed, "tubes");
  // A database searches a part of the tubes only in pages, each of which has a bound.
  if (!what.prefix.empty()) return "list of all tubes has no prefix: ask for pages";
  if (!what.after.empty()) return "list of all tubes begins at the first one: ask for pages";
  if (what.with_counts) return "list of all tubes has no counts: ask for pages";
  return std::nullopt;
}

problem bad_list(const list_jobs& what) {
  for (const std::string& each : what.prefixes) {
    if (problem wrong = bad_prefix(each)) return wrong;
  }
  const bool is_of_all = !what.which || *what.which == job_state::reserved;
  if (!is_of_all && what.tube.empty()) return "list of jobs in one state, but for the reserved ones, must name a tube";
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (what.after.rank > most) return "rank of a place must be at most " + std::to_string(most);
  return bad_page(what.count, most_listed);
}

problem bad_puts(const std::vector<put>& all, const job_limits& limits);

std::string_view name_of(job_state state) {
  constexpr std::array<std::string_view, 4> names{"delayed", "ready", "reserved", "buried"};
  return names[static_cast<std::size_t>(state)];
}

/// Checks the arguments that the operation has, by their names, in the order in which problems are reported. An id and
/// a token need no check: a store answers `gone` or `not_held` to one that it has not given.
template <class Operation>
problem first_problem(const Operation& what, const job_limits& limits) {
  constexpr std::string_view name = facts_of<Operation>().name;
  problem wrong;
  const auto check = [&wrong](auto bad, const auto&... arguments) {
    if (!wrong) wrong = bad(arguments...);
  };
  if constexpr (requires { what.only; }) {
    if (what.only == job_state::ready || what.only == job_state::reserved) {
      return std::string(name) + " must ask for buried or delayed jobs, got " + std::string(name_of(*what.only));
    }
  }
  if constexpr (requires { what.state; }) {
    if (what.state == job_state::reserved) {
      return std::string(name) + " must ask for ready, delayed or buried, got reserved";
    }
  }
  if constexpr (std::is_same_v<Operation, list_jobs>) {
    if (!what.tube.empty()) check(bad_tube, what.tube);
    check(bad_list, what);
  } else if constexpr (requires { what.tube; }) {
    check(bad_tube, what.tube);
  }
  if constexpr (requires { what.tubes; }) check(bad_tubes, name, what.tubes);
  if constexpr (requires { what.name; }) check(bad_job_name, what.name);
  if constexpr (requires { what.key; }) {
    if (!what.key.empty()) check(bad_key, what.key);
  }
  if constexpr (requires { what.existing; }) {
    check(bad_holder, what);
    check(bad_expectation, what);
  }
  if constexpr (requires { what.body; }) check(bad_body, what.body.size(), limits);
  if constexpr (requires { what.due; }) check(bad_due, what.due);
  if constexpr (requires { what.ttr; }) check(bad_length, "TTR", what.ttr, milliseconds(1));
  if constexpr (requires { what.length; }) check(bad_length, "pause", what.length, milliseconds(0));
  if constexpr (requires { what.prefix; }) check(bad_prefix, what.prefix);
  if constexpr (std::is_same_v<Operation, list_tubes>) {
    check(bad_page_of_tubes, what);
  }
  if constexpr (requires { what.from; }) {
    check(bad_due, due_at(what.from));
    check([](std::uint32_t count) { return bad_page(count, most_listed_due); }, what.count);
  }
  if constexpr (requires { what.once; }) {
    if (!what.once.empty()) check(bad_length, "lifetime of once", what.once.lifetime(), milliseconds(1));
  }
  if constexpr (requires { what.puts; }) {
    check(bad_puts, what.puts, limits);
    const auto has_holder = [](const put& each) { return each.holder.has_value(); };
    if (!wrong && !what.once.empty() && std::ranges::any_of(what.puts, has_holder)) {
      return "put_all with a once must have no put with a holder: a reservation ends once";
    }
  }
  return wrong;
}

problem bad_puts(const std::vector<put>& all, const job_limits& limits) {
  if (all.empty() || all.size() > most_put_together) {
    return "put_all must have from 1 to " + std::to_string(most_put_together) + " puts, got " +
           std::to_string(all.size());
  }
  std::size_t bytes = 0;
  std::set<std::pair<std::string_view, std::string_view>> keys;
  for (const put& each : all) {
    if (problem wrong = first_problem(each, limits)) return wrong;
    if (!each.once.empty()) return "put in a put_all must have no once: the put_all has it";
    bytes += content_bytes(each);
    if (!each.key.empty() && !keys.emplace(each.tube, each.key).second) {
      return "put_all must have each key of a tube once, got '" + each.key + "' of '" + each.tube + "' twice";
    }
  }
  if (all.size() == 1 || bytes <= most_bytes_put_together) return std::nullopt;
  return "several puts of one put_all must bring at most " + std::to_string(most_bytes_put_together) + " bytes, got " +
         std::to_string(bytes);
}

}  // namespace

utc_time latest_due() noexcept { return std::chrono::floor<milliseconds>(wall_clock::to_sys(instant::latest())); }

std::optional<std::string> validate(const operation& what, const job_limits& limits) {
  return std::visit([&](const auto& each) { return first_problem(each, limits); }, what);
}
std::optional<std::string> validate(const put& what, const job_limits& limits) { return first_problem(what, limits); }

}  // namespace foliot::jobs
