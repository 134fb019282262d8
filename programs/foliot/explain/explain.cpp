#include "explain.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <foliot/core/expiry.hpp>
#include <foliot/core/instant.hpp>

#include "loads.hpp"
#include "page_parts.hpp"
#include "structure_access.hpp"

namespace foliot::program {

namespace {

using json = nlohmann::ordered_json;

/// foliot's own queue with few timers in a window and slots of 0.26 ms, so that some dozen timers reach every case.
struct explained_tuning {
  static constexpr std::string_view name = "foliot";
  static constexpr int base_shift = 18;
  static constexpr int widest_window = 24;
  static constexpr std::size_t window_size = 4;
  static constexpr std::size_t few_chunks = 1;
  static constexpr std::size_t moves_a_turn = 4;
  static constexpr std::size_t chunk_entries = 2;
  static constexpr std::size_t chunks_in_block = 4;
};

constexpr std::array engines{
    explained_engine{
        "foliot", "A wheel of overlapping rings, and a window in exact order",
        "Far timers lie unordered in slots, coarser the further away they are. When a slot's time comes, its "
        "timers go to finer slots, or are sorted into the window, from which they fire to the nanosecond. A "
        "later deadline is only written into the timer. Shipped slots begin at 64 ns, and a window has two "
        "thousand timers; here slots begin at 0.26 ms, and a window takes four at once."},
    explained_engine{
        "global-heap", "One heap, four children to an entry",
        "The array is in heap order: an entry comes before its children. A start climbs from the end, a stop "
        "fills its gap with the last entry. bucket-heaps has 64 of these, and epoll-heap one in its loop."},
    explained_engine{
        "quad-heap-lazy", "A heap that puts off its work",
        "A stop only leaves a zombie in the array (dashed), and a reset only marks its timer (M): the key in "
        "the array is old then. The next start or expire does the work at the head, and a pass over all "
        "entries follows when a quarter of them are zombies."},
    explained_engine{"goim-heap", "A binary heap of pointers",
                     "As the heap of Go, with two children to an entry, and equal deadlines in any "
                     "order."},
    explained_engine{
        "red-black-tree", "A balanced tree, the earliest timer at its left end",
        "Red timers (R) have black children only, and each way down passes as many black ones: so no branch "
        "is twice as long as another one. Rotations keep it so."},
    explained_engine{"hashed-wheel", "One ring of slots, with the timers of all rounds",
                     "A timer lies in the slot of its tick, and its small number counts the rounds that the hand goes "
                     "until then. The shipped wheel has 512 slots of 1 ms; this one has 16 of 8 ms."},
    explained_engine{
        "hierarchical-wheel", "Rings of slots, each coarser than the one below",
        "When the hand comes to a slot of a coarse ring, its timers cascade to finer ones. The shipped wheel "
        "has 20 slots of 1 ms on its first level; this one has 8 of 4 ms."},
    explained_engine{
        "linux-wheel", "Levels of slots without cascades",
        "A timer is queued once, on the level of its distance, and fires at the end of its slot there: late "
        "by up to an eighth of its timeout. This is the shipped wheel."},
    explained_engine{"erlang-wheel", "A ring of circular lists, and a sentinel",
                     "The timers of the slot that fires are moved into the ring of the sentinel, so that callbacks may "
                     "start and stop timers meanwhile. The shipped wheel has 65,536 slots of 1 ms; this one has 32."},
};

/// A timer with a number.
template <class Node>
struct numbered : Node {
  unsigned number = 0;
};

/// Plays one load on one queue, and keeps what it sees.
template <class Queue>
class recorder {
 public:
  template <class... Argument>
  explicit recorder(const timer_load& load, Argument&&... arguments)
      : load_(load),
        queue_(std::forward<Argument>(arguments)...),
        timers_(std::make_unique<timer[]>(load.timers)),
        states_(load.timers, 'n') {
    for (unsigned i = 0; i < load.timers; ++i) timers_[i].number = i + 1;
  }
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;
  ~recorder() {
    while (queue_.pop_any() != nullptr) {
    }
  }

  [[nodiscard]] json play() {
    static_cast<void>(queue_.expire(now_, 1, [](typename Queue::node_type&) {}));  // so that it knows the time
    turn(0, "The queue is empty.");
    for (const timer_action& each : load_.actions) {
      const instant when = instant{} + duration(each.when);
      pass_until(when);
      now_ = when;
      act(each);
    }
    pass_until(instant::never());
    json made = json::object();
    made["name"] = load_.name;
    made["about"] = load_.about;
    made["timers"] = load_.timers;
    made["steps"] = std::move(steps_);
    return made;
  }

 private:
  using timer = numbered<typename Queue::node_type>;
  static constexpr int most_wake_ups = 2000;  // of a load: a bound, in case a queue wakes for nothing for ever

  static unsigned number_of(const timer_node& node) noexcept { return static_cast<const timer&>(node).number; }

  void act(const timer_action& what) {
    timer& it = timers_[what.timer];
    const instant deadline = now_ + duration(what.delay);
    if constexpr (requires { queue_.forward(now_); }) static_cast<void>(queue_.forward(now_));
    switch (what.what) {
      case timer_action::kind::start:
      case timer_action::kind::reset: {
        const bool was_pending = it.pending();
        const instant before = it.deadline();
        static_cast<void>(queue_.reset(it, deadline));
        states_[what.timer] = 'p';
        const char* const how = !was_pending ? "starts" : deadline < before ? "is brought forward" : "is postponed";
        return turn(it.number, fmt::format("Timer {} {}: due at {}.", it.number, how, access::text_of(deadline)));
      }
      case timer_action::kind::stop: {
        const bool was_pending = queue_.stop(it);
        if (was_pending) states_[what.timer] = 's';
        return turn(it.number,
                    fmt::format("Timer {} is stopped{}.", it.number, was_pending ? "" : ", and has fired before"));
      }
    }
  }

