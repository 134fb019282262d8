// expect: foliot: a deadline is an instant of the timer's clock, or a time point of std::chrono::steady_clock or
#include <foliot/service.hpp>

#include <chrono>

void run(foliot::timer& idle) {
  using namespace std::chrono_literals;
#ifdef CORRECT
  idle.reset_at(std::chrono::steady_clock::now() + 5s);
#else
  idle.reset_at(std::chrono::file_clock::now() + 5s);
#endif
}
