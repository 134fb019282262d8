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

#include <chrono>
#include <cstddef>
#include <cstdint>
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
  /// A record that comes again later than so long after its due time has had a turn that has not changed its state.
  static constexpr jobs::milliseconds longest_leaving = std::chrono::seconds(20);
  /// From so much planning on, a record is slow.
  static constexpr duration slow_from = duration::nanoseconds(500'000'000);

  record_memory() = default;
  record_memory(const record_memory&) = delete;
  record_memory& operator=(const record_memory&) = delete;

  [[nodiscard]] bool is_slow(std::string_view key) const;
  /// The planning of a turn took so long.
  void note_planning(std::string_view key, duration taken);

  /// When this record, which is due at `due`, was due before this node left it for the first time: `due` if it did not.
  /// `state`: a digest of its state, by which it is known whether it has had a turn since. Other nodes may have left
  /// it, too, which changes its due time alone.
  [[nodiscard]] jobs::utc_time due_before_leaving(std::string_view key, std::uint64_t state, jobs::utc_time due) const;
  /// It is left until it is due again at `until`; it was due at `since` before. False: there is no room to know that.
  [[nodiscard]] bool leave(std::string_view key, std::uint64_t state, jobs::utc_time since, jobs::utc_time until);
  /// This node takes its turn.
  void take(std::string_view key);

 private:
  struct left_record {
    std::uint64_t state = 0;  // with another one, it has had a turn since
    jobs::utc_time since;
    jobs::utc_time until;
  };

  mutable mutex lock_{lock_rank::object};
  std::set<std::string, std::less<>> slow_ FOLIOT_GUARDED_BY(lock_);
  std::map<std::string, left_record, std::less<>> left_ FOLIOT_GUARDED_BY(lock_);
};

}  // namespace foliot::program
