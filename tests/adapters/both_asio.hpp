// What the two sources of both_asio_test share.
#pragma once

#include <vector>

namespace foliot::test {

/// Runs two timers in a context of Boost.Asio: the first one cancels the second. Returns their numbers as their waits
/// end, with a minus for a wait that was aborted.
std::vector<int> with_boost_asio();

}  // namespace foliot::test
