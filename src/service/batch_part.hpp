// A part of a call that resets or stops many timers (timer_batch.hpp): at most 64 timers, which their shards do, each
// shard all of its own at once.
//
// The calling thread gathers the records of a part, and then gives the part to the owner of its first timer, to the
// owner of the first timer that is left, and so on until none is left. A shard does its timers in their order, and
// fetches the cache lines of the timers some places ahead.
//
// Thread safety: one thread's.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <source_location>
#include <span>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/outcome.hpp>
#include <foliot/core/slack.hpp>
#include <foliot/service/detail/engine.hpp>
#include <foliot/service/timer_batch.hpp>

namespace foliot::detail {

/// The deadlines of all timers of a call: a delay from one reading of the clock, one instant, or an instant for each.
class batch_deadlines {
 public:
  explicit batch_deadlines(duration delay, duration slack) noexcept : delay_(delay), slack_(slack) {}
  explicit batch_deadlines(instant all) noexcept : each_(&deadline_), deadline_(all) {}
  explicit batch_deadlines(std::span<const instant> each) noexcept : each_(each.data()), step_(1) {}
  batch_deadlines(const batch_deadlines&) = delete;
  batch_deadlines& operator=(const batch_deadlines&) = delete;

  /// The timers that follow are those of a shard that is precise, or not. Once for all of them, so that of() need not
  /// ask.
  void begin_shard(bool precise) noexcept {
    precise_ = precise;
    if (precise && !exact_) read_ = nullptr;
  }
  /// The deadline of timer number `index` of the call, on a shard of that clock. Reads the clock if no timer of it has
  /// come before, or none whose reading is good enough, and not for timers that need none: the clock of a closed timer
  /// may not exist any more.
  [[nodiscard]] instant of(std::size_t index, const clock& time) noexcept {
    if (each_ != nullptr) return each_[index * step_];
    if (read_ != &time) read(time);
    return deadline_;
  }
  /// The delay and the slack, where the deadlines are not given.
  [[nodiscard]] bool given() const noexcept { return each_ != nullptr; }
  [[nodiscard]] duration delay() const noexcept { return delay_; }
  [[nodiscard]] duration slack() const noexcept { return slack_; }

 private:
  [[gnu::noinline]] void read(const clock& time) noexcept {
    deadline_ = coalesced(deadline_after(precise_ ? time.now() : time.now_or_later(), delay_), slack_);
    read_ = &time;
    exact_ = precise_;
  }

  const instant* each_ = nullptr;  // null: a delay
  std::size_t step_ = 0;
  instant deadline_;
  const clock* read_ = nullptr;  // the clock that deadline_ was computed from
  bool exact_ = false;           // by now(): a precise shard's timers must not be later
  bool precise_ = false;         // the present shard
  duration delay_ = duration::zero();
  duration slack_ = duration::zero();
};

class batch_part {
 public:
  static constexpr std::size_t most = 64;

  /// Takes the next timers of the call, at most `most`, the first of which is number `first`.
  void take(std::span<const timer_ref> next, std::size_t first) noexcept {
    first_ = first;
    count_ = next.size();
    next_ = 0;
    for (std::size_t i = 0; i < count_; ++i) timers_[i] = timer_ref_access::record(next[i]);
    for (std::size_t i = 0; i < count_ && i < ahead; ++i) timers_[i]->prefetch();
  }

  /// The owner of the first timer that is left; null if none is.
  [[nodiscard]] engine* next_owner() noexcept {
    while (next_ < count_ && timers_[next_] == nullptr) ++next_;
    return next_ < count_ ? &timers_[next_]->owner() : nullptr;
  }

  /// Takes the timers of that owner out of the part, and calls act(timer, number in the call) with each.
  template <class Act>
  void for_each_of(const engine& owner, Act act) {
    for (std::size_t i = next_; i < count_; ++i) {
      if (i + ahead < count_ && timers_[i + ahead] != nullptr) timers_[i + ahead]->prefetch();
      timer_record* const timer = timers_[i];
      if (timer == nullptr || &timer->owner() != &owner) continue;
      timers_[i] = nullptr;
      act(*timer, first_ + i);
    }
  }

 private:
  /// How many places ahead lines are fetched: as many misses as a processor has under way at once.
  static constexpr std::size_t ahead = 12;

  std::array<timer_record*, most> timers_;  // null: done
  std::size_t count_ = 0;
  std::size_t next_ = 0;  // all before it are done
  std::size_t first_ = 0;
};

/// A call that resets many timers.
class reset_batch : public batch_part {
 public:
  reset_batch(batch_deadlines& deadlines, std::span<std::optional<reset_result>> outcomes,
              std::source_location here) noexcept
      : deadlines_(deadlines), outcomes_(outcomes), here_(here) {}

  [[nodiscard]] batch_deadlines& deadlines() const noexcept { return deadlines_; }
  /// Where the call is.
  [[nodiscard]] std::source_location here() const noexcept { return here_; }

  /// Timer number `index` of the call is reset.
  void done(std::size_t index, reset_result found) noexcept {
    ++result_.done;
    if (!outcomes_.empty()) outcomes_[index] = found;
  }
  /// It is as it was.
  void failed(std::size_t index, std::exception_ptr why) noexcept {
    ++result_.failed;
    if (!outcomes_.empty()) outcomes_[index] = std::nullopt;
    if (result_.failure == nullptr) result_.failure = std::move(why);
  }
  [[nodiscard]] batch_result take_result() noexcept { return std::move(result_); }

 private:
  batch_deadlines& deadlines_;
  std::span<std::optional<reset_result>> outcomes_;
  std::source_location here_;
  batch_result result_;
};

/// A call that stops many timers.
class stop_batch : public batch_part {
 public:
  explicit stop_batch(std::span<stop_result> outcomes) noexcept : outcomes_(outcomes) {}

  void done(std::size_t index, stop_result found) noexcept {
    if (found == stop_result::stopped) ++stopped_;
    if (!outcomes_.empty()) outcomes_[index] = found;
  }
  [[nodiscard]] std::size_t stopped() const noexcept { return stopped_; }

 private:
  std::span<stop_result> outcomes_;
  std::size_t stopped_ = 0;
};

}  // namespace foliot::detail
