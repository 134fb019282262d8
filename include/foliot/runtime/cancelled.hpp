// What a wait throws in a task that is asked to stop. Thread safety: a value.
#pragma once

#include <foliot/core/language.hpp>

#include <exception>

#include <foliot/core/export.h>

namespace foliot::runtime {

/// The task was asked to stop, by join_handle::request_stop() or by the std::stop_token that it was spawned with. From
/// then on every wait of the task throws this. Let it propagate: destructors clean up, and the task ends as cancelled.
class FOLIOT_EXPORT cancelled : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "foliot: the task was asked to stop"; }
};

}  // namespace foliot::runtime
