// expect: foliot: the timers of a runtime do not go by the wall clock: include foliot/runtime/wall_time.hpp
#include <chrono>

#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/task.hpp>
#ifdef CORRECT
#include <foliot/runtime/wall_time.hpp>
#endif

using wall_time = std::chrono::system_clock::time_point;  // tidy: allow(seam-clock) the type

foliot::task<> run(wall_time when) { co_await foliot::runtime::sleep_until(when); }
