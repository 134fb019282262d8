// What a wait for a timer throws when the timer is stopped.
#pragma once

#include <foliot/core/language.hpp>

#include <stdexcept>

#include <foliot/core/export.h>

namespace foliot::runtime {

/// A task waited for a timer or a ticker, and for nothing else, and nothing will come: it was stopped, before the wait
/// or during it, or its handle was destroyed or assigned to during the wait. Its what() says which. A wait that is one
/// case of a select goes on.
class FOLIOT_EXPORT timer_stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace foliot::runtime
