// A queue and the reference queue, side by side: every operation is done to both, every answer
// compared, and the contract of timer_queue checked on the way. The first breach ends the run; its
// sentence is the result.
//
// An exact queue must fire the very timer that the reference fires next. A queue that counts in ticks
// (`precision`) may fire in any order inside one precision, late by at most that, never early. If the
// lateness grows with the timeout, `lateness` says by how much. A timeout counts from the time that the
// queue knows: that of the last expire that left nothing due, or of a later forward that returned true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <foliot/queue/reference_queue.hpp>

#include "script.hpp"
#include "tested_queue.hpp"

namespace foliot::conformance {

/// How much a twin checks after each step of a script. At the end of the script it checks everything.
enum class rigour : std::uint8_t {
  answers,  ///< what the operations return
  state,    ///< and what the queue's functions say of its state
  all,      ///< and the queue's invariants
};

class twin {
 public:
  explicit twin(const queue_kind& kind, std::size_t timers, instant origin = {});
  ~twin();
  twin(const twin&) = delete;
  twin& operator=(const twin&) = delete;

  /// Performs all of `s`; returns the first breach of the contract, or nothing.
  std::optional<std::string> run(const script& s, rigour between = rigour::all);
  void perform(const step& s);

  [[nodiscard]] const std::optional<std::string>& failure() const noexcept { return failure_; }
  /// The timers that have fired, in order.
  [[nodiscard]] const std::vector<std::size_t>& fired() const noexcept { return fired_; }
  [[nodiscard]] tested_queue& queue() noexcept { return *queue_; }
  [[nodiscard]] instant now() const noexcept { return now_; }

  /// Checks the invariants of the queue and compares its state with the reference's.
  void check();
  /// Compares the states alone: the invariants take a walk over all of the queue.
  void compare();

 private:
  struct model_node : reference_queue::node_type {
    std::size_t index = 0;
  };
  struct one_timer {
    model_node model;
    std::vector<step> reactions{};
    std::size_t firings = 0;
    duration lateness{};
  };

  template <class... Parts>
  void fail(const Parts&... parts);
  void reset(std::size_t i, instant deadline);
  void stop(std::size_t i);
  void pop_any();
  void expire(budget limit);
  expiry expire_with_pauses(budget limit);
  void fire(std::size_t i);
  void check_next_deadline();
  [[nodiscard]] instant latest_next() const;
  [[nodiscard]] bool exact() const noexcept { return kind_.precision == duration::zero(); }

  const queue_kind kind_;
  std::vector<one_timer> timers_;  // never resized: nodes do not move
  std::unique_ptr<tested_queue> queue_;
  reference_queue reference_;
  instant now_;
  instant known_;  // the last time that the queue knows for certain
  std::size_t forwards_ = 0;
  bool expiring_ = false;
  std::size_t idle_starts_ = 0;
  std::vector<std::size_t> fired_;
  std::optional<std::string> failure_;
};

}  // namespace foliot::conformance
