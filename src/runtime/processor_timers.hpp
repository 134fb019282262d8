// The timers of one processor: what the scheduler and the entries see of them. There are two kinds,
// foliot_timers and processor_heaps.
//
// An entry belongs to one processor from its first start on, and to another only when all that a processor has
// are moved (take_all). Who wants to stop or reset it asks its home; a home that is no longer the entry's says so,
// and the caller asks the next.
//
// `first` is an instant before which nothing here is due. It is lowered before a start returns, so that
// who looks after a full barrier either sees it or is seen by the starter. (Go: timer0When; and where timers are
// brought forward without the lock, timerModifiedEarliest beside it.)
//
// Thread safety: all from any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>

namespace foliot::runtime::detail {

/// Entries that are to be called, by who has run the timers, without a lock.
class call_list {
 public:
  void add(timer_entry& entry) noexcept {
    timer_entry_access::next_call(entry) = nullptr;
    (first_ == nullptr ? first_ : timer_entry_access::next_call(*last_)) = &entry;
    last_ = &entry;
  }
  /// Null: there is none. It may be gone once it has been called.
  [[nodiscard]] timer_entry* take_first() noexcept {
    timer_entry* const first = first_;
    if (first != nullptr) first_ = timer_entry_access::next_call(*first);
    return first;
  }

 private:
  timer_entry* first_ = nullptr;
  timer_entry* last_ = nullptr;
};

enum class at_home : std::uint8_t {
  yes,       ///< it was pending
  no,        ///< it was not
  lives_on,  ///< it has another home: nothing was done
};

class processor_timers {
 public:
  explicit processor_timers(std::uint32_t processor) noexcept : processor_(processor) {}
  processor_timers(const processor_timers&) = delete;
  processor_timers& operator=(const processor_timers&) = delete;
  virtual ~processor_timers() = default;

  /// The number of the processor whose they are.
  [[nodiscard]] std::uint32_t processor_number() const noexcept { return processor_; }

  [[nodiscard]] instant first() const noexcept {
    // Who has the lock may pass on the one to the other. acquire: then the other, read after it, has it already.
    const instant forward = modified_earliest();
    // relaxed: the caller has a barrier where it matters; what is due is found under the lock.
    return std::min(forward, instant::from_nanoseconds(first_.load(seam::relaxed)));
  }

  /// Makes this the home of an entry that has none. False: another thread was quicker.
  [[nodiscard]] bool adopt(timer_entry& entry) noexcept {
    processor_timers* nobody = nullptr;
    // relaxed: the home is only an address until its lock is held.
    return timer_entry_access::home(entry).compare_exchange_strong(nobody, this, seam::relaxed, seam::relaxed);
  }

  /// Arms the entry for `deadline`, pending or not. Throws std::bad_alloc where it has never been started, or is not
  /// pending: it is then as it was. A reset of one that is pending needs no memory.
  [[nodiscard]] virtual at_home reset(timer_entry& entry, instant deadline) = 0;
  /// The same, for an entry that comes again. Timers that keep periods run it at `first`, and then once for all the
  /// beats of `first` + k * `period` that have passed, until it is stopped, or reset; it is stopped before it is
  /// destroyed. All others run it once, as if there were no period. A `period` of zero: once.
  [[nodiscard]] virtual at_home reset_every(timer_entry& entry, instant first, duration period) {
    static_cast<void>(period);
    return reset(entry, first);
  }
  [[nodiscard]] virtual bool keeps_periods() const noexcept { return false; }
  /// Afterwards nobody here touches the entry, but for a call that is already on a call_list.
  [[nodiscard]] virtual at_home stop(timer_entry& entry) noexcept = 0;

  /// Takes out what is due, at most some number at once. True: there may be more.
  [[nodiscard]] virtual bool run_due(instant now, ready_list& ready, call_list& calls) noexcept = 0;

  /// Makes `first` exact, as far as that can be had cheaply. For who is about to sleep until then.
  virtual void refresh_first() noexcept = 0;

  /// Moves all timers of `from` here; a timer that is reset at `from` from now on comes here as well. Throws
  /// std::bad_alloc, with nothing changed; foliot's queue needs no memory.
  virtual void take_all(processor_timers& from) = 0;
  /// After all was taken from here: entries may have their home here again.
  virtual void begin_again() noexcept = 0;
  /// Empties it, at the end: no entry is pending, or at home here, any more.
  virtual void forget_all() noexcept = 0;

  [[nodiscard]] virtual std::size_t size() const noexcept = 0;

 protected:
  void lower_first(instant to) noexcept {
    if (to < first()) set_first(to);
  }
  void set_first(instant to) noexcept { first_.store(to.nanoseconds(), seam::relaxed); }
  [[nodiscard]] instant modified_earliest() const noexcept {
    return instant::from_nanoseconds(modified_earliest_.load(seam::acquire));
  }

  // With processor_heaps, an instant before which nothing is due that was brought forward: lowered by whoever does
  // that, forgotten under the lock, with release. Else never. Beside first_, as both are read in each round.
  seam::atomic<std::int64_t> modified_earliest_{instant::never().nanoseconds()};

 private:
  // Written under the lock of the timers; read by everybody who looks whether something is due.
  seam::atomic<std::int64_t> first_{instant::never().nanoseconds()};
  const std::uint32_t processor_;
};

}  // namespace foliot::runtime::detail
