// `firing`, the argument of callbacks, and the receiver of the exceptions that they throw.
#pragma once

#include <exception>

#include <foliot/core/firing.hpp>
#include <foliot/core/shared_callable.hpp>

namespace foliot::inline service {

/// Receives the exceptions that callbacks throw, on the thread that ran the callback. Exceptions that leave the handler
/// itself are swallowed. Several threads may call it at the same time, as many as run callbacks.
using exception_handler = shared_callable<void(std::exception_ptr)>;

}  // namespace foliot::inline service
