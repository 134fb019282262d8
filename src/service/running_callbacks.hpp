// The callbacks of a shard that are running, as far as its stalls are reported: each on its thread's stack.
//
// Thread safety: the shard's lock guards all members.
#pragma once

#include <cstdint>
#include <source_location>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/service/detail/engine.hpp>
#include <foliot/service/firing.hpp>

namespace foliot::detail {

/// A callback that is running on the thread that made this object.
struct running_callback {
  running_callback(timer_record& of, const firing& argument, std::source_location location, duration limit) noexcept
      : timer(&of), fired(argument), armed_at(location), began(seam::monotonic_now()), report_at(began + limit) {}

  timer_record* const timer;
  const firing fired;
  const std::source_location armed_at;
  const instant began;  // by the monotonic clock
  const std::uint32_t system_thread = seam::this_thread_id();
  const void* const thread = &seam::this_thread();
  /// When the thread `foliot-stalls` reports it next.
  instant report_at;
  list_links<running_callback> links;
};

class running_callbacks {
 public:
  void add(running_callback& one) noexcept { all_.push_front(one); }
  void remove(running_callback& one) noexcept { all_.erase(one); }

  /// The oldest callback of this timer, or of all if it is null; null if none runs.
  [[nodiscard]] const running_callback* oldest(const timer_record* of) noexcept {
    const running_callback* found = nullptr;
    each([&](running_callback& one) {
      if ((of == nullptr || one.timer == of) && (found == nullptr || one.began < found->began)) found = &one;
    });
    return found;
  }
  /// The callback that is to be reported first; null if none runs.
  [[nodiscard]] running_callback* next_to_report() noexcept {
    running_callback* found = nullptr;
    each([&](running_callback& one) {
      if (found == nullptr || one.report_at < found->report_at) found = &one;
    });
    return found;
  }
  /// In the child of a fork: those of other threads, whose stacks do not exist here, are not in the list any more.
  void forget_other_threads() noexcept {
    list of_all = std::move(all_);
    while (running_callback* const one = of_all.pop_front()) {
      if (one->thread == &seam::this_thread()) all_.push_front(*one);
    }
  }

 private:
  using list = intrusive_list<running_callback, &running_callback::links>;

  template <class Function>
  void each(Function function) noexcept {
    for (running_callback* one = all_.front(); one != nullptr; one = list::next(*one)) function(*one);
  }

  list all_;
};

}  // namespace foliot::detail
