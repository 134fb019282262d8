// The flaws of the service of broken_service.cpp.
#pragma once

#include <cstdint>

namespace foliot::linearizability {

enum class flaw : std::uint8_t {
  none,
  // In the word of `foliot`.
  takes_forget_postponements,
  takes_forget_stops,
  takes_are_not_atomic,
  words_stay_as_they_are,
  postponing_is_not_atomic,
  stops_say_that_they_did,
  starts_forget_where_it_lies,
  // In the queue of `global-heap`.
  stops_leave_it_in,
  stops_find_it_idle,
  resets_keep_the_earlier_deadline,
  fires_one_twice,
};

extern flaw present;

}  // namespace foliot::linearizability
