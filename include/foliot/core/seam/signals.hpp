// The signal seam: the signals that come to the process, for any number of watches.
//
// The first watch of a signal installs a handler for it (sigaction); the end of the last one puts back the disposition
// that the handler replaced, unless another part of the program has installed its own handler meanwhile. No mask is
// changed. The handler runs on whichever thread the system chooses. It marks the signal as pending in each watch of it,
// and makes the descriptor of the watch readable; it allocates nothing and takes no lock.
//
// Signals of one number are counted once until they are taken, as the system counts a standard signal once that is
// blocked. In the child of a fork all watches have ended, with the dispositions from before.
//
// Real side: src/core/seam/signals.cpp. The simulated worlds have no signals. Thread safety: stated at each member.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <optional>
#include <system_error>

#include <foliot/core/export.h>

namespace foliot::inline core::seam {

/// A set of signals: the signal n is the bit n - 1.
using signal_mask = std::uint64_t;
/// The largest number of a signal.
inline constexpr int most_signals = 64;

/// The set of that signal alone; empty for a number that is no signal's.
[[nodiscard]] constexpr signal_mask mask_of(int signal) noexcept {
  return signal >= 1 && signal <= most_signals ? signal_mask{1} << (signal - 1) : 0;
}
/// Whether a program can do without the disposition of that signal: false for those that cannot be caught, for those
/// of a thread's own faults, after which a program cannot go on, for those of the C library, and for other numbers.
[[nodiscard]] FOLIOT_EXPORT bool can_be_watched(int signal) noexcept;

/// A signal that has come.
struct taken_signal {
  int number = 0;
  std::int32_t sender = 0;  ///< the process that sent it, or for SIGCHLD the child; 0 if the system sent it
};

/// Watches signals. Neither copied nor moved.
class FOLIOT_EXPORT signal_watch {
 public:
  signal_watch() noexcept = default;
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;
  /// Ends the watch. Signals that were not taken are lost. In the child of a fork it does nothing.
  ~signal_watch();

  /// Begins the watch, once. Precondition: can_be_watched() holds for each of the signals. Returns the error of the
  /// system, and errc::not_enough_memory; nothing has changed then.
  [[nodiscard]] std::error_code begin(signal_mask which) noexcept;

  /// Whether this process began the watch: false in the child of a fork. Any thread.
  [[nodiscard]] bool is_here() const noexcept;
  /// Readable with an edge each time that a signal comes. It stays this object's, which never reads it: it stays open
  /// for a later watch. Any thread.
  [[nodiscard]] int descriptor() const noexcept;
  /// Whether a signal has come that was not taken. Any thread.
  [[nodiscard]] bool has_pending() const noexcept;
  /// Takes the pending signal with the lowest number. If it came repeatedly, the sender is that of the last. Any
  /// thread.
  [[nodiscard]] std::optional<taken_signal> take() noexcept;

 private:
  struct slot;
  friend class signal_registry;

  slot* slot_ = nullptr;
  std::uint64_t process_ = 0;  // counts forks: that of the process that began the watch
};

}  // namespace foliot::inline core::seam
