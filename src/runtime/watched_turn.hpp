// The turn that a worker gives to a task at present, as the monitor sees it (stuck_task.hpp).
//
// Thread safety: the worker calls begin() and end(), the monitor overdue().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::runtime::detail {

/// The beginning of a task's name, for reports that are made when the task may have ended, and its owner freed the
/// name. A value.
class task_name_copy {
 public:
  task_name_copy() noexcept = default;
  explicit task_name_copy(std::string_view name) noexcept { name.copy(text_.data(), text_.size() - 1); }

  /// Followed by a zero byte.
  [[nodiscard]] const char* get() const noexcept { return text_.data(); }

 private:
  std::array<char, 64> text_{};
};

class watched_turn {
 public:
  struct report {
    duration running;
    task_name_copy name;
    std::source_location resumed_at;
    std::uint32_t thread = 0;
  };

  void begin(instant now, const task_name_copy& name, std::source_location resumed_at, duration limit) noexcept {
    const std::uint32_t thread = seam::this_thread_id();  // each time: after a fork it is another one
    const lock held(lock_);
    began_ = now;
    report_at_ = now + limit;
    name_ = name;
    resumed_at_ = resumed_at;
    thread_ = thread;
  }
  void end() noexcept {
    const lock held(lock_);
    report_at_ = instant::never();
  }
  /// A report if one is due. The next is due when the turn has taken twice as long.
  [[nodiscard]] std::optional<report> overdue(instant now) noexcept {
    const lock held(lock_);
    if (report_at_.is_never() || now <= report_at_) return std::nullopt;
    const duration running = now - began_;
    report_at_ = now + running;
    return report{.running = running, .name = name_, .resumed_at = resumed_at_, .thread = thread_};
  }

 private:
  mutex lock_{lock_rank::monitor};
  instant began_ FOLIOT_GUARDED_BY(lock_);
  instant report_at_ FOLIOT_GUARDED_BY(lock_) = instant::never();
  task_name_copy name_ FOLIOT_GUARDED_BY(lock_);
  std::source_location resumed_at_ FOLIOT_GUARDED_BY(lock_);
  std::uint32_t thread_ FOLIOT_GUARDED_BY(lock_) = 0;
};

}  // namespace foliot::runtime::detail
