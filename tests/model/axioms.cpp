#include "axioms.hpp"

#include <array>
#include <bitset>

#include "memory.hpp"
#include "trace.hpp"

namespace foliot::model {
namespace {

using kind = instruction::kind;
constexpr std::size_t most_events = 12;
constexpr std::size_t none = most_events;

/// A relation between events: row a has b when a comes before b.
struct relation {
  std::array<std::bitset<most_events>, most_events> row{};

  [[nodiscard]] bool has(std::size_t a, std::size_t b) const { return row[a][b]; }
  void add(std::size_t a, std::size_t b) { row[a][b] = true; }
  void close() {
    for (std::size_t k = 0; k < most_events; ++k) {
      for (std::size_t a = 0; a < most_events; ++a) {
        if (row[a][k]) row[a] |= row[k];
      }
    }
  }
};

/// An event is one execution of an instruction. The first two events are the initialisations of the atomics.
struct event {
  kind what = kind::store;
  order with = order::relaxed;
  std::size_t where = 0;
  std::size_t thread = none;
  std::size_t index = 0;
  std::size_t read_from = none;
  int read = 0;
  bool writes = true;
  int value = 0;

  [[nodiscard]] bool is_fence() const { return what == kind::fence; }
  [[nodiscard]] bool seq_cst() const { return with == order::seq_cst && thread != none; }
};

class enumeration {
 public:
  explicit enumeration(const program& all) : program_(all), next_(all.size()) {
    for (std::size_t where = 0; where < 2; ++where) {
      events_.push_back({.where = where});
      stores_[where].push_back(where);
    }
  }

  std::set<std::string> outcomes() {
    step();
    return std::move(outcomes_);
  }

 private:
  void step() {
    bool over = true;
    for (std::size_t thread = 0; thread < program_.size(); ++thread) {
      if (next_[thread] == program_[thread].size()) continue;
      over = false;
      const instruction& now = program_[thread][next_[thread]++];
      execute({.what = now.what,
               .with = now.with,
               .where = now.where,
               .thread = thread,
               .index = next_[thread] - 1,
               .writes = now.what != kind::load && now.what != kind::fence,
               .value = now.value},
              now);
      --next_[thread];
    }
    if (over && is_consistent()) outcomes_.insert(outcome());
  }

  void execute(event made, const instruction& from) {
    if (made.what == kind::store || made.is_fence()) return go_on(made);
    const std::vector<std::size_t> stores = stores_[made.where];
    for (const std::size_t store : stores) {
      event with_value = made;
      with_value.read_from = store;
      with_value.read = events_[store].value;
      if (made.what == kind::compare_exchange && with_value.read != 0) {
        with_value.writes = false;
        with_value.with = from.failing;
      }
      if (with_value.writes && store != stores.back()) continue;
      go_on(with_value);
    }
  }

  void go_on(const event& made) {
    events_.push_back(made);
    if (made.writes) stores_[made.where].push_back(events_.size() - 1);
    step();
    if (made.writes) stores_[made.where].pop_back();
    events_.pop_back();
  }

  [[nodiscard]] bool is_consistent() const {
    const std::size_t count = events_.size();
    const relation happens_before = make_happens_before();
    const relation coherence = make_coherence();
    for (std::size_t a = 0; a < count; ++a) {
      if (happens_before.has(a, a)) return false;
      for (std::size_t b = 0; b < count; ++b) {
        if (!coherence.has(a, b)) continue;
        if (a == b || happens_before.has(b, a)) return false;
        if (!single_order_allows(a, b, happens_before)) return false;
      }
    }
    return true;
  }

