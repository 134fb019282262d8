// The closure of a timer or a watch, and how it ends.
//
// A closure is a user's code, so a thread runs and destroys it without the owner's lock. The thread that does so is its
// user:
//
//   unused ──begin_use──► in use by one thread ──end_use──► unused
//
// A thread that ends a timer calls close(), wait_until_unused(), begin_use(), destroys the closure, and calls
// end_use(). If it is the user itself, since it is called from inside the callback or from the closure's destructor, it
// cannot wait: the code of the owner that ends that use, further up the stack, destroys the closure before end_use().
//
// `closure_use` is the state without the closure, `closure_life` is both. The record of a timer has its closure
// elsewhere, and its fields in an order of its own: src/service/shard_record.hpp.
//
// In the child of a fork the user may be a thread that does not exist there. Its closure is abandoned: it is neither
// run nor destroyed, since it may be half changed. The address of such a thread says nothing: a new thread of the child
// may have the same. So the owner asks used_in_parent() before in_use_by_caller() and wait_until_unused().
//
// Thread safety: the owner's lock guards all members, except that the user calls run() without it.
// Invariants:
//   1. While a thread uses the closure, no other thread touches it, and its record is not freed.
//   2. A closed closure is not run again; its user destroys it before end_use().
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <memory>
#include <utility>

#include <foliot/core/annotations.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::detail {

/// The forks that led to this process: which threads that began to use a closure exist here. An owner has one, and adds
/// to it in the child, under its lock.
class fork_history {
 public:
  /// By the thread that has forked.
  void add() noexcept {
    const void* const caller = &seam::this_thread();
    if (forker_ != caller) {
      forker_ = caller;
      since_ = count_;
    }
    ++count_;
  }
  [[nodiscard]] bool empty() const noexcept { return forker_ == nullptr; }
  /// How many forks, modulo 256.
  [[nodiscard]] std::uint8_t count() const noexcept { return count_; }
  /// Whether a thread that began something when the count was `then` was left behind in an earlier process. `thread`:
  /// the address of its thread_state.
  [[nodiscard]] bool has_lost(const void* thread, std::uint8_t then) const noexcept {
    if (then == count_) return false;
    return thread != forker_ || std::uint8_t(then - since_) > std::uint8_t(count_ - since_);
  }

 private:
  const void* forker_ = nullptr;  // the thread that forked last, by its thread_state; null: this is not a child
  std::uint8_t since_ = 0;        // what that thread has begun from this count on is its own, also in this process
  std::uint8_t count_ = 0;
};

class closure_use {
 public:
  closure_use() noexcept = default;
  closure_use(const closure_use&) = delete;
  closure_use& operator=(const closure_use&) = delete;

  /// Whether the timer or watch has ended: its callback does not begin any more.
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  void close() noexcept { closed_ = true; }

  /// Whether no handle owns the record: the last thread that is done with the record frees it.
  [[nodiscard]] bool orphaned() const noexcept { return orphaned_; }
  void orphan() noexcept { orphaned_ = true; }

  [[nodiscard]] bool in_use() const noexcept { return user_ != nullptr; }
  [[nodiscard]] bool in_use_by_caller() const noexcept { return user_ == self(); }

  /// The caller is the user from now on, also without the lock. `forks`: the owner's. Precondition: no thread is the
  /// user.
  void begin_use(const fork_history& forks) noexcept {
    user_ = self();
    forks_ = forks.count();
  }

  /// The caller is not the user any more. Wakes the threads in wait_until_unused().
  void end_use(condition& done) noexcept {
    user_ = nullptr;
    done.notify_all();
  }

  /// Waits until no thread uses the closure, and returns true. Returns false at once if the caller uses it.
  [[nodiscard]] bool wait_until_unused(mutex& lock, condition& done) noexcept FOLIOT_REQUIRES(lock) {
    while (user_ != nullptr) {
      if (user_ == self()) return false;
      done.wait(lock);
    }
    return true;
  }

  /// In the child of a fork: whether the user is a thread of the parent, which does not exist here.
  [[nodiscard]] bool used_in_parent(const fork_history& forks) const noexcept {
    return user_ != nullptr && forks.has_lost(user_, forks_);
  }
  /// In the child of a fork, with a closure that is abandoned: no thread is the user any more.
  void forget_user() noexcept { user_ = nullptr; }

 private:
  static const void* self() noexcept { return &seam::this_thread(); }

  const void* user_ = nullptr;  // the address of its thread_state; null while no thread uses the closure
  bool closed_ = false;
  bool orphaned_ = false;
  std::uint8_t forks_ = 0;  // the owner's count when the use began
};

template <class Callback>
class closure_life : public closure_use {
 public:
  explicit closure_life(Callback&& callback) noexcept : callback_(std::move(callback)) {}

  /// Calls the callback. By the user, without the lock.
  template <class Argument>
  void run(Argument&& argument) {
    callback_(std::forward<Argument>(argument));
  }

  /// Destroys the closure. By the user, with the lock, which is released meanwhile: the captures' destructors may call
  /// the owner, and even destroy the last handle.
  void destroy_closure(mutex& lock) noexcept FOLIOT_REQUIRES(lock) {
    lock.unlock();
    callback_.reset();
    lock.lock();
  }

  /// In the child of a fork: abandons the closure if its user is a thread of the parent, which does not exist here.
  void abandon_if_used_in_parent(const fork_history& forks) noexcept {
    if (!used_in_parent(forks)) return;
    std::construct_at(&callback_);
    forget_user();
  }

 private:
  Callback callback_;
};

}  // namespace foliot::detail
