// What a wait throws in a task that is asked to stop, and a join of such a task. Thread safety: values.
#pragma once

#include <foliot/core/language.hpp>

#include <exception>

#include <foliot/core/export.h>

namespace foliot::runtime {

/// The task was asked to stop, by join_handle::request_stop() or by the std::stop_token that it was spawned with. From
/// then on every wait of the task throws this. Let it propagate: destructors clean up, and the task ends as cancelled.
///
/// Not a std::exception, as what ends a wait at a time limit is not: `catch (const std::exception&)` around a step that
/// may fail, as in a loop of retries, does not catch it.
class FOLIOT_EXPORT cancelled {
 public:
  cancelled() noexcept = default;

  /// A sentence.
  [[nodiscard]] const char* what() const noexcept { return "foliot: the task was asked to stop"; }
};

/// What join() throws if the joined task was asked to stop: there is no result. It says nothing about the task that
/// joins, to which it is an error as any other: uncaught, it is reported (run_options::on_failure), unless that task
/// was asked to stop as well.
class FOLIOT_EXPORT join_cancelled : public cancelled, public std::exception {
 public:
  /// A sentence.
  [[nodiscard]] const char* what() const noexcept override {
    return "foliot: the joined task was asked to stop, and has no result";
  }
};

}  // namespace foliot::runtime
