#include "seeds.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace foliot::conformance {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t crowd = 16;  // more than a slot, a chunk or a window of the small queue takes

constexpr duration power(int bit) { return duration::nanoseconds(std::int64_t{1} << bit); }

/// A script that is written down step by step.
class writing {
 public:
  writing& clock(instant origin) { return script_.origin = origin, *this; }
  writing& reset(std::size_t timer, duration offset) { return add({step::kind::reset, timer, offset}); }
  writing& stop(std::size_t timer) { return add({step::kind::stop, timer}); }
  writing& pop(std::size_t times = 1) {
    while (times-- > 0) add({step::kind::pop_any});
    return *this;
  }
  writing& advance(duration offset, budget limit = unlimited) { return add({step::kind::expire, 0, offset, limit}); }
  /// `count` timers from `first` on, `apart` from each other, the nearest at `offset`.
  writing& row(std::size_t first, std::size_t count, duration offset, duration apart = {}) {
    for (std::size_t i = 0; i < count; ++i) reset(first + i, offset + apart * static_cast<std::int64_t>(i));
    return *this;
  }
  /// The same timers stopped, each `stride`-th.
  writing& stops(std::size_t first, std::size_t count, std::size_t stride = 1) {
    for (std::size_t i = 0; i < count; i += stride) stop(first + i);
    return *this;
  }
  writing& when_fires(std::size_t timer, step does) { return script_.reactions.push_back({timer, does}), *this; }
  /// A timer before, on and after `offset`, and the clock at each nanosecond around it.
  writing& edge(std::size_t first, duration offset) {
    reset(first, offset - 1ns).reset(first + 1, offset).reset(first + 2, offset + 1ns);
    return advance(offset - 2ns).advance(1ns).advance(1ns).advance(1ns);
  }
  operator script() const { return script_; }  // NOLINT(google-explicit-constructor)

 private:
  writing& add(const step& next) { return script_.steps.push_back(next), *this; }
  script script_;
};

constexpr step reset_to(std::size_t timer, duration offset) { return {step::kind::reset, timer, offset}; }
constexpr step stop_of(std::size_t timer) { return {step::kind::stop, timer}; }

using named = std::vector<seed>;

/// Edges that many nanoseconds ahead, as powers of two; from the epoch they are edges on the clock too,
/// because between two of them it moves on to a multiple of what was ahead.
writing edges(std::initializer_list<int> bits, instant origin = {}) {
  writing result;
  result.clock(origin);
  std::size_t timer = 0;
  for (const int bit : bits) {
    result.edge(timer % 30, power(bit)).advance(power(bit) - 1ns);
    timer += 3;
  }
  return result;
}

/// Where the slots and rings of wheels begin and end.
void add_edges(named& all) {
  all.push_back({"edges-of-fine-levels", edges({6, 7, 8, 9, 10, 12, 15, 18})});
  all.push_back({"edges-of-middle-levels", edges({20, 21, 24, 26, 27, 30, 32, 33})});
  all.push_back({"edges-of-coarse-levels", edges({36, 39, 42, 45, 48, 50, 51, 54, 55})});
  all.push_back({"edges-before-the-epoch", edges({6, 9, 12, 24, 30}, instant::from_nanoseconds(-1))});
  all.push_back({"edges-by-a-real-clock", edges({6, 9, 20, 24}, instant::from_nanoseconds(1'700'000'000'123'456'789))});
  // The clock starts a nanosecond before a multiple of them all: one ahead is the edge.
  all.push_back({"edge-one-ahead", writing()
                                       .clock(instant::from_nanoseconds((std::int64_t{1} << 30) - 1))
                                       .row(0, 3, 0ns, 1ns)
                                       .advance(0ns)
                                       .advance(1ns)
                                       .advance(1ns)});
  writing ring;
  for (const int slots : {62, 63, 64, 65}) {
    ring.reset(static_cast<std::size_t>(slots - 62), power(6) * slots);
    ring.reset(static_cast<std::size_t>(slots - 58), power(12) * slots - 1ns);
  }
  all.push_back({"edges-of-a-ring", ring.advance(power(12)).advance(power(12) * 62).advance(power(12) * 2)});
  writing milliseconds;
  for (const int count : {1, 7, 8, 9, 20, 64}) milliseconds.edge(0, 1ms * count);
  all.push_back({"edges-of-milliseconds", milliseconds});
  all.push_back(
      {"turns-of-a-wheel",
       writing().row(0, crowd, 7ms, 8ms).advance(8ms).advance(8ms).advance(64ms).row(20, 6, 511ms, 1ms).advance(1s)});
}

