// The records of schedules, as a client sees them by its rights: it makes schedules, changes and removes them, and
// looks at them. The occurrences are made elsewhere (schedule_runner.hpp).
//
//   schedule_records records(client, zones, [&known] { known.expect(); });
//   auto putting = records.put("mail", "nightly", plan, {});
//   const schedule_records::answer made = co_await putting;   // done, is_new; or what stood in the way
//
// A schedule is a job in the server's own tube `tube_of_schedules`: its key is the schedule's tube and name
// (key_of_schedule()), its body the plan, its history the state. A request that changes one reserves the record, has
// the pure functions beside the planner compute the new plan and state, and replaces the record as its holder: so of a
// turn and two requests each sees what the one before has left, and one that dies in between has changed nothing. Where
// a turn or another request has the record, a request tries again for `waits_for_turn`, and is then told `busy`.
//
// Rights: to look needs the scope `look`; to put, change, run and remove needs `put`, and to cancel the occurrences
// with it `change`, too. Without the scope a call throws access_refused. A schedule of a tube that is out of the rights
// is answered as one that does not exist; a put into such a tube throws access_refused, as a put of a job does.
//
// An answer of a change shows the schedule (`seen`) only to a client that may look; its version is in every answer.
//
// Where the store does not answer (store_unavailable), a change is in doubt if the exception says so. It is safe to ask
// again with the version that was seen: a change that has happened has another version.
//
// Thread safety: as the authorized_client, one task. Each call costs some operations, whatever there is in the store;
// list() one more for each schedule on its page, and remove() for each living occurrence of the schedule. No call reads
// all schedules.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/task.hpp>

#include "server/access/authorized_client.hpp"
#include "server/schedules/schedule_plan.hpp"
#include "server/schedules/schedule_planner.hpp"
#include "server/schedules/schedule_record.hpp"
#include "server/schedules/schedule_state.hpp"
#include "server/schedules/zone_cache.hpp"

namespace foliot::program {

/// Names a state of a schedule: a schedule that is removed and made again has another incarnation. For ETags.
struct schedule_version {
  std::uint64_t incarnation = 0;
  std::uint64_t version = 0;  ///< rises by 1 with each change of the plan

  friend bool operator==(const schedule_version&, const schedule_version&) noexcept = default;
};

/// A schedule as its record shows it.
struct known_schedule {
  std::string tube;
  std::string name;
  jobs::utc_time now{};       ///< the store's time at the look
  bool is_in_turn = false;    ///< a turn, or a request, has its record
  schedule_plan plan = {};    ///< as the user has set it
  schedule_state state = {};  ///< the cursor, the living occurrences, the last ones, the counters
  /// Not empty: the record was made by another hand, or by a later version of the program, and cannot be read. Plan and
  /// state are empty then.
  std::string fault = {};
  /// list(): what the rules mean in English, with all that the plan excludes. Empty: it cannot be followed.
  std::string words = {};
};

class schedule_records {
 public:
  /// The most schedules on a page.
  static constexpr std::size_t most_on_page = 100;
  /// How many records are in memory at once, where many are looked at. Each may have largest_body_of_server.
  static constexpr std::size_t most_looks = 4;
  /// How long a change waits for the turn that has the record, in all, and how long between two tries.
  static constexpr duration waits_for_turn = std::chrono::seconds(2);
  static constexpr duration between_tries = std::chrono::milliseconds(50);
  /// The TTR of a record: how long a node that dies in a turn keeps the others from it, at the most.
  static constexpr jobs::milliseconds longest_turn = std::chrono::seconds(30);

