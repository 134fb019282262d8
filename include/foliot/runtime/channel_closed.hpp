// What a send on a closed channel throws, and a second close.
#pragma once

#include <foliot/core/language.hpp>

#include <stdexcept>

#include <foliot/core/export.h>

namespace foliot::runtime {

/// Who closes a channel says that nothing comes any more: sending after that is a mistake, and so is closing it again.
class FOLIOT_EXPORT channel_closed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace foliot::runtime
