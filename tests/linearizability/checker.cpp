#include "checker.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "specification.hpp"

namespace foliot::linearizability {

namespace {

using set = std::uint64_t;  // of steps, a bit for each

constexpr std::size_t most_steps = 64;
constexpr set only(std::size_t step) { return set{1} << step; }

class search {
 public:
  explicit search(const history& seen) : seen_(seen), steps_(steps_of(seen)) {
    if (steps_.size() > most_steps || seen.operations.size() > most_operations || seen.shard_of.size() > most_timers) {
      throw std::length_error("a history that is too long to be checked:\n" + describe(seen));
    }
    // Steps that must come soon are tried first: most often the first order then fits.
    std::ranges::sort(steps_, {}, [](const step& each) { return std::tuple(each.latest, each.operation, each.what); });
    before_.resize(steps_.size());
    for (std::size_t later = 0; later < steps_.size(); ++later) {
      for (std::size_t sooner = 0; sooner < steps_.size(); ++sooner) {
        if (precedes(steps_[sooner], steps_[later])) before_[later] |= only(sooner);
      }
    }
    all_ = steps_.size() == most_steps ? ~set{0} : only(steps_.size()) - 1;
  }

  /// Whether there is an order for the steps that are not done.
  bool can_end(set done, const state& now) {
    if (done == all_) return true;
    if (std::popcount(done) > std::popcount(furthest_)) furthest_ = done;
    if (has_failed(done, now)) return false;
    for (set left = all_ & ~done; left != 0; left &= left - 1) {
      const auto next = static_cast<std::size_t>(std::countr_zero(left));
      if ((before_[next] & ~done) != 0) continue;
      state then = now;
      if (take(then, steps_[next], seen_) && can_end(done | only(next), then)) return true;
    }
    failed_.insert(key(done, now));
    return false;
  }

  [[nodiscard]] std::string what_does_not_fit() const {
    history left{seen_.shard_of, {}};
    std::vector<bool> shown(seen_.operations.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if ((furthest_ & only(i)) != 0 || shown[steps_[i].operation]) continue;
      shown[steps_[i].operation] = true;
      left.operations.push_back(seen_.operations[steps_[i].operation]);
    }
    return describe(left);
  }

 private:
  static bool precedes(const step& sooner, const step& later) {
    if (sooner.operation == later.operation) return sooner.what < later.what;
    return sooner.latest < later.earliest;
  }

  [[nodiscard]] bool has_failed(set done, const state& now) const {
    return !failed_.empty() && failed_.contains(key(done, now));
  }

  static std::string key(set done, const state& now) {
    std::string bytes(sizeof(done) + sizeof(now), '\0');
    static_assert(std::has_unique_object_representations_v<state>);
    std::memcpy(bytes.data(), &done, sizeof(done));
    std::memcpy(bytes.data() + sizeof(done), &now, sizeof(now));
    return bytes;
  }

  const history& seen_;
  std::vector<step> steps_;
  std::vector<set> before_;
  set all_ = 0;
  set furthest_ = 0;
  std::unordered_set<std::string> failed_;
};

const char* name(verb what) {
  switch (what) {
    case verb::reset: return "reset";
    case verb::stop: return "stop";
    case verb::stop_and_wait: return "stop_and_wait";
    case verb::destroy: return "destroy";
    case verb::pending: return "pending";
    case verb::shut_down: return "shut_down";
    case verb::drain: return "drain";
    case verb::fire: return "fire";
    case verb::die: return "the closure dies";
  }
  return "";
}

std::string answer(const operation& seen) {
  constexpr const char* of_stop[] = {"stopped", "running", "idle"};
  constexpr const char* of_reset[] = {"superseded", "running", "idle", "closed"};
  switch (seen.what) {
    case verb::reset: return std::string(": ") + of_reset[seen.answer];
    case verb::stop:
    case verb::stop_and_wait: return std::string(": ") + of_stop[seen.answer];
    case verb::pending: return seen.answer != 0 ? ": true" : ": false";
    case verb::shut_down:
    case verb::drain: return ": " + std::to_string(seen.answer);
    default: return {};
  }
}

std::string deadlines(const operation& seen) {
  if (seen.what != verb::reset && seen.what != verb::fire) return {};
  std::string text = " for " + std::to_string(seen.earliest.nanoseconds());
  if (seen.latest != seen.earliest) text += "…" + std::to_string(seen.latest.nanoseconds());
  return text;
}

}  // namespace

std::string describe(const history& seen) {
  std::vector<const operation*> in_order;
  for (const operation& each : seen.operations) in_order.push_back(&each);
  std::ranges::sort(in_order, {}, [](const operation* each) { return each->begin; });
  std::string text;
  for (const operation* each : in_order) {
    text += "  [" + std::to_string(each->begin) + ", " + std::to_string(each->end) + "] ";
    if (each->what != verb::shut_down && each->what != verb::drain)
      text += "timer " + std::to_string(each->timer) + " ";
    text += name(each->what) + deadlines(*each) + answer(*each);
    if (each->inside) text += " (inside the callback of timer " + std::to_string(*each->inside) + ")";
    text += "\n";
  }
  return text;
}

std::optional<std::string> violation(const history& seen) {
  search orders(seen);
  if (orders.can_end(0, {})) return std::nullopt;
  return "no order of these explains their answers:\n" + describe(seen) + "the longest order leaves\n" +
         orders.what_does_not_fit();
}

}  // namespace foliot::linearizability
