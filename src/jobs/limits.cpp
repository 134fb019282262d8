#include <foliot/jobs/limits.hpp>

#include <algorithm>

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
  const utc_time latest = std::chrono::floor<milliseconds>(wall_clock::to_sys(instant::latest()));
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

/// The check of each operation. A token needs none: a store answers `not_held` to one that it has not given.
struct checker {
  const job_limits& limits;

  problem operator()(const put& what) const {
    return first_of(bad_tube(what.tube), what.key.empty() ? std::nullopt : bad_key(what.key),
                    bad_body(what.body.size(), limits), bad_due(what.due),
                    bad_length("TTR", what.ttr, milliseconds(1)));
  }
  problem operator()(const claim& what) const {
    if (what.tubes.empty()) return "claim must name at least one tube";
    for (const std::string& tube : what.tubes) {
      if (problem wrong = bad_tube(tube)) return wrong;
    }
    return std::nullopt;
  }
  problem operator()(const release& what) const { return bad_due(what.due); }
  problem operator()(const kick& what) const {
    if (what.only == job_state::ready) return "kick must ask for buried or delayed jobs, got ready";
    if (what.only == job_state::reserved) return "kick must ask for buried or delayed jobs, got reserved";
    return bad_tube(what.tube);
  }
  problem operator()(const cancel& what) const { return bad_job_name(what.name); }
  problem operator()(const reschedule& what) const { return first_of(bad_job_name(what.name), bad_due(what.due)); }
  problem operator()(const fire_now& what) const { return bad_job_name(what.name); }
  problem operator()(const pause& what) const {
    return first_of(bad_tube(what.tube), bad_length("pause", what.length, milliseconds(0)));
  }
  problem operator()(const peek& what) const { return bad_job_name(what.name); }
  problem operator()(const peek_first& what) const {
    if (what.state == job_state::reserved) return "peek_first must ask for ready, delayed or buried, got reserved";
    return bad_tube(what.tube);
  }
  problem operator()(const count_tube& what) const { return bad_tube(what.tube); }
  problem operator()(const clear_tube& what) const { return bad_tube(what.tube); }
  problem operator()(const claim_job&) const { return std::nullopt; }
  problem operator()(const kick_job&) const { return std::nullopt; }
  problem operator()(const finish&) const { return std::nullopt; }
  problem operator()(const abandon&) const { return std::nullopt; }
  problem operator()(const bury&) const { return std::nullopt; }
  problem operator()(const touch&) const { return std::nullopt; }
  problem operator()(const count_all&) const { return std::nullopt; }
  problem operator()(const list_tubes&) const { return std::nullopt; }
};

}  // namespace

std::optional<std::string> validate(const operation& what, const job_limits& limits) {
  return std::visit(checker{limits}, what);
}

}  // namespace foliot::jobs
