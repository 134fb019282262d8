// The log entries of one operation of a shard: gathered under the shard's lock, and written without it, by the same
// thread.
//
// Thread safety: none, one thread uses it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/service/timer_log.hpp>

#include "shard_options.hpp"

namespace foliot::detail {

/// The name of a timer. An entry holds a reference: the timer may be renamed or freed before the entry is written.
using shared_name = std::shared_ptr<const std::string>;
[[nodiscard]] inline std::string_view view_of(const shared_name& name) noexcept {
  return name == nullptr ? std::string_view() : std::string_view(*name);
}

/// For designs without a log.
class no_log_entries {
 public:
  explicit no_log_entries(const shard_options& /*options*/) noexcept {}
  static constexpr bool wanted() noexcept { return false; }
  static void write() noexcept {}
};

/// For designs with a log. An operation gathers at most four entries; the destructor writes them.
class log_entries {
 public:
  explicit log_entries(const shard_options& options) noexcept : options_(options) {
    if (options.log) [[unlikely]]
      all_.emplace();
  }
  log_entries(const log_entries&) = delete;
  log_entries& operator=(const log_entries&) = delete;
  ~log_entries() { write(); }

  /// Whether the service has a log. If not, no entry may be added.
  [[nodiscard]] bool wanted() const noexcept { return all_.has_value(); }

  /// An event of a timer. Under the lock, as the next two.
  void add(timer_event what, timer_node& node, const void* timer, instant deadline, shared_name name) noexcept {
    gathered& added = next();
    const std::size_t index = timer_node_access::place(node);
    added.entry = {what, {}, timer, deadline};
    if (what == timer_event::added) added.entry.index = static_cast<std::ptrdiff_t>(index);
    added.name = std::move(name);
  }
  /// A timer has become the earliest.
  void add_move(const void* timer, instant deadline) noexcept {
    next().entry = {timer_event::alarm_moved, {}, timer, deadline, -1, until(deadline)};
  }
  /// The thread sleeps until `deadline`.
  void add_alarm(instant deadline) noexcept {
    if (deadline.is_never()) next().entry = {timer_event::none_left, {}, nullptr, deadline};
    next().entry = {timer_event::alarm_set, {}, nullptr, deadline, -1, until(deadline)};
  }

  /// Writes the entries to the log. Without the lock.
  void write() noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      gathered& each = (*all_)[i];
      if (each.name != nullptr) each.entry.name = *each.name;
      try {
        options_.log(each.entry);
      } catch (...) {
        report();
      }
      each.name = nullptr;
    }
    count_ = 0;
  }

 private:
  struct gathered {
    timer_log_entry entry;
    shared_name name;
  };

  [[nodiscard]] gathered& next() noexcept { return (*all_)[count_++]; }
  [[nodiscard]] duration until(instant deadline) const noexcept {
    return std::max(duration::zero(), deadline - options_.time.now());
  }
  void report() noexcept {
    try {
      options_.on_exception(std::current_exception());
    } catch (...) {
      // Exceptions of the handler are swallowed: the service goes on.
    }
  }

  const shard_options& options_;
  std::size_t count_ = 0;
  std::optional<std::array<gathered, 4>> all_;  // only where there is a log: without one an operation pays a test
};

}  // namespace foliot::detail
