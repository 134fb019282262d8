// The real side of the signal seam: Linux.
//
// Each watch has a slot, with an eventfd. Slots are in a list that only grows, and a slot that is free is used again,
// with its eventfd: the handler, which takes no lock, may look at any slot at any time, and never writes to a
// descriptor that has become another file's.
#include <foliot/core/seam/signals.hpp>

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <new>

#include <foliot/core/annotations.hpp>
#include <foliot/core/contract.hpp>
#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::inline core::seam {

namespace {

constexpr std::size_t index_of(int signal) noexcept { return static_cast<std::size_t>(signal - 1); }

template <class Function>
void for_each_signal(signal_mask which, Function function) {
  for (; which != 0; which &= which - 1) function(std::countr_zero(which) + 1);
}

std::error_code last_error() noexcept { return {errno, std::generic_category()}; }

/// The process that the system says has sent the signal. Other causes keep something else in that place.
std::int32_t sender_of(const siginfo_t& about) noexcept {
  const bool from_process = about.si_code == SI_USER || about.si_code == SI_QUEUE || about.si_code == SI_TKILL;
  return from_process || about.si_signo == SIGCHLD ? about.si_pid : 0;
}

}  // namespace

struct signal_watch::slot {
  // The handler reads it on any thread; written under the registry's lock. relaxed: publishes nothing.
  atomic<signal_mask> watched{0};
  // The handler adds signals, take() removes them. release and acquire: the sender is there.
  atomic<signal_mask> pending{0};
  std::array<atomic<std::int32_t>, most_signals> senders{};
  int event = -1;         // written before the slot is in the list, and in the child of a fork
  slot* next = nullptr;   // written before the slot is in the list
  bool is_taken = false;  // under the registry's lock
};

/// The slots, and the dispositions that the handler has replaced.
class signal_registry final : private fork_witness {
 public:
  static signal_registry& only() noexcept {
    // Never destroyed: there may be forks until the process ends.
    alignas(signal_registry) static std::array<std::byte, sizeof(signal_registry)> memory;
    static auto* const one = new (memory.data()) signal_registry;
    return *one;
  }

  [[nodiscard]] std::error_code begin(signal_watch& watch, signal_mask which) noexcept {
    const lock held(lock_);
    signal_watch::slot* const mine = free_slot();
    if (mine == nullptr) return last_error();
    mine->pending.store(0, relaxed);
    mine->watched.store(which, relaxed);
    signal_mask caught = 0;
    std::error_code failure;
    for_each_signal(which, [&](int signal) {
      lock_.assert_held();
      if (!failure && !(failure = catch_signal(signal))) caught |= mask_of(signal);
    });
    if (failure) {
      mine->watched.store(0, relaxed);
      release_signals(caught);
      return failure;
    }
    mine->is_taken = true;
    watch.slot_ = mine;
    watch.process_ = process_;
    return {};
  }

  [[nodiscard]] bool is_here(const signal_watch& watch) const noexcept {
    const lock held(lock_);
    return watch.process_ == process_;
  }

  void end(const signal_watch& watch) noexcept {
    const lock held(lock_);
    if (watch.process_ != process_) return;  // the child of a fork, where all watches have ended
    release_signals(watch.slot_->watched.exchange(0, relaxed));
    watch.slot_->is_taken = false;
  }

 private:
  using slot = signal_watch::slot;

  signal_registry() noexcept { witness_forks(); }
  ~signal_registry() override = default;

  /// The process's handler. errno belongs to the code that the signal has interrupted.
  static void handle(int signal, siginfo_t* about, void* /*context*/) noexcept {
    const int kept = errno;
    const signal_mask bit = mask_of(signal);
    const std::int32_t sender = sender_of(*about);
    // acquire: pairs with the release in free_slot(): the slots are complete.
    for (slot* each = slots_.load(acquire); each != nullptr; each = each->next) {
      if ((each->watched.load(relaxed) & bit) == 0) continue;
      each->senders[index_of(signal)].store(sender, relaxed);
      // release: pairs with the acquire in take(). A signal that is pending already has made the descriptor readable.
      if ((each->pending.fetch_or(bit, release) & bit) != 0) continue;
      const std::uint64_t one = 1;
      static_cast<void>(!::write(each->event, &one, sizeof(one)));  // fails only past 2^64 - 2, readable already
    }
    errno = kept;
  }

  /// Null, with errno, if the system refuses a descriptor or memory.
  [[nodiscard]] slot* free_slot() noexcept FOLIOT_REQUIRES(lock_) {
    slot* found = slots_.load(relaxed);  // written under the lock
    while (found != nullptr && found->is_taken) found = found->next;
    if (found != nullptr && found->event >= 0) return found;
    const int event = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (event < 0) return nullptr;
    if (found == nullptr) {
      found = new (std::nothrow) slot;
      if (found == nullptr) {
        ::close(event);
        errno = ENOMEM;
        return nullptr;
      }
      found->next = slots_.load(relaxed);
      found->event = event;
      slots_.store(found, release);  // pairs with handle()
    }
    found->event = event;
    return found;
  }

