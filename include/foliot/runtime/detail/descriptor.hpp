// A file descriptor that tasks wait for: its known readiness, the task that waits in each direction, and the deadlines.
// (Go: pollDesc, and the counting of fdMutex.)
//
// The poller reports edges. A report is remembered until a task is about to try an operation: the task clears the
// memory first and then tries, so a report between the two is not lost. The end of the other side, and a failure, stay
// remembered.
//
// A deadline is only an instant while no task waits; the timer belongs to the wait. A thread that sets another deadline
// moves the timer of the current wait. A wait that a deadline has ended looks at the deadline again: if it was moved
// meanwhile, the wait goes on.
//
// Every holder has a reference, and every system call with the descriptor a use besides. close() wakes waiting tasks at
// once. The system's descriptor is closed, and its number may be reused, when the last use has ended, so no task reads
// from another owner's descriptor.
//
// Thread safety: any thread, under the descriptor's lock. One task waits in each direction at a time.
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
#include <foliot/runtime/runtime_deadline.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

class poll_table;
class descriptor_wait;

/// Reading and accepting, or writing and connecting.
enum class direction : std::uint8_t { in, out };
/// What becomes of the system's descriptor at the end.
enum class at_end : std::uint8_t { closes, leaves_open };

/// A file descriptor known to the poller of a runtime. Made and reused by poll_table.
class FOLIOT_EXPORT descriptor {
 public:
  descriptor() noexcept = default;
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  void retain() noexcept { references_.retain(); }
  void release() noexcept;

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] scheduler& owner() const noexcept { return *owner_; }

  /// What prepare() recommends.
  enum class advice : std::uint8_t {
    tries,  ///< try: it may succeed; that memory is now cleared
    waits,  ///< wait: it would block
  };
  /// Must be called before each attempt in that direction. Returns io_errc::closed, or io_errc::deadline_exceeded.
  [[nodiscard]] std::expected<advice, std::error_code> prepare(direction way) noexcept { return prepare(way, way); }
  /// The same for an operation that has the deadline of another direction.
  [[nodiscard]] std::expected<advice, std::error_code> prepare(direction way, direction whose_deadline) noexcept;
  /// The next attempt may succeed again, or fail at once: prepare() will recommend it.
  void keep_ready(direction way) noexcept;
  /// The same, and ends all waits for readiness in that direction.
  void share_ready(direction way) noexcept;
  /// Throws std::logic_error if a task waits in that direction.
  void check_no_wait(direction way) const;

  /// From now on operations in that direction end with io_errc::deadline_exceeded at the deadline. Throws
  /// std::bad_alloc; the deadline is then unchanged.
  void set_deadline(direction way, runtime_deadline deadline);
  /// The same `from_now` from now.
  void set_deadline(direction way, duration from_now);

  /// Wakes waiting tasks, and lets no operation begin any more. Any thread, and repeatedly.
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
    bool stays_ready = false;  // the peer has ended, or the descriptor has failed: every attempt returns at once
    instant deadline = instant::never();
    descriptor_wait* wait = nullptr;
  };

  [[nodiscard]] side& at(direction way) noexcept FOLIOT_REQUIRES(lock_) {
    return sides_[static_cast<std::size_t>(way)];
  }
  static void check_alone(const side& here);
  /// How long a reported readiness lasts: until the next attempt, or to the end of the descriptor.
  enum class lasts : std::uint8_t { for_an_attempt, forever };
  /// The poller reports readiness of the descriptor with that generation. Tasks to resume are appended to the list.
  void report(readiness now, std::uint32_t generation, ready_list& ready) noexcept;
  void set_ready(direction way, lasts how_long, ready_list& ready) noexcept FOLIOT_REQUIRES(lock_);
  void change_deadline(direction way, instant deadline) FOLIOT_REQUIRES(lock_);
  [[nodiscard]] bool has_come(instant deadline) const noexcept;

  mutable mutex lock_{lock_rank::object};
  std::array<side, 2> sides_ FOLIOT_GUARDED_BY(lock_) = {};
  bool closed_ FOLIOT_GUARDED_BY(lock_) = false;   // no operation may begin
  bool closing_ FOLIOT_GUARDED_BY(lock_) = false;  // begin_close() was called
  std::uint32_t uses_ FOLIOT_GUARDED_BY(lock_) = 0;
  std::uint32_t generation_ FOLIOT_GUARDED_BY(lock_) = 0;

  reference_count references_{0};

  // The rest is written before the first reference is handed out, and after the last one is dropped.
  scheduler* owner_ = nullptr;
  poll_table* table_ = nullptr;
  std::uint32_t index_ = 0;
  int fd_ = -1;
  at_end at_end_ = at_end::closes;
};

