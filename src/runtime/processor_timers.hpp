// The timers of one processor: the interface that the scheduler and the entries use. There are two implementations,
// foliot_timers and processor_heaps.
//
// An entry belongs to one processor from its first start on, its home, and to another one only when all timers of its
// home are moved there (take_all). A thread that stops or resets an entry calls stop() or reset() of the entry's home.
// If that returns `moved`, the caller goes on to the new home.
//
// first() is an instant before which no timer here is due. It is lowered before a start returns. One thread writes a
// status and then reads first(); another starts a timer and then reads the status. If each passes a full barrier
// between its write and its read, at least one of the two sees the other's write. (Go: timer0When; and for timers that
// are brought forward without the lock, timerModifiedEarliest.)
//
// Thread safety: all functions from any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/histogram.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/run_options.hpp>

#include "call_list.hpp"

namespace foliot::runtime::detail {

/// What reset() and stop() of an entry's home return.
enum class home_answer : std::uint8_t {
  was_pending,
  was_idle,
  moved,  ///< the entry has another home by now: nothing was done
};

class processor_timers {
 public:
  explicit processor_timers(std::uint32_t processor) noexcept : processor_(processor) {}
  processor_timers(const processor_timers&) = delete;
  processor_timers& operator=(const processor_timers&) = delete;
  virtual ~processor_timers() = default;

  /// The number of the processor that these timers belong to.
  [[nodiscard]] std::uint32_t processor_number() const noexcept { return processor_; }

  [[nodiscard]] instant first() const noexcept {
    // A thread with the lock may move the bound from modified_earliest_ to first_. acquire: then first_, which is read
    // after it, has the bound already.
    const instant forward = modified_earliest();
    // relaxed: a caller that must not miss a timer has a barrier; timers that are due are found under the lock.
    return std::min(forward, instant::from_nanoseconds(first_.load(seam::relaxed)));
  }

  /// Makes this the home of an entry that has none. Returns false if another thread was quicker.
  [[nodiscard]] bool adopt(timer_entry& entry) noexcept {
    processor_timers* none = nullptr;
    // relaxed: the home is only an address until its lock is held.
    return timer_entry_access::home(entry).compare_exchange_strong(none, this, seam::relaxed, seam::relaxed);
  }

  /// Arms the entry for `first`, pending or not. With a period, and if keeps_periods(), it runs at `first`, and then
  /// once for all the ticks `first` + k * `period` that have passed, until it is stopped or reset; it must be stopped
  /// before it is destroyed. Else, and with a period of zero, it runs once. Throws std::bad_alloc, with nothing
  /// changed, if the entry is not pending; the reset of a pending entry needs no memory.
  [[nodiscard]] virtual home_answer reset_every(timer_entry& entry, instant first, duration period) = 0;
  [[nodiscard]] home_answer reset(timer_entry& entry, instant deadline) {
    return reset_every(entry, deadline, duration::zero());
  }
  [[nodiscard]] virtual bool keeps_periods() const noexcept { return false; }
  /// Stops the entry. Afterwards it is not touched any more, but for a call that is already in a call_list. A thread
  /// that was about to add it there has done so.
  [[nodiscard]] virtual home_answer stop(timer_entry& entry) noexcept = 0;

  /// Runs the timers that are due, a bounded number at once. Returns whether there may be more.
  [[nodiscard]] virtual bool run_due(instant now, ready_list& ready, call_list& calls) noexcept = 0;

  /// Makes first() exact, as far as that is cheap: for a worker that is about to sleep until then.
  virtual void refresh_first() noexcept = 0;

  /// Moves all timers of `from` here; from now on timers that are reset at `from` come here as well. Throws
  /// std::bad_alloc, with nothing changed; foliot's queue needs no memory.
  virtual void take_all(processor_timers& from) = 0;
  /// After take_all() has moved the timers from here: from now on entries may have their home here again.
  virtual void reopen() noexcept = 0;
  /// At the end of the runtime: no entry is pending, or has its home here, any more.
  virtual void forget_all() noexcept = 0;

  [[nodiscard]] virtual std::size_t size() const noexcept = 0;

  /// From now on lateness() has a value for each timer that was due. Called before the first start. Throws
  /// std::bad_alloc.
  void measure_lateness() { lateness_ = std::make_unique<histogram_recorder>(); }
  /// How many timers were due so far.
  [[nodiscard]] std::uint64_t fired() const noexcept { return fired_.load(seam::relaxed); }
  /// How late they were; null if that is not measured.
  [[nodiscard]] const histogram_recorder* lateness() const noexcept { return lateness_.get(); }

 protected:
  /// A timer is due. Called under the lock of the timers.
  void count_fired(instant deadline, instant now) noexcept;
  /// The action of a due entry. Called under the lock of the timers.
  void act(timer_entry& entry, ready_list& ready, call_list& calls) noexcept {
    const timer_entry::then next = timer_entry_access::due(entry, ready);
    if (next == timer_entry::then::nothing) return;
    if (next == timer_entry::then::call) [[likely]]
      return calls.push_back(entry);
    calls.push_back(static_cast<pinned_callback&>(entry), calls_lock_);
  }
  void lower_first(instant to) noexcept {
    if (to < first()) set_first(to);
  }
  void set_first(instant to) noexcept { first_.store(to.nanoseconds(), seam::relaxed); }
  [[nodiscard]] instant modified_earliest() const noexcept {
    return instant::from_nanoseconds(modified_earliest_.load(seam::acquire));
  }

  // With processor_heaps, an instant before which no timer is due that was brought forward: lowered by the thread that
  // does that, reset to never under the lock, with release. With foliot_timers always never. Beside first_, because
  // both are read in each round.
  seam::atomic<std::int64_t> modified_earliest_{instant::never().nanoseconds()};

 private:
  // Written under the lock of the timers; read by every thread that looks whether a timer is due.
  seam::atomic<std::int64_t> first_{instant::never().nanoseconds()};
  const std::uint32_t processor_;
  seam::atomic<std::uint64_t> fired_{0};
  std::unique_ptr<histogram_recorder> lateness_;
  // For each call_list of timers that were due here. Taken only where there are pinned callbacks.
  mutex calls_lock_{lock_rank::scheduler};  // taken under the lock of the timers; under it no lock is taken
};

// The kinds of timers that a processor can have, by name (run_options::timers).

/// Throws std::invalid_argument, which lists the names, if this is none of them.
void check_timers_name(std::string_view name);

/// Makes the timers of the processor of that number. Precondition: check_timers_name(options.timers) does not throw.
/// Throws std::bad_alloc.
std::unique_ptr<processor_timers> make_timers(const run_options& options, std::uint32_t processor, instant now);

}  // namespace foliot::runtime::detail
