// What is broken in the service of broken_service.cpp.
#pragma once

#include <cstdint>

namespace foliot::linearizability {

enum class flaw : std::uint8_t {
  none,
  // In the word of `foliot`.
  claims_forget_put_offs,
  claims_are_not_atomic,
  put_offs_are_not_atomic,
  stopped_words_stay_armed,
  // In the queue of `global-heap`.
  stops_leave_it_in,
  stops_find_it_idle,
  resets_keep_the_earlier_deadline,
  fires_one_twice,
};

extern flaw present;

}  // namespace foliot::linearizability
