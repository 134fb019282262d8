// One operation on its way through a broker: a node of the broker's queue, in the frame of the task that asked for it.
//
//   queued ──a leader puts it into a batch──► in batch ──the store has executed it──► done
//      └── the owner destroys it: it is never executed
//
// A request that is destroyed while it is in a batch is executed, and its answer is dropped; a job that the operation
// reserved is given back.
//
// Thread safety: the lock of the broker guards everything but the wait itself, which is the task's.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>

#include <foliot/core/export.h>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/jobs/detail/broker_event.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::jobs::detail {

class broker_core;
class request_queue;
struct client_state;

/// The part of an in_flight that does not depend on the operation's type. An awaiter: the waiting task is not
/// interrupted, because a batch ends soon and its answer must not be lost.
class FOLIOT_EXPORT broker_request : public runtime::detail::task_awaiter {
 public:
  broker_request(const broker_request&) = delete;
  broker_request& operator=(const broker_request&) = delete;

  /// If no task executes batches, the calling task becomes the leader and executes the next batch here.
  [[nodiscard]] bool await_ready();
  template <class Promise>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
    wait_.begin(who);
    begin_wait();
    return wait_.park(runtime::detail::wait_point::interrupts::deferred);
  }

 protected:
  /// Queues the operation. `by` is the client that will hold the jobs that the operation reserves, or null. Throws
  /// std::invalid_argument, broker_full, and broker_closed.
  broker_request(broker_core& core, client_state* by, operation what);
  /// A request that was answered without the store.
  broker_request(broker_core& core, answer known) noexcept;
  ~broker_request();

  /// After the wait: the answer, moved out. Throws store_failure and store_unavailable.
  [[nodiscard]] answer take();

 private:
  friend class broker_core;
  friend class request_queue;

  enum class state : std::uint8_t { queued, in_batch, done };
  /// Why there is no answer.
  enum class refusal : std::uint8_t { none, store_failed, not_executed, in_doubt };

  void begin_wait() noexcept;

  broker_core& core_;
  client_state* const client_;
  operation operation_;
  answer answer_;
  state state_ = state::queued;
  refusal refusal_ = refusal::none;
  bool is_taken_ = false;
  /// The reservation that the operation names, if it names one.
  reservation token_;
  bool touches_ = false;
  bool only_looks_ = false;
  std::size_t index_ = 0;  // in the batch
  list_links<broker_request> links_;
  broker_event done_;
  runtime::detail::wait_point wait_;
};

}  // namespace foliot::jobs::detail
