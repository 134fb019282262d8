// A file descriptor that tasks wait for: what it is known to be ready for, who waits in which direction, and until
// when. (Go: pollDesc, and the counting of fdMutex.)
//
// The poller tells on edges. What is told is remembered until a task is about to try: it takes the memory first, and
// then tries, so that news between the two are not lost. That the other side has ended, or that it has failed, stays.
//
// A deadline is only an instant while nobody waits; the timer belongs to the wait. Whoever sets another one moves the
// timer of the wait that there is. A wait that a deadline has ended looks at the deadline again: one that was moved
// meanwhile has not ended it.
//
// Whoever knows it has a share; whoever calls the system with it has a use besides. close() wakes who waits at once;
// the system's descriptor is closed, and its number free for others, when the last use has ended, so that nobody reads
// from another's.
//
// Thread safety: under its lock, from any thread; one task waits in each direction at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <system_error>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/readiness.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/intrusive_ptr.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/reference_count.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/detail/waiting_timer.hpp>

namespace foliot::runtime::detail {

class poll_table;
class descriptor_wait;

enum class direction : std::uint8_t { in, out };
enum class at_end : std::uint8_t { closes, leaves_open };

class FOLIOT_EXPORT descriptor {
 public:
  descriptor() noexcept = default;
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  void retain() noexcept { references_.retain(); }
  void release() noexcept;

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] scheduler& owner() const noexcept { return *owner_; }

  enum class advice : std::uint8_t {
    tries,  ///< it may succeed, as far as is known; that is forgotten now
    waits,  ///< it would block
  };
  /// The caller is about to try something in that direction. Fails where it is closed, or the deadline has come.
  [[nodiscard]] std::expected<advice, std::error_code> prepare(direction way) noexcept;
  /// What was tried may succeed again, or fail at once.
  void remember(direction way) noexcept;

  /// From now on: operations in that direction end with errc::timed_out once it has come. Throws std::bad_alloc; the
  /// deadline is then the old one.
  void set_deadline(direction way, instant deadline);
  void set_deadline(direction way, duration from_now);

  /// Who waits is woken; nobody begins anything any more. Any thread, and again for nothing.
  void close() noexcept {
    if (begin_close()) finish_close();
  }
  /// close() in two steps. Between them the caller does what must happen once, while the system's descriptor is still
  /// open and before any waiting task learns of the close. begin_close() returns false if another caller has begun.
  [[nodiscard]] bool begin_close() noexcept;
  void finish_close() noexcept;
  [[nodiscard]] bool closed() const noexcept {
    const lock held(lock_);
    return closed_;
  }

 private:
  friend class poll_table;
  friend class descriptor_wait;
  friend class descriptor_use;

  [[nodiscard]] bool begin_use() noexcept;
  void end_use() noexcept;

  /// What is known of one direction.
  struct side {
    bool ready = false;
    bool ended = false;  // nothing more will be told: whoever tries finds out
    instant deadline = instant::never();
    descriptor_wait* wait = nullptr;
  };

  [[nodiscard]] side& at(direction way) noexcept FOLIOT_REQUIRES(lock_) {
    return sides_[static_cast<std::size_t>(way)];
  }
  void tell(readiness now, std::uint32_t generation, ready_list& ready) noexcept;
  void tell(direction way, bool ended, ready_list& ready) noexcept FOLIOT_REQUIRES(lock_);
  void change_deadline(direction way, instant deadline) FOLIOT_REQUIRES(lock_);
  [[nodiscard]] bool has_come(instant deadline) const noexcept;

  mutable mutex lock_{lock_rank::object};
  std::array<side, 2> sides_ FOLIOT_GUARDED_BY(lock_) = {};
  bool closed_ FOLIOT_GUARDED_BY(lock_) = false;  // nobody begins anything
  bool ended_ FOLIOT_GUARDED_BY(lock_) = false;   // by begin_close()
  std::uint32_t uses_ FOLIOT_GUARDED_BY(lock_) = 0;
  std::uint32_t generation_ FOLIOT_GUARDED_BY(lock_) = 0;

  reference_count references_{0};

  // The rest is written before the first reference, and after the last one.
  scheduler* owner_ = nullptr;
  poll_table* table_ = nullptr;
  std::uint32_t index_ = 0;
  int fd_ = -1;
  at_end at_end_ = at_end::closes;
};

using descriptor_ptr = intrusive_ptr<descriptor>;

/// Keeps the system's descriptor open meanwhile; or nothing, where it is closed already.
class descriptor_use {
 public:
  explicit descriptor_use(const descriptor_ptr& descriptor) noexcept {
    if (descriptor && descriptor->begin_use()) descriptor_ = descriptor;
  }
  descriptor_use(descriptor_use&& other) noexcept = default;
  descriptor_use& operator=(descriptor_use&&) = delete;
  ~descriptor_use() {
    if (descriptor_) descriptor_->end_use();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(descriptor_); }
  [[nodiscard]] descriptor* operator->() const noexcept { return &*descriptor_; }
  [[nodiscard]] descriptor& operator*() const noexcept { return *descriptor_; }

 private:
  descriptor_ptr descriptor_;
};

/// An operation: waits until something may be done in one direction, the deadline has come, or it is closed; which of
/// these, the next prepare() says. One that pauses does not heed what becomes ready, and ends by itself at `pause`.
class FOLIOT_EXPORT descriptor_wait {
 public:
  descriptor_wait(descriptor& descriptor, direction way, instant pause = instant::never()) noexcept
      : descriptor_(&descriptor), way_(way), pause_(pause) {}
  descriptor_wait(const descriptor_wait&) = delete;
  descriptor_wait& operator=(const descriptor_wait&) = delete;
  ~descriptor_wait() { end(); }

  bool try_complete() const noexcept { return false; }
  /// Throws std::logic_error where another task waits in that direction, and std::bad_alloc.
  void begin(wait_point& wait, wait_word::source by);
  void end() noexcept;
  void result() const noexcept {}

 private:
  friend class descriptor;

  void move_timer(instant deadline);
  [[nodiscard]] bool pauses() const noexcept { return !pause_.is_never(); }
  [[nodiscard]] instant ends_at(instant deadline) const noexcept { return std::min(deadline, pause_); }

  descriptor* descriptor_;
  direction way_;
  const instant pause_;
  // From begin() on, under the descriptor's lock; from end() on its owner's again.
  wait_point* wait_ = nullptr;
  wait_word::source by_ = 0;
  std::optional<waiting_timer> timer_;
};

using descriptor_awaiter = operation_awaiter<descriptor_wait>;

}  // namespace foliot::runtime::detail
