// What a task waits for, for reports (task_report.hpp) and for the message of a deadlock.
//
// It is that of the innermost wait, also one inside of foliot: a task in resolve() waits for a blocking call. Awaiters
// and operations of foliot say it by a function kind(); those that have none, and the awaiters of other libraries,
// count as `other`.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <string_view>

#include <foliot/core/export.h>

namespace foliot::runtime {

/// What a task waits for.
enum class wait_kind : std::uint8_t {
  other,       ///< none of the others: the awaiter of another library, say
  receive,     ///< a value from a channel
  send,        ///< a receiver, or room in a channel
  select,      ///< one of several, or with select() of nothing a stop
  sleep,       ///< the end of a sleep
  timer,       ///< the instant of a timer or a ticker, or after() and at()
  callback,    ///< the end of a timer's callback
  mutex,       ///< a task_mutex, also after a task_condition
  condition,   ///< a task_condition
  wait_group,  ///< the members of a wait_group
  semaphore,   ///< a task_semaphore
  task,        ///< the end of another task
  blocking,    ///< a function on a thread for blocking()
  executor,    ///< a function on another executor, by call_on()
  read,        ///< a descriptor that can be read, or accepts
  write,       ///< a descriptor that can be written, or has connected
  signal,      ///< a signal of the process
  context,     ///< the end of a context
};
/// The enumerator's name: "receive", "wait_group". A value that none has gives "other".
[[nodiscard]] FOLIOT_EXPORT std::string_view to_string(wait_kind kind) noexcept;

}  // namespace foliot::runtime

namespace foliot {
using runtime::wait_kind;
}  // namespace foliot
