// What a wait throws when it ended without what it waited for.
#pragma once

#include <foliot/core/language.hpp>

#include <exception>

#include <foliot/core/export.h>

namespace foliot::runtime {

/// The task was asked to stop (join_handle::request_stop, or the std::stop_token it was spawned with). Every wait
/// throws it from then on. Let it pass: the destructors on its way clean up, and the task ends as cancelled.
class FOLIOT_EXPORT cancelled : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "foliot: the task was asked to stop"; }
};

}  // namespace foliot::runtime