  [[nodiscard]] static bool is_ours(const struct sigaction& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle;
  }

  [[nodiscard]] std::error_code catch_signal(int signal) noexcept FOLIOT_REQUIRES(lock_) {
    struct sigaction mine{};
    mine.sa_sigaction = handle;
    mine.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    ::sigfillset(&mine.sa_mask);  // one handler at a time on a thread
    struct sigaction before{};
    if (::sigaction(signal, &mine, &before) != 0) return last_error();
    if (!is_ours(before)) replaced_[index_of(signal)] = before;
    ++watches_[index_of(signal)];
    return {};
  }

  void release_signals(signal_mask which) noexcept FOLIOT_REQUIRES(lock_) {
    for_each_signal(which, [this](int signal) {
      lock_.assert_held();
      if (--watches_[index_of(signal)] == 0) put_back(signal);
    });
  }
  void put_back(int signal) noexcept FOLIOT_REQUIRES(lock_) {
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) != 0 || !is_ours(now)) return;
    ::sigaction(signal, &replaced_[index_of(signal)], nullptr);
  }

  // From before a fork until after it the forking thread takes no signal: one that came to the child before the
  // dispositions are put back would be lost, and the child's handler would write to the parent's descriptors.
  // The lock is held beside those of other witnesses of the fork, which in the child take theirs again.
  void before_fork() noexcept override FOLIOT_NO_ANALYSIS {
    lock_.lock_beside_others();
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &mask_at_fork_);
  }
  void after_fork_in_parent() noexcept override FOLIOT_NO_ANALYSIS {
    ::pthread_sigmask(SIG_SETMASK, &mask_at_fork_, nullptr);
    lock_.unlock_beside_others();
  }
  void after_fork_in_child() noexcept override FOLIOT_NO_ANALYSIS {
    ++process_;
    for (int signal = 1; signal <= most_signals; ++signal) {
      if (watches_[index_of(signal)] != 0) put_back(signal);
    }
    watches_ = {};
    for (slot* each = slots_.load(relaxed); each != nullptr; each = each->next) {
      each->watched.store(0, relaxed);
      each->is_taken = false;
      if (each->event >= 0) ::close(each->event);
      each->event = -1;
    }
    ::pthread_sigmask(SIG_SETMASK, &mask_at_fork_, nullptr);
    lock_.unlock_beside_others();
  }

  // The list of all slots: pushed under the lock, read by the handler.
  static inline atomic<slot*> slots_{nullptr};

  mutable mutex lock_{lock_rank::scheduler};
  std::array<std::size_t, most_signals> watches_ FOLIOT_GUARDED_BY(lock_) = {};
  std::array<struct sigaction, most_signals> replaced_ FOLIOT_GUARDED_BY(lock_) = {};
  std::uint64_t process_ FOLIOT_GUARDED_BY(lock_) = 1;
  sigset_t mask_at_fork_ FOLIOT_GUARDED_BY(lock_) = {};
};

bool can_be_watched(int signal) noexcept {
  switch (signal) {
    case SIGKILL:
    case SIGSTOP:
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL: return false;
    default: break;
  }
  sigset_t one;
  ::sigemptyset(&one);
  return mask_of(signal) != 0 && ::sigaddset(&one, signal) == 0;  // which refuses those of the C library
}

signal_watch::~signal_watch() {
  if (slot_ != nullptr) signal_registry::only().end(*this);
}

std::error_code signal_watch::begin(signal_mask which) noexcept {
  FOLIOT_ASSERT(slot_ == nullptr, "a signal watch begins once");
  return signal_registry::only().begin(*this, which);
}

bool signal_watch::is_here() const noexcept { return signal_registry::only().is_here(*this); }

int signal_watch::descriptor() const noexcept { return slot_->event; }

bool signal_watch::has_pending() const noexcept {
  // A handler that ran while this slot was free may have left a signal of the watch before.
  return (slot_->pending.load(acquire) & slot_->watched.load(relaxed)) != 0;
}

std::optional<taken_signal> signal_watch::take() noexcept {
  const signal_mask found = slot_->pending.load(relaxed) & slot_->watched.load(relaxed);
  if (found == 0) return std::nullopt;
  const int number = std::countr_zero(found) + 1;
  // acquire: pairs with the handler. Cleared before the sender is read: the next signal is pending anew.
  slot_->pending.fetch_and(~mask_of(number), acquire);
  return taken_signal{.number = number, .sender = slot_->senders[index_of(number)].load(relaxed)};
}

}  // namespace foliot::inline core::seam
