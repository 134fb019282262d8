// What the schedule_runner of a process remembers of records from one turn to the next. None of it is needed for a
// right turn: it keeps records from hindering others.
//
//   - The slow ones: those whose last turn took long to plan.
//   - Those that were left to nodes with newer data of their zones, and since when.
//
// Each of the two has at most `most` records. Beyond that, a slow one is not known as such, and one that is to be left
// is not left.
//
// Thread safety: any thread. O(log n).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/job.hpp>

namespace foliot::program {

class record_memory {
 public:
  static constexpr std::size_t most = 10'000;
  /// From so much planning on, a record is slow.
  static constexpr duration slow_from = duration::nanoseconds(500'000'000);

  record_memory() = default;
  record_memory(const record_memory&) = delete;
  record_memory& operator=(const record_memory&) = delete;

  [[nodiscard]] bool is_slow(std::string_view key) const;
  /// The planning of a turn took so long.
  void note_planning(std::string_view key, duration taken);

  /// When this record, which is due at `due`, was due before it was left for the first time: `due` if it was not.
  [[nodiscard]] jobs::utc_time due_before_leaving(std::string_view key, jobs::utc_time due) const;
  /// It is left until it is due again at `until`; it was due at `since` before. False: there is no room to know that.
  [[nodiscard]] bool leave(std::string_view key, jobs::utc_time since, jobs::utc_time until);
  /// This node takes its turn.
  void take(std::string_view key);

 private:
  struct left_record {
    jobs::utc_time since;
    jobs::utc_time until;  // with another due time, it has had a turn since
  };

  mutable mutex lock_{lock_rank::object};
  std::set<std::string, std::less<>> slow_ FOLIOT_GUARDED_BY(lock_);
  std::map<std::string, left_record, std::less<>> left_ FOLIOT_GUARDED_BY(lock_);
};

}  // namespace foliot::program
