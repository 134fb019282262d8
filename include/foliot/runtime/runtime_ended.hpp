// The exception for a runtime that has ended, where a thread outside of it wants something from it. Thread safety: a
// value.
#pragma once

#include <foliot/core/language.hpp>

#include <stdexcept>

#include <foliot/core/export.h>

namespace foliot::runtime {

/// The runtime of a runtime_handle has ended, or is about to end: it takes no more tasks, or it ended before the task
/// of a call did. what() says which.
class FOLIOT_EXPORT runtime_ended : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace foliot::runtime
