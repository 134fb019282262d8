// Sessions whose timers are a runtime's, on virtual time: a task handles the requests, and lets time pass up to each.
//
// A runtime runs until its main task ends, and requests come from outside, so the runtime has a thread of its own. The
// caller hands requests over in batches, and waits until a batch has been handled: the two threads never work at the
// same time. For the runtime a wait for the next batch takes no time, since its main task blocks and time stands still.
//
// Thread safety: none, one thread. An exception of the sink leaves the call that hands the batch over.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/run_options.hpp>
#include <foliot/runtime/task.hpp>

#include "session_tracker.hpp"

namespace foliot::program {

class runtime_sessions final : public session_tracker {
 public:
  /// `timers` as in run_options. Throws std::system_error where the system gives no thread.
  runtime_sessions(std::string timers, duration idle, session_sink sink);
  ~runtime_sessions() override;

  void request(std::string_view client, instant time) override;
  void settle() override;
  void finish() override;

  [[nodiscard]] service_counters timers() const override { return counters_; }
  [[nodiscard]] duration spent_elsewhere() const noexcept override { return spent_; }

 private:
  struct gathered {
    std::size_t name_end;  // in names_, which has the clients' names one after the other
    instant time;
  };
  enum class order : std::uint8_t { requests, all_time, leave };
  static constexpr std::size_t batch_size = 4096;

  void hand_over(order what);

  // Called by the runtime's thread.
  void run(runtime::run_options options) noexcept;
  [[nodiscard]] runtime::task<> obey();
  [[nodiscard]] runtime::task<> handle_batch();
  void handle(std::string_view client);
  void await_order() noexcept;

  // Written by the caller before it wakes `given_`, and by the runtime's thread before it wakes `done_`.
  order order_ = order::requests;
  std::string names_;
  std::vector<gathered> batch_;
  std::exception_ptr failure_;
  service_counters counters_;
  duration spent_;
  note given_;
  note done_;
  seam::thread thread_;
};

}  // namespace foliot::program