using descriptor_ptr = intrusive_ptr<descriptor>;

/// Keeps the system's descriptor open; or nothing, if it is closed already.
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

/// Decides whether a wait ends, where the system's readiness does not tell enough. A report must come after each change
/// to true. Called under the descriptor's lock.
class FOLIOT_EXPORT wait_condition {
 public:
  wait_condition() noexcept = default;
  wait_condition(const wait_condition&) = delete;
  wait_condition& operator=(const wait_condition&) = delete;

  [[nodiscard]] virtual bool holds() const noexcept = 0;

 protected:
  ~wait_condition() = default;
};

/// An operation, see operation.hpp: waits until an attempt may succeed in one direction, the deadline has passed, or
/// the descriptor is closed; the next prepare() tells which. A wait with a `pause` ignores readiness, and ends at that
/// instant. A wait with a condition ignores readiness while the condition does not hold. A wait may heed the readiness
/// of the other direction: it ends by the deadline of its own direction all the same, and no other task may wait in its
/// own direction meanwhile.
class FOLIOT_EXPORT descriptor_wait {
 public:
  descriptor_wait(descriptor& descriptor, direction way, instant pause = instant::never()) noexcept
      : descriptor_(&descriptor), way_(way), heeded_(way), pause_(pause) {}
  descriptor_wait(descriptor& descriptor, direction way, const wait_condition& condition) noexcept
      : descriptor_(&descriptor), way_(way), heeded_(way), pause_(instant::never()), condition_(&condition) {}
  descriptor_wait(descriptor& descriptor, direction way, direction heeded) noexcept
      : descriptor_(&descriptor), way_(way), heeded_(heeded), pause_(instant::never()) {}
  descriptor_wait(const descriptor_wait&) = delete;
  descriptor_wait& operator=(const descriptor_wait&) = delete;
  ~descriptor_wait() { end(); }

  [[nodiscard]] wait_kind kind() const noexcept {
    return heeded_ == direction::in ? wait_kind::read : wait_kind::write;
  }
  bool try_complete() const noexcept { return false; }
  /// Throws std::logic_error if another task waits in that direction, and std::bad_alloc.
  void begin(wait_point& wait, wait_word::source by);
  void end() noexcept;
  void result() const noexcept {}

 private:
  friend class descriptor;

  void move_timer(instant deadline);
  /// Whether readiness ends the wait.
  [[nodiscard]] bool heeds(bool ready) const noexcept {
    return condition_ != nullptr ? condition_->holds() : ready && pause_.is_never();
  }
  [[nodiscard]] instant ends_at(instant deadline) const noexcept { return std::min(deadline, pause_); }

  descriptor* descriptor_;
  direction way_;
  direction heeded_;
  const instant pause_;
  const wait_condition* condition_ = nullptr;
  // From begin() to end() under the descriptor's lock, otherwise the task's.
  wait_point* wait_ = nullptr;
  wait_word::source by_ = 0;
  std::optional<waiting_timer> timer_;
};

using descriptor_awaiter = operation_awaiter<descriptor_wait>;

}  // namespace foliot::runtime::detail