/// What moves from slot to slot before it fires.
void add_cascades(named& all) {
  all.push_back({"cascade-through-the-levels", writing()
                                                   .reset(0, power(40) + 1ns)
                                                   .reset(1, power(40) + 65ns)
                                                   .reset(2, power(40) + 4097ns)
                                                   .advance(power(39))
                                                   .advance(power(38))
                                                   .advance(power(38) - 1ns)
                                                   .advance(1ns)
                                                   .advance(1ns)
                                                   .advance(64ns)
                                                   .advance(1h)});
  all.push_back({"cascade-of-a-crowd",
                 writing().row(0, crowd, power(30), 100us).advance(power(30) - 1ns).advance(1ms).advance(5ms)});
  all.push_back({"cascade-in-turns",
                 writing().row(0, crowd, power(24), 1us).advance(1s, 1).advance(0ns, 2).advance(0ns, 3).advance(0ns)});
  all.push_back({"cascade-after-small-steps", writing()
                                                  .row(0, 8, 1s, 333ms)
                                                  .advance(100ms)
                                                  .advance(100ms)
                                                  .row(8, 8, 1s, 333ms)
                                                  .advance(700ms)
                                                  .advance(10ms)
                                                  .advance(5s)});
  // An empty wheel drops its slots, of every level: what is started there afterwards must fire.
  all.push_back({"all-stopped-and-started-again", writing()
                                                      .advance(0ns)
                                                      .row(0, 3, power(15) * 40)
                                                      .reset(3, power(18) * 20)
                                                      .stop(3)
                                                      .stops(0, 3)
                                                      .reset(3, power(18) * 20)
                                                      .advance(power(18) * 20)});
  // A reset that moves leaves a hole behind: what packs the slots must not wait for a stop.
  writing moved;
  moved.advance(0ns);
  for (int bit = 40; bit > 10; bit -= 3) moved.row(0, 32, power(bit));
  all.push_back({"resets-that-leave-slots-behind", moved.advance(power(11))});
  all.push_back({"finest-slot-with-a-crowd",
                 writing().row(0, crowd, power(20), 2ns).advance(power(20), 5).advance(7ns, 5).advance(1us)});
}

void add_ties(named& all) {
  all.push_back({"ties-in-start-order", writing().row(0, crowd, 1ms).advance(1ms)});
  all.push_back({"ties-put-in-order-by-resets",
                 writing().row(0, 8, 1ms).reset(3, 1ms).reset(0, 1ms).reset(5, 2ms).reset(5, 1ms).advance(1ms)});
  all.push_back({"ties-across-levels", writing()
                                           .reset(0, 1s)
                                           .advance(900ms)
                                           .reset(1, 100ms)
                                           .advance(99ms)
                                           .reset(2, 1ms)
                                           .advance(1ms - 1ns)
                                           .reset(3, 1ns)
                                           .advance(1ns)});
  all.push_back({"ties-with-stops", writing().row(0, crowd, power(21)).stops(0, crowd, 3).advance(power(21))});
}

void add_budgets(named& all) {
  all.push_back({"budget-of-none", writing().row(0, 3, 0ns).advance(0ns, 0).advance(1ms, 0).advance(0ns)});
  all.push_back({"budget-inside-a-tie",
                 writing().row(0, 12, 1ms).advance(1ms, 5).stop(6).reset(7, -1ms).advance(0ns, 3).advance(0ns)});
  all.push_back({"budget-inside-a-slot", writing()
                                             .row(0, crowd, power(21), 3us)
                                             .advance(1s, 4)
                                             .reset(1, 0ns)
                                             .stop(10)
                                             .reset(11, -1s)
                                             .advance(0ns, 4)
                                             .advance(0ns)});
  writing by_one;
  by_one.row(0, 10, 10ms, -1ms).advance(10ms, 1);
  for (int i = 0; i < 10; ++i) by_one.advance(0ns, 1);
  all.push_back({"budget-of-one", by_one});
  all.push_back(
      {"budget-and-the-clock-goes-on",
       writing().row(0, 16, 1ms, 1ms).advance(8ms, 3).advance(8ms, 3).row(0, 2, 1ms).advance(8ms, 3).advance(8ms)});
}

/// What happens to timers that are about to fire.
void add_window(named& all) {
  const writing open = writing().row(0, crowd, 10ms, 10us).advance(10ms);
  all.push_back({"stops-in-the-open-window", writing(open).stop(1).stop(15).stops(4, 8, 2).advance(1ms)});
  all.push_back({"all-of-the-open-window-stopped", writing(open).stops(1, crowd - 1).reset(0, 1us).advance(1ms)});
  all.push_back(
      {"starts-in-the-open-window",
       writing(open).reset(24, 15us).reset(25, 1ns).reset(26, 1ms).reset(27, 15us).advance(20us).advance(1ms)});
  all.push_back({"resets-out-of-the-open-window",
                 writing(open).reset(1, 1h).reset(2, 100ms).reset(9, 500us).advance(1ms).advance(2h)});
  all.push_back({"resets-into-the-open-window",
                 writing(open).reset(28, 1h).reset(29, 1s).reset(28, 5us).reset(29, 105us).advance(5us).advance(1ms)});
  all.push_back({"pops-in-the-open-window", writing(open).pop(3).reset(28, 1h).pop(30)});
}

