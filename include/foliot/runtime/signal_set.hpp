// Signals of the process, for tasks.
//
//   auto signals = signal_set::watch({SIGTERM, SIGINT});
//   if (!signals) …                                          // signals.error() says why
//   const auto came = co_await signals->next();
//   if (came) …                                              // came->number, came->sender
//   auto chosen = co_await select(signals->next(), requests.receive());
//
// While a set watches a signal, its disposition is a handler of foliot's, whatever it was before: a signal that the
// program ignored is reported, too, and one that ends the process does not. When the last set of the process that
// watches it is destroyed, the disposition from before the first set comes back, unless the program has installed
// another handler meanwhile. Then the signal has its usual effect again, so keep the set until the program may end.
//
// Masks are not changed. The system runs the handler on a thread that does not block the signal; foliot's own threads
// block all of them, so at least one thread of the program must not, usually that of main(). A signal that every thread
// blocks is not reported; neither is one that a task sends to its own thread by raise(), instead of kill(). System
// calls of the thread that runs the handler are restarted where the system can (SA_RESTART), and others fail with
// EINTR, as for every handler.
//
// Each set gets each signal that it watches, in whichever runtime it is. Signals of one number that come before next()
// has returned the first of them are one, real-time signals and SIGCHLD included: wait for children until there is
// none. Signals of several numbers come in the order of their numbers. (Where each real-time signal counts, with its
// value, block it and give a signalfd to a watched_descriptor.)
//
// In the child of a fork the sets have ended, and the signals have the dispositions from before.
//
// Errors, deadlines (set_read_deadline) and thread safety: as in stream.hpp. Only one task at a time may wait in
// next(). Memory: a set keeps one descriptor, which the process keeps for the next set. Complexity: O(1) for next(),
// O(sets) for a signal.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/seam/signals.hpp>
#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/net/deadlines.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime {

/// A signal that has come. A value.
struct received_signal {
  int number = 0;           ///< such as SIGTERM
  std::int32_t sender = 0;  ///< the process that sent it, for SIGCHLD the child; 0 if the system sent it
};

namespace detail {

/// The set of these signals. Throws std::invalid_argument for a signal that cannot be watched.
[[nodiscard]] FOLIOT_EXPORT seam::signal_mask watchable_mask(std::span<const int> signals);

/// A watch of signals. A wait for it ends only if a signal is pending.
class FOLIOT_EXPORT signal_source final : public wait_condition {
 public:
  [[nodiscard]] bool holds() const noexcept override { return watch.has_pending(); }

  seam::signal_watch watch;
};

/// An operation, see operation.hpp: completes when a signal has come.
class FOLIOT_EXPORT signal_operation {
 public:
  signal_operation(const descriptor_ptr& descriptor, const std::shared_ptr<signal_source>& source) noexcept
      : descriptor_(descriptor), source_(source) {}
  signal_operation(const signal_operation&) = delete;
  signal_operation& operator=(const signal_operation&) = delete;

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::signal; }
  /// Throws std::logic_error if another task waits.
  [[nodiscard]] bool try_complete();
  void begin(wait_point& wait, wait_word::source by) {
    wait_.emplace(*descriptor_, direction::in, *source_).begin(wait, by);
  }
  void end() noexcept {
    if (wait_) wait_->end();
  }
  [[nodiscard]] or_error<received_signal> result() noexcept;

 private:
  void look() noexcept;

  const descriptor_ptr descriptor_;
  const std::shared_ptr<signal_source> source_;  // null only if there is no descriptor
  std::optional<descriptor_wait> wait_;
  or_error<received_signal> found_ = received_signal();  // what try_complete() found
};

}  // namespace detail

/// Watches signals of the process. Move-only; the destructor ends the watch.
class FOLIOT_EXPORT signal_set : public detail::with_deadlines {
 public:
  /// Await it, or make it a case of a select: see next().
  using awaiter = detail::operation_awaiter<detail::signal_operation>;

  /// No signals: next() fails with io_errc::closed.
  signal_set() noexcept = default;
  signal_set(signal_set&&) noexcept = default;
  /// Ends this watch, then takes over that of `other`.
  signal_set& operator=(signal_set&& other) noexcept {
    if (this != &other) {
      close();
      with_deadlines::operator=(std::move(other));
      source_ = std::move(other.source_);
    }
    return *this;
  }
  /// Ends the watch. Signals that next() has not returned are lost. If a task waits in next(), the dispositions come
  /// back when that task has continued.
  ~signal_set() { close(); }

  /// Watches these signals from now on. Throws std::invalid_argument for a number that is no signal's, and for signals
  /// that cannot be caught (SIGKILL, SIGSTOP) or that are faults of the running thread (SIGSEGV, SIGBUS, SIGFPE,
  /// SIGILL); std::logic_error outside of a runtime; std::bad_alloc. Returns the error of the system, as when there is
  /// no descriptor left; nothing is watched then.
  [[nodiscard]] static or_error<signal_set> watch(std::span<const int> signals);
  /// The same for a list in place.
  [[nodiscard]] static or_error<signal_set> watch(std::initializer_list<int> signals) {
    return watch(std::span(signals.begin(), signals.size()));
  }

  /// Await the result, or make it a case of a select: it waits until one of the signals comes, or has come since
  /// watch() or the last next(), and gives it; or the error, io_errc::deadline_exceeded or io_errc::closed. The wait
  /// throws as those of a stream do; no signal is lost then.
  [[nodiscard("co_await it")]] awaiter next() const noexcept { return awaiter(descriptor_, source_); }

  /// From now on next() returns io_errc::closed, also to a task that waits. The signals stay caught until the set is
  /// destroyed. Any task, and repeatedly.
  void close() noexcept { end(); }

 private:
  signal_set(detail::descriptor_ptr descriptor, std::shared_ptr<detail::signal_source> source) noexcept
      : with_deadlines(std::move(descriptor)), source_(std::move(source)) {}

  std::shared_ptr<detail::signal_source> source_;
};

}  // namespace foliot::runtime
