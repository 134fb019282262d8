// The exception for a send on a closed channel, and for a second close. Thread safety: a value.
#pragma once

#include <foliot/core/language.hpp>

#include <stdexcept>

#include <foliot/core/export.h>

namespace foliot::runtime {

/// A closed channel takes no more values: sending on it, and closing it again, are errors of the program.
class FOLIOT_EXPORT channel_closed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace foliot::runtime
