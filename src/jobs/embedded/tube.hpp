// A tube of the embedded store: its row on disk, and what of it lies in memory.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <foliot/core/instant.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/jobs/job.hpp>

#include "keys.hpp"
#include "window.hpp"

namespace foliot::jobs::detail {

struct tube;

/// A timer of a tube: when its first delayed job is due, or when its pause ends.
struct tube_timer : timer_node {
  explicit tube_timer(tube& of) noexcept : owner(&of) {}
  tube* owner;
};

/// How many jobs the indexes on disk have. Reserved jobs count as ready there.
struct stored_counts {
  std::uint64_t ready = 0;
  std::uint64_t urgent = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;

  [[nodiscard]] std::uint64_t all() const noexcept { return ready + delayed + buried; }
  stored_counts& operator+=(const stored_counts& more) noexcept {
    ready += more.ready;
    urgent += more.urgent;
    delayed += more.delayed;
    buried += more.buried;
    return *this;
  }
  friend bool operator==(const stored_counts&, const stored_counts&) noexcept = default;
};

/// The counts of all tubes together, kept with each change of a tube's.
struct store_totals {
  stored_counts stored;
  std::uint64_t reserved = 0;
  std::uint64_t reserved_urgent = 0;
};

/// The counts that clients see.
[[nodiscard]] inline job_counts visible_counts(const stored_counts& stored, std::uint64_t reserved,
                                               std::uint64_t reserved_urgent) noexcept {
  return {.urgent = stored.urgent - reserved_urgent,
          .ready = stored.ready - reserved,
          .reserved = reserved,
          .delayed = stored.delayed,
          .buried = stored.buried};
}

struct tube {
  /// `totals` must outlive the tube.
  tube(tube_number its_number, std::string its_name, store_totals& of_all)
      : number(its_number), name(std::move(its_name)), totals(of_all) {}

  const tube_number number;
  const std::string name;
  store_totals& totals;

  // In the row.
  stored_counts stored;            ///< changed by the count_ functions alone, which keep the totals
  std::uint64_t buried_floor = 0;  ///< the index has no burial below this
  std::uint64_t next_burial = 0;   ///< the sequence of the next burial
  /// Every job that was due by then, and was delayed when the store looked, has become ready; milliseconds since 1970.
  std::int64_t promoted_to = std::numeric_limits<std::int64_t>::min();

  // In memory alone.
  index_window<ready_entry> ready;  ///< without the reserved jobs
  index_window<due_entry> due;
  std::set<ready_entry> reserved;  ///< the ready entries of reserved jobs
  std::uint64_t reserved_urgent = 0;
  tube_timer due_timer{*this};
  tube_timer pause_timer{*this};
  instant paused_until = instant::never();  ///< never: not paused
  bool changed = false;                     ///< its row is to be written
  bool became_ready = false;                ///< it is among the batch's ready tubes
  bool due_changed = false;                 ///< its due_timer is to be set again
  bool overdue = false;                     ///< it waits for its turn to make due jobs ready, without a timer
  std::optional<due_entry> place_by_due;    ///< its place among the tubes with delayed jobs: the first of these

  [[nodiscard]] bool paused() const noexcept { return !paused_until.is_never(); }
  [[nodiscard]] job_counts counts() const noexcept { return visible_counts(stored, reserved.size(), reserved_urgent); }

  void count_ready(jobs::priority priority, bool more) noexcept {
    count(&stored_counts::ready, more);
    if (priority < urgent_below) count(&stored_counts::urgent, more);
  }
  void count_delayed(bool more) noexcept { count(&stored_counts::delayed, more); }
  void count_buried(bool more) noexcept { count(&stored_counts::buried, more); }

  void reserve(const ready_entry& entry) {
    reserved.insert(entry);
    ++totals.reserved;
    if (entry.priority < urgent_below) ++reserved_urgent, ++totals.reserved_urgent;
  }
  void unreserve(const ready_entry& entry) {
    reserved.erase(entry);
    --totals.reserved;
    if (entry.priority < urgent_below) --reserved_urgent, --totals.reserved_urgent;
  }

  /// Nothing in the index of ready jobs sorts below this.
  [[nodiscard]] ready_entry ready_floor() const noexcept {
    constexpr ready_entry none{std::numeric_limits<jobs::priority>::max(), std::numeric_limits<job_id>::max()};
    const ready_entry lowest = ready.lowest(none);
    return !reserved.empty() && *reserved.begin() < lowest ? *reserved.begin() : lowest;
  }
  /// Nothing in the index of delayed jobs sorts below this.
  [[nodiscard]] due_entry due_floor() const noexcept {
    constexpr due_entry none{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<job_id>::max(), 0};
    return due.lowest(none);
  }

 private:
  void count(std::uint64_t stored_counts::* which, bool more) noexcept {
    const std::uint64_t one = more ? 1 : ~std::uint64_t{0};  // adding it subtracts one
    stored.*which += one;
    totals.stored.*which += one;
  }
};

/// Replaces `value` by the bytes of a tube's row.
void encode_row(const tube& what, std::string& value);

/// The name in a row; empty if the bytes are not those of a row.
[[nodiscard]] std::string_view row_name(std::string_view value);

/// Fills in a tube from its row, its windows empty and ready to read on.
void decode_row(std::string_view value, tube& what);

}  // namespace foliot::jobs::detail