  /// Sleeps from deadline to deadline as a thread does, until `end`, and fires what is due.
  void pass_until(instant end) {
    while (queue_.size() > 0) {
      const instant next = std::max(queue_.next_deadline(), now_);
      if (next.is_never() || next >= end) return;
      if (++wake_ups_ > most_wake_ups) throw std::logic_error(fmt::format("{} wakes too often", Queue::name));
      now_ = next;
      wake();
    }
  }

  void wake() {
    bool has_fired = false;
    for (;;) {
      unsigned fired = 0;
      const expiry brought = queue_.expire(now_, 1, [&](typename Queue::node_type& node) { fired = number_of(node); });
      if (fired == 0) {
        if (!brought.more) break;
        turn(0, fmt::format("{}: timers are moved, and the turn ends before the work does.", access::text_of(now_)));
        continue;
      }
      has_fired = true;
      states_[fired - 1] = 'f';
      const duration late = now_ - timers_[fired - 1].deadline();
      turn(fired, fmt::format("{}: timer {} fires{}.", access::text_of(now_), fired,
                              late > duration::zero()
                                  ? fmt::format(", {} after its deadline", access::text_of(instant{} + late))
                                  : std::string()));
    }
    if (!has_fired) {
      turn(0, fmt::format("{}: the thread wakes, and nothing is due.", access::text_of(now_)));
    }
  }

  /// Adds a step.
  void turn(unsigned touched, std::string text) {
    if (const check_result fine = queue_.check(); !fine) throw std::logic_error(fine.error());
    json step = json::object();
    step["now"] = static_cast<double>(now_.nanoseconds() / 1000) / 1000;
    step["text"] = std::move(text);
    step["touched"] = touched == 0 ? json::array() : json::array({touched});
    step["states"] = states_;
    json deadlines = json::array();
    for (unsigned i = 0; i < load_.timers; ++i) {
      deadlines.push_back(
          states_[i] == 'n' ? json() : json(static_cast<double>(timers_[i].deadline().nanoseconds() / 1000) / 1000));
    }
    step["deadlines"] = std::move(deadlines);
    step["picture"] = access::of(queue_, number_of);
    steps_.push_back(std::move(step));
  }

  using access = detail::structure_access;

  const timer_load& load_;
  Queue queue_;
  std::unique_ptr<timer[]> timers_;
  std::string states_;
  instant now_{};
  int wake_ups_ = 0;
  json steps_ = json::array();
};

template <class Queue, class... Argument>
json play_all(const Argument&... arguments) {
  json loads = json::array();
  for (const timer_load& each : explained_loads()) loads.push_back(recorder<Queue>(each, arguments...).play());
  return loads;
}

json loads_of(std::string_view engine) {
  using std::chrono::milliseconds;
  if (engine == "foliot") return play_all<basic_foliot_queue<explained_tuning>>(instant{});
  if (engine == "global-heap") return play_all<quad_heap>();
  if (engine == "quad-heap-lazy") return play_all<quad_heap_lazy>();
  if (engine == "goim-heap") return play_all<goim_heap>();
  if (engine == "red-black-tree") return play_all<red_black_tree>();
  if (engine == "hashed-wheel") return play_all<chosen_hashed_wheel>(wheel_shape{.tick = milliseconds(8), .slots = 16});
  if (engine == "hierarchical-wheel") {
    return play_all<chosen_hierarchical_wheel>(wheel_shape{.tick = milliseconds(4), .slots = 8});
  }
  if (engine == "linux-wheel") return play_all<linux_wheel>();
  return play_all<basic_erlang_wheel<32>>();
}

/// As text in a script element: no `</` and no `<!--` in it.
std::string as_script_data(const json& what) {
  std::string text = what.dump();
  std::string made;
  made.reserve(text.size());
  for (const char each : text) {
    if (each == '<') {
      made += "\\u003c";
    } else {
      made += each;
    }
  }
  return made;
}

/// Replaces the one place of `what`. Throws std::logic_error if there is none: the page lacks a part.
void fill_in(std::string& page, std::string_view what, std::string_view by) {
  const std::size_t at = page.find(what);
  if (at == std::string::npos) throw std::logic_error(fmt::format("the page has no place for {}", what));
  page.replace(at, what.size(), by);
}

}  // namespace

std::span<const explained_engine> explained_engines() noexcept { return engines; }

json recording_of(std::string_view engine) {
  const auto it = std::ranges::find(engines, engine, &explained_engine::name);
  if (it == engines.end()) throw std::logic_error(fmt::format("there is no engine '{}' to explain", engine));
  json made = json::object();
  made["engine"] = it->name;
  made["title"] = it->title;
  made["about"] = it->about;
  made["loads"] = loads_of(engine);
  return made;
}

std::string page_of(std::string_view engine) {
  const json recording = recording_of(engine);
  std::string page(page_part("explain.html"));
  fill_in(page, "@title@", fmt::format("{}: {}", engine, recording["title"].get<std::string>()));
  fill_in(page, "@style@", page_part("explain.css"));
  fill_in(page, "@recording@", as_script_data(recording));
  fill_in(page, "@program@", page_part("explain.js"));
  return page;
}

}  // namespace foliot::program
