// Timers in the loop of a library in C, behind a descriptor that the loop watches: what the adapters of these loops
// share.
//
// An exception must not pass through C. A turn keeps that of a callback, and the adapter ends the run of the loop; its
// run() throws the exception then, and rethrow() does for programs that run the loop themselves. No timer is lost.
//
// Thread safety: none. They belong to the loop's thread: see loop_timers.hpp.
#pragma once

#include <exception>
#include <stdexcept>
#include <utility>

#include <foliot/adapters/loop_timers.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/loop_alarm.hpp>

namespace foliot::detail {

/// How many timers fire at most before a loop serves its other descriptors, if the program does not say it.
inline constexpr budget usual_turn = 256;

/// The timers of a loop in C. Belongs to the loop's thread.
class FOLIOT_EXPORT c_loop_timers : public loop_timers {
 public:
  /// Throws the first exception that a callback has thrown since the last call, if there is one. For programs that run
  /// the loop themselves. Throws std::runtime_error in the child of a fork for which the system had no descriptor:
  /// there the timers do not go on.
  void rethrow() {
    if (alarm_.descriptor() < 0) {
      throw std::runtime_error(
          "foliot: these timers cannot go on in the child of a fork, for which the system had no file descriptor");
    }
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 protected:
  /// At most `turn` timers fire before the loop serves its other descriptors. Throws std::system_error if there is no
  /// file descriptor left.
  explicit c_loop_timers(budget turn) : turn_(turn) {}
  ~c_loop_timers() override = default;

  /// Readable when take_turn() must be called, until no timer is due.
  [[nodiscard]] int descriptor() const noexcept { return alarm_.descriptor(); }

  /// Fires timers that are due. False: a callback has thrown, so the run of the loop must end.
  [[nodiscard]] bool take_turn() noexcept {
    try {
      expire(now(), turn_);
      return true;
    } catch (...) {
      keep(std::current_exception());
      return false;
    }
  }
  /// Keeps an exception for rethrow(), unless there is one.
  void keep(std::exception_ptr failure) noexcept {
    if (failure_ == nullptr) failure_ = std::move(failure);
  }

  /// Called in the child of a fork, in which the descriptor is closed because the system had none for the child.
  virtual void lose_descriptor() noexcept {}

 private:
  class child_witness final : private seam::fork_witness {
   public:
    explicit child_witness(c_loop_timers& owner) noexcept : owner_(owner) { witness_forks(); }
    ~child_witness() override { forget_forks(); }

   private:
    void before_fork() noexcept override {}
    void after_fork_in_parent() noexcept override {}
    void after_fork_in_child() noexcept override {
      if (owner_.alarm_.descriptor() < 0) owner_.lose_descriptor();
    }

    c_loop_timers& owner_;
  };

  void wake_at(instant next) noexcept override { alarm_.set(next); }

  const budget turn_;
  child_witness in_child_{*this};  // made before the alarm: the child notifies the alarm first
  seam::loop_alarm alarm_;
  std::exception_ptr failure_;
};

}  // namespace foliot::detail