void add_resets(named& all) {
  writing later;
  for (int i = 1; i < 10; ++i) later.reset(0, 10ms).advance(3ms);
  all.push_back({"reset-to-later-and-later", later.advance(10ms)});
  writing earlier;
  for (int bit = 40; bit > 5; bit -= 3) earlier.reset(0, power(bit));
  all.push_back({"reset-to-earlier-and-earlier", earlier.advance(power(8))});
  all.push_back({"reset-to-later-then-earlier", writing()
                                                    .row(0, 6, 1ms, 1ms)
                                                    .row(0, 6, 1s, 1ms)
                                                    .row(0, 3, 2ms, 1us)
                                                    .advance(2ms)
                                                    .row(3, 3, 1ms)
                                                    .advance(1ms)
                                                    .advance(2s)});
  all.push_back(
      {"start-again-after-each-end",
       writing().reset(0, 1ms).advance(1ms).reset(0, 1ms).stop(0).reset(0, 2ms).pop().reset(0, 3ms).advance(3ms).stop(
           0)});
  all.push_back(
      {"a-heap-of-three-levels",
       writing().row(0, 32, 32ms, -1ms).stops(3, 28, 5).row(0, 4, 16ms, 1ns).advance(16ms).pop(4).advance(1h)});
}

/// What callbacks do.
void add_reactions(named& all) {
  writing again;
  for (int i = 0; i < 6; ++i) again.when_fires(0, reset_to(0, 0ns)).when_fires(1, reset_to(1, -1s));
  all.push_back({"callback-starts-itself-at-once", writing(again).row(0, 2, 1ms).advance(1s, 3).advance(0ns)});
  writing period;
  for (int i = 0; i < 8; ++i) period.when_fires(0, reset_to(0, 1ms));
  period.reset(0, 1ms);
  for (int i = 0; i < 8; ++i) period.advance(1ms);
  all.push_back({"callback-starts-itself-again", period});
  writing chain;
  for (std::size_t i = 0; i < 6; ++i) chain.when_fires(i, reset_to(i + 1, 0ns));
  all.push_back({"callbacks-in-a-chain", chain.reset(0, 1ms).reset(3, 2ms).advance(1s)});
  all.push_back({"callback-stops-what-is-due", writing()
                                                   .when_fires(0, stop_of(1))
                                                   .when_fires(2, stop_of(0))
                                                   .when_fires(3, stop_of(9))
                                                   .row(0, 10, 1ms)
                                                   .advance(1s)});
  all.push_back({"callback-moves-what-is-due", writing()
                                                   .when_fires(0, reset_to(1, 5s))
                                                   .when_fires(2, reset_to(3, 1ns))
                                                   .when_fires(4, reset_to(8, -1s))
                                                   .row(0, 10, 1ms, 1us)
                                                   .advance(1s)
                                                   .advance(10s)});
  all.push_back({"callback-pops", writing()
                                      .when_fires(0, {step::kind::pop_any})
                                      .when_fires(1, {step::kind::pop_any})
                                      .row(0, 6, 1ms, 1us)
                                      .reset(6, 1h)
                                      .advance(1s)
                                      .pop(3)});
}

/// Far, late, and never.
void add_extremes(named& all) {
  all.push_back({"empty", writing().advance(1h).stop(0).pop()});
  writing stalls;
  for (const duration stall : {duration(1s), duration(1h), duration(24h * 30)}) {
    for (std::size_t i = 0; i < 8; ++i) stalls.reset(i, stall / 8 * static_cast<std::int64_t>(i));
    stalls.advance(stall).advance(stall);
  }
  all.push_back({"stalls", stalls});
  all.push_back({"never", writing()
                              .reset(0, duration::forever())
                              .row(1, 2, 1h)
                              .reset(1, duration::forever())
                              .advance(1h)
                              .reset(0, 1h)
                              .advance(1h)
                              .advance(duration::forever())
                              .pop()});
  all.push_back({"of-the-past", writing()
                                    .advance(1h)
                                    .reset(0, -1h)
                                    .reset(1, duration::lowest())
                                    .reset(2, 0ns)
                                    .reset(3, -1ns)
                                    .advance(0ns)
                                    .advance(1ms)});
  all.push_back({"from-the-earliest-instant", writing()
                                                  .clock(instant::earliest())
                                                  .reset(0, 1ns)
                                                  .reset(1, duration::lowest())
                                                  .reset(2, duration::forever())
                                                  .advance(1ns)
                                                  .reset(0, power(55) * 255)
                                                  .advance(24h * 255)
                                                  .advance(duration::forever())
                                                  .stop(2)});
  all.push_back({"to-the-latest-instant", writing()
                                              .clock(instant::latest() - 1h)
                                              .row(0, 4, 59min, 20s)
                                              .reset(4, 1h)
                                              .reset(5, 1h - 1ns)
                                              .advance(59min)
                                              .advance(1min - 1ns)
                                              .advance(1ns)
                                              .advance(1h)
                                              .pop(2)});
}

}  // namespace

std::vector<seed> seeds() {
  named all;
  add_edges(all);
  add_cascades(all);
  add_ties(all);
  add_budgets(all);
  add_window(all);
  add_resets(all);
  add_reactions(all);
  add_extremes(all);
  return all;
}

}  // namespace foliot::conformance
