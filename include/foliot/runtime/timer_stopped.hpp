// The exception of a wait for a timer that is stopped. Thread safety: a value.
#pragma once

#include <foliot/core/language.hpp>

#include <stdexcept>

#include <foliot/core/export.h>

namespace foliot::runtime {

/// A task waited for a timer or a ticker alone, and no instant will come: the timer was stopped before the wait or
/// during it, or its handle was destroyed or assigned to during it. what() says which. A wait in a select goes on
/// instead.
class FOLIOT_EXPORT timer_stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace foliot::runtime