  /// What came of a request. With all but `done` nothing has changed.
  enum class result : std::uint8_t {
    done,
    none,            ///< there is no such schedule for the client
    exists,          ///< condition::must_be_new: there is one
    other_version,   ///< condition::expected: the schedule has another version (`version`), or there is none (0, 0)
    busy,            ///< a turn of it, or another request, has its record
    refused,         ///< the plan is wrong, or the request does not apply: `why`, and `field` of the plan or request
    too_long,        ///< tube and name, the plan, or the state have no room in a record: `why`
    other_database,  ///< the tube lies in another database than the schedules: its turns could not be one commit
    unreadable,      ///< the record was made by another hand or a later version: `why`. remove() and put() replace it
    no_space,        ///< the store has no room to write that down
  };
  /// When a change is wanted.
  struct condition {
    bool must_be_new = false;                       ///< If-None-Match: *
    bool must_exist = false;                        ///< If-Match: *
    std::optional<schedule_version> expected = {};  ///< If-Match
  };
  struct answer {
    result what = result::done;
    schedule_version version = {};                    ///< of the schedule now; (0, 0): there is none
    std::optional<known_schedule> seen = {};          ///< the schedule now, as far as the client may look
    bool is_new = false;                              ///< put(): it was made
    bool is_same = false;                             ///< nothing was to be changed, and nothing was
    std::string why = {};                             ///< a sentence
    std::string field = {};                           ///< the place of what is wrong, as a JSON pointer: "/rules/0"
    std::optional<std::chrono::sys_seconds> at = {};  ///< skip(): the instant that is skipped; run(): the one it is for
    std::string key = {};                             ///< run(): of the occurrence's job, in the tube
    std::uint64_t count = 0;                          ///< backfill(): how many occurrences it makes
    std::optional<backfill_count> backfilled = {};    ///< backfill(): the same, and more of it
  };
  /// What has become of a living occurrence of a schedule that was removed.
  enum class fate : std::uint8_t {
    kept,       ///< its job waits, and was to be kept
    cancelled,  ///< its job waited, and has ended
    at_work,    ///< a worker has its job: it is not ended
    gone,       ///< its job had ended before
  };
  struct occurrence_fate {
    std::chrono::sys_seconds nominal{};
    std::string key;  ///< of its job, in the tube
    fate what = fate::kept;
  };
  struct removed_answer {
    result what = result::done;
    schedule_version version = {};  ///< with other_version: the one that there is
    std::string why = {};
    /// Those that the schedule knew to be living, the earliest first: the latest schedule_state::most_living.
    std::vector<occurrence_fate> occurrences = {};
    /// So many were made, over all times, and not followed to their ends: their jobs may be there, and stay.
    std::uint64_t not_followed = 0;
  };
  /// Which schedules.
  struct filter {
    std::string tube = {};    ///< empty: those of all tubes with the prefix
    std::string prefix = {};  ///< of the names of tubes
  };
  /// Where a page begins: behind this place. Text for clients that means nothing to them.
  struct page {
    /// The plans are without the jobs, and without what they exclude: these may be large.
    std::vector<known_schedule> schedules;
    std::string next = {};  ///< empty: this is the last page
  };

  /// All must outlive it. `expect`: called before a record is put, for what knows whether there are records
  /// (server_jobs::expect()); may be empty.
  schedule_records(authorized_client& client, zone_cache& zones, std::function<void()> expect)
      : client_(client), zones_(zones), expect_(std::move(expect)) {}

  /// Makes a schedule, or changes its plan, which keeps its cursor, and what is due already. A plan that is the same
  /// changes nothing (`is_same`).
  [[nodiscard]] task<answer> put(std::string tube, std::string name, schedule_plan plan, condition when);
  /// What a put() of this plan would make of the schedule, or why it would be refused: `seen` has the plan and the
  /// state behind it. Nothing is stored, and no turn waits. To a client that may not look it is that of a new schedule.
  [[nodiscard]] task<answer> preview(std::string tube, std::string name, schedule_plan plan);
  [[nodiscard]] task<answer> find(std::string tube, std::string name);
  /// A page of schedules, in the order of the times at which they have something to do. `after` is empty for the first
  /// page, else page::next of the one before. A page may have few schedules, or none, though it is not the last one:
  /// at most jobs::most_searched records are searched for it. A schedule that has a turn meanwhile may be on two pages.
  /// `count`: 1 to most_on_page. `together`: so many records are read at once. Nothing if `after` is no place.
  [[nodiscard]] task<std::optional<page>> list(filter which, std::string after, std::size_t count,
                                               std::size_t together = 1);
  /// Ends the schedule. Its occurrences that wait stay, or are cancelled; those at work stay.
  [[nodiscard]] task<removed_answer> remove(std::string tube, std::string name, bool cancels, condition when);

  /// From now on it makes no occurrences; those that it would have made are skipped, not missed. `until`: when it goes
  /// on by itself.
  [[nodiscard]] task<answer> pause(std::string tube, std::string name, std::string note,
                                   std::optional<std::chrono::sys_seconds> until, condition when);
  [[nodiscard]] task<answer> resume(std::string tube, std::string name, condition when);
  /// Skips exactly one occurrence: the one at this instant, or the next that is not skipped yet.
  [[nodiscard]] task<answer> skip(std::string tube, std::string name, std::optional<std::chrono::sys_seconds> at,
                                  condition when);
  /// Makes an occurrence by hand, at once, also of a schedule that is paused or has ended. The answer comes when the
  /// wish is stored; the occurrence is made by the next turn.
  [[nodiscard]] task<answer> run(std::string tube, std::string name, condition when);
  /// Makes the occurrences of a stretch of the past, with both its ends, that the schedule has not made yet.
  /// `is_dry`: only counts them.
  [[nodiscard]] task<answer> backfill(std::string tube, std::string name, std::chrono::sys_seconds from,
                                      std::chrono::sys_seconds to, bool is_dry, condition when);