  /// [atomics.order] 4: a is coherence-ordered before b, so a, or a fence before
  /// a, comes before b, or a fence after b, in the single order. That order is the order of execution.
  [[nodiscard]] bool single_order_allows(std::size_t a, std::size_t b, const relation& happens_before) const {
    for (std::size_t x = 0; x < events_.size(); ++x) {
      const bool for_a = events_[x].seq_cst() && (x == a || (events_[x].is_fence() && happens_before.has(x, a)));
      if (!for_a) continue;
      for (std::size_t y = 0; y < x; ++y) {
        if (events_[y].seq_cst() && (y == b || (events_[y].is_fence() && happens_before.has(b, y)))) return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool sequenced(std::size_t a, std::size_t b) const {
    if (events_[a].thread == none) return events_[b].thread != none;
    return events_[a].thread == events_[b].thread && events_[a].index < events_[b].index;
  }

  [[nodiscard]] relation make_happens_before() const {
    relation result;
    const std::size_t count = events_.size();
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        if (sequenced(a, b) || synchronizes(a, b)) result.add(a, b);
      }
    }
    result.close();
    return result;
  }

  /// A release store or fence, and an acquire load or fence, by way of a store that either heads.
  [[nodiscard]] bool synchronizes(std::size_t a, std::size_t b) const {
    if (events_[a].thread == none || !releases(events_[a].with) || !acquires(events_[b].with)) return false;
    for (std::size_t head = 0; head < events_.size(); ++head) {
      const bool released =
          events_[a].is_fence() ? events_[head].writes && sequenced(a, head) : a == head && events_[a].writes;
      if (!released) continue;
      for (std::size_t reader = 0; reader < events_.size(); ++reader) {
        const bool reads = !events_[reader].is_fence() && events_[reader].read_from != none;
        if (!reads || !is_in_release_sequence(events_[reader].read_from, head)) continue;
        if (events_[b].is_fence() ? sequenced(reader, b) : reader == b) return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool is_in_release_sequence(std::size_t store, std::size_t head) const {
    while (store != head && events_[store].read_from != none) store = events_[store].read_from;
    return store == head;
  }

  /// Reads-from, modification order, from-reads, and their transitive closure.
  [[nodiscard]] relation make_coherence() const {
    relation result;
    for (const std::vector<std::size_t>& stores : stores_) {
      for (std::size_t i = 0; i < stores.size(); ++i) {
        for (std::size_t j = i + 1; j < stores.size(); ++j) result.add(stores[i], stores[j]);
        for (std::size_t reader = 0; reader < events_.size(); ++reader) {
          if (events_[reader].read_from != stores[i]) continue;
          result.add(stores[i], reader);
          for (std::size_t j = i + 1; j < stores.size(); ++j) {
            if (stores[j] != reader) result.add(reader, stores[j]);
          }
        }
      }
    }
    result.close();
    return result;
  }

  [[nodiscard]] std::string outcome() const {
    std::string text;
    for (std::size_t thread = 0; thread < program_.size(); ++thread) {
      for (std::size_t index = 0; index < program_[thread].size(); ++index) {
        for (const event& each : events_) {
          if (each.thread == thread && each.index == index && each.read_from != none)
            text += std::to_string(each.read) + " ";
        }
      }
      text += "| ";
    }
    for (const std::vector<std::size_t>& stores : stores_) text += std::to_string(events_[stores.back()].value) + " ";
    return text;
  }

  const program& program_;
  std::vector<std::size_t> next_;
  std::vector<event> events_;  // in the order of execution
  std::array<std::vector<std::size_t>, 2> stores_;
  std::set<std::string> outcomes_;
};

}  // namespace

std::string to_string(const program& all) {
  std::string text;
  for (const std::vector<instruction>& thread : all) {
    for (const instruction& each : thread) {
      const std::string on = std::string(" ") + "xy"[each.where] + " ";
      const std::string with(to_string(each.with));
      const std::string value = std::to_string(each.value);
      switch (each.what) {
        case kind::load: text += "load" + on + with; break;
        case kind::store: text += "store" + on + with + " " + value; break;
        case kind::exchange: text += "exchange" + on + with + " " + value; break;
        case kind::compare_exchange:
          text += "compare_exchange" + on + with + " " + std::string(to_string(each.failing)) + " 0 -> " + value;
          break;
        case kind::fence: text += "fence " + with; break;
      }
      text += "; ";
    }
    text += "\n";
  }
  return text;
}

std::set<std::string> outcomes_by_axioms(const program& all) { return enumeration(all).outcomes(); }

}  // namespace foliot::model
