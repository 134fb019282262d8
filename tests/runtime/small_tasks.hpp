// Tasks that end at once, for tests.
#pragma once

#include <foliot/runtime/task.hpp>

namespace foliot::test {

inline runtime::task<> nothing() { co_return; }
inline runtime::task<int> seven() { co_return 7; }

}  // namespace foliot::test