 private:
  /// A record that this request has reserved.
  struct held_record {
    jobs::reservation token;
    schedule_record record;
    jobs::utc_time now;  ///< the store's time at the claim
    jobs::utc_time due;  ///< of the record, before it
  };
  /// What reserving a record has come to: `done`, and it is held; or why it is not.
  struct hold_answer {
    result what = result::done;
    std::optional<held_record> held = {};
  };
  /// A change of a state. Fills the answer, also if it refuses; false: nothing is to be stored. Called on a thread that
  /// may block.
  using state_change = std::function<bool(const held_record&, schedule_state&, answer&)>;
  class lister;

  /// Whether a schedule of this tube may exist for the client. Throws access_refused if the scope is missing.
  [[nodiscard]] bool may(scope wanted, const std::string& tube) const;
  void tell(std::string_view what, const std::string& tube, const std::string& name) const;
  /// Reserves the record; waits for a turn that has it.
  task<hold_answer> hold(std::string key);
  /// Gives the record back as it was.
  task<> give_back(const held_record& held);
  /// Awaits what is done with a record that is held. If that throws, the record is given back.
  template <class Result>
  task<Result> or_give_back(jobs::reservation token, task<Result> doing);
  /// Puts a record. `why`: what is wrong with it if it is too long.
  task<result> store(jobs::put record, std::string& why);
  /// The same for a turn.
  task<jobs::put_all_answer> store(jobs::put_all turn, std::string& why);
  /// What the conditions say about a schedule that there is: `done`, or why not.
  [[nodiscard]] static answer check(const condition& when, const schedule_record& known);
  /// An answer that shows the schedule with this plan and state, as far as the client may look.
  [[nodiscard]] answer shown(const held_record& held, const schedule_plan& plan, const schedule_state& state) const;

  /// What is wrong with the names, and with the plan as their record; nothing if it has room. Throws access_refused if
  /// the client may not put into the tube.
  [[nodiscard]] std::optional<answer> fault_of_put(const std::string& tube, const std::string& name,
                                                   const schedule_plan& plan) const;
  /// put() of a schedule that is not there: `exists` if another request was quicker.
  task<answer> make(std::string key, std::string tube, std::string name, schedule_plan plan);
  /// put() of one that is. Nothing: there is more to do before it can be changed.
  task<std::optional<answer>> replace(held_record held, schedule_plan plan, condition when);
  struct planned_change;
  task<planned_change> plan_change(const held_record& held, const schedule_plan& plan);
  task<std::optional<answer>> store_change(held_record held, schedule_plan plan, planned_change change);
  /// The same, for a record that cannot be read or followed: it begins anew.
  task<answer> begin_anew(held_record held, schedule_plan plan);
  /// Whether the records and this tube are in different databases, and the store's time. Leaves nothing behind.
  struct place_answer {
    bool is_elsewhere = false;
    jobs::utc_time now;
  };
  task<place_answer> look_at_place(std::string tube);
  task<living_look> look_at_living(const schedule_record& of);
  /// The first turn of a plan, or what is wrong with it.
  struct begin_answer {
    std::optional<plan_error> wrong;
    schedule_turn turn;
  };
  task<begin_answer> begin(const schedule_plan& plan, const std::string& tube, const std::string& name,
                           jobs::utc_time now);
  /// Reserves the record, changes its state, and gives it back, due at once for a turn.
  task<answer> change(std::string tube, std::string name, condition when, std::string told, state_change how);
  task<answer> change_held(held_record held, condition when, state_change how);
  [[nodiscard]] state_change backfill_of(std::chrono::sys_seconds from, std::chrono::sys_seconds to, bool is_dry) const;
  /// backfill() that only counts: it looks at the record, and holds up no turn.
  task<answer> count(std::string tube, std::string name, std::chrono::sys_seconds from, std::chrono::sys_seconds to,
                     condition when);
  task<removed_answer> remove_held(held_record held, bool cancels, condition when);
  task<std::vector<occurrence_fate>> end_living(const schedule_record& of, bool cancels);
  /// The table of a plan, or why there is none.
  [[nodiscard]] std::expected<schedule_table, plan_error> table_of(const schedule_plan& plan, const std::string& tube,
                                                                   const std::string& name) const;

  authorized_client& client_;
  zone_cache& zones_;
  std::function<void()> expect_;
};

}  // namespace foliot::program
