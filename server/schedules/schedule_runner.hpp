// The task of a server that takes the turns of schedules: it claims the records that are due, plans what each has to
// do, and stores each turn as one commit: the jobs of the occurrences, and the record with its new state. So a crash
// leaves all of a turn or nothing, and each occurrence is made once.
//
//   schedule_runner runner(broker, zones);
//   auto running = runtime::spawn(runner.keep_on(), "schedules");
//   … runner.end();
//   co_await running.join();
//
// How a turn goes:
//   1. claim        up to most_at_once records; the wait for them costs nothing
//   2. look         at the time of the store, and at the living occurrences of those whose plan asks for it: one batch
//   3. plan         plan_turn(), which is pure
//   4. commit       for each record one put_all, in which the record is replaced by the reservation of this node
//                   (put::holder). Where nothing is made, a release with the new state is enough.
// The commits of a round are queued together, so that the store executes them in few batches; and while one lane
// commits, the other one claims and plans. A round is bounded, so that the jobs of other tubes wait for no longer than
// for a batch of it:
//   - of what is committed together: it is planned and committed in portions of `most_bytes_of_portion`;
//   - of time, so that the reservations of its records do not end before: after `longest_round` no further turn is
//     planned, and the records that had none are given back. A record of which a turn took long before is planned
//     behind all others, which are committed then, and in one lane at once.
// Where the broker has no room, what has been queued is awaited; then the record comes later, and behind the others.
//
// A commit whose answer was lost is not guessed: the lane parts with its connection, and the broker gives back whatever
// that held. If the commit has happened, the reservation has ended with it and nothing is given back; if not, the
// record is claimed again and planned from what it says. In both cases the next turn begins with a look at the record.
//
// Of one record no other suffers:
//   - it cannot be planned (a wrong rule that was stored by another hand, an unknown zone, another database): the error
//     is stored in its state, and it is looked at again within `refused_waits`, or when it is changed;
//   - it is of a later version of the program: it is left for a node of that version;
//   - newer data of its zone than this node has have planned it: it is left to a node that has them, for 20 s;
//   - the store has no room for its occurrences: they are made later, none is lost;
//   - it is lost (this node has stood still): nothing is stored, and another node has taken the turn.
//
// Thread safety: keep_on() is one task; the others, any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/task.hpp>

#include "record_memory.hpp"
#include "schedule_figures.hpp"
#include "schedule_planner.hpp"
#include "zone_cache.hpp"

namespace foliot::program {

class schedule_runner {
 public:
  /// The most records of a round.
  static constexpr std::uint32_t most_at_once = 128;
  /// The most bytes of the records of a round, and one record more.
  static constexpr std::uint64_t most_bytes_at_once = std::uint64_t{4} << 20;
  /// When the puts that are planned bring so many bytes, they are committed before the next turn is planned.
  static constexpr std::uint64_t most_bytes_of_portion = std::uint64_t{4} << 20;
  /// So many living occurrences are looked at together.
  static constexpr std::size_t most_looks = 512;
  /// After this time a round plans no further turn. Well below the TTR of the records: one turn more, and the commits
  /// need some of it.
  static constexpr duration longest_round = std::chrono::seconds(5);
  /// For so long a slow record waits for the lane that has another one.
  static constexpr jobs::milliseconds slow_record_waits = std::chrono::seconds(1);
  /// For so long a record waits beside one for which the broker had no room.
  static constexpr jobs::milliseconds without_broker_waits = std::chrono::seconds(1);
  /// How many rounds may be under way.
  static constexpr std::size_t lanes = 2;
  /// When a record that cannot be planned is looked at again.
  static constexpr jobs::milliseconds refused_waits = std::chrono::hours(1);
  /// When a record comes again for which the store had no room, and one of a later version of the program: at a
  /// multiple of the time between two looks of this node, this one would come first each time.
  static constexpr jobs::milliseconds without_room_waits = std::chrono::seconds(10);
  static constexpr jobs::milliseconds record_of_others_waits{10'500};
  /// A record that was planned by newer data of its zone than this node has is left to another node: for so long, again
  /// and again, until its turn is late by so much, or by half of its plan's deadline. Well below the lateness from
  /// which an occurrence counts as missed. One that somebody has asked for by hand is not left.
  static constexpr jobs::milliseconds newer_data_wait = std::chrono::seconds(1);
  static constexpr jobs::milliseconds newer_data_wait_for = std::chrono::seconds(20);
  /// For how long a lane waits after a failure of the store, or without memory.
  static constexpr duration after_failure = duration::nanoseconds(500'000'000);

  /// How turns are planned, and the clock of the bounds of time, which must outlive the runner: for tests. `plan` is
  /// called by a thread that may block.
  struct planning {
    using function = schedule_turn(const schedule_plan&, const schedule_table&, schedule_state, jobs::utc_time now,
                                   std::span<const living_fact>);
    std::function<function> plan = [](const schedule_plan& of, const schedule_table& table, schedule_state state,
                                      jobs::utc_time now, std::span<const living_fact> facts) {
      return plan_turn(of, table, std::move(state), now, facts);
    };
    const clock* time = &monotonic_clock::instance();
  };

  /// All must outlive it.
  schedule_runner(jobs::broker& by, zone_cache& zones) : schedule_runner(by, zones, planning()) {}
  schedule_runner(jobs::broker& by, zone_cache& zones, planning how) : by_(by), zones_(zones), how_(std::move(how)) {}
  schedule_runner(const schedule_runner&) = delete;
  schedule_runner& operator=(const schedule_runner&) = delete;

  /// Takes turns until end() is called, the broker is closed, or the store fails. Goes on where memory is missing, or
  /// the store does not answer.
  [[nodiscard]] task<> keep_on();
  /// The turns that are under way end, and no further one begins.
  void end() noexcept;
  /// What the turns have come to.
  [[nodiscard]] const schedule_figures& figures() const noexcept { return figures_; }

 private:
  struct ended {};
  class record_turn;

  /// One lane: rounds, one after the other.
  task<> take_rounds();
  /// A round. False: the connection must not be used for another one. Throws what the store throws, when each record of
  /// the round has had its turn.
  task<bool> take_round(jobs::client& by);
  /// Looks at the time, and at the living occurrences that the turns want to know of.
  task<jobs::utc_time> look(jobs::client& by, std::deque<record_turn>& turns);
  /// The turns of the records, the slow ones last.
  [[nodiscard]] std::vector<record_turn*> in_order(std::deque<record_turn>& turns) const;
  /// Plans the first of these turns, at least one. Returns how many. `begun`: when the round has.
  [[nodiscard]] std::size_t plan_some(std::span<record_turn* const> left, jobs::utc_time now, instant begun);
  [[nodiscard]] bool is_over(instant begun) const { return how_.time->now() - begun >= longest_round; }
  /// Queues what was planned, and waits for it. Returns what has failed, if anything has; then each of these that could
  /// not be queued has been postponed. `begun_round`: when the round was begun.
  task<std::exception_ptr> commit(jobs::client& by, std::span<record_turn* const> planned, instant begun_round);
  /// Gives these back, without a turn.
  task<> postpone(jobs::client& by, std::span<record_turn* const> left, std::optional<jobs::milliseconds> wait);

  jobs::broker& by_;
  zone_cache& zones_;
  const planning how_;
  record_memory memory_;
  schedule_figures figures_;
  seam::atomic<bool> has_slow_lane_{false};  // a lane plans a slow record; orders nothing
  runtime::channel<ended> end_{1};
  seam::atomic<bool> ends_{false};  // orders nothing
};

}  // namespace foliot::program
