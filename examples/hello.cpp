// A timer, and a wait until it has fired.
#include <foliot/service.hpp>

#include <cstdio>

int main() {
  using namespace std::chrono_literals;
  foliot::timer_service timers;
  const foliot::timer hello{timers, 50ms, [] { std::puts("tick"); }};
  foliot::sleep_for(timers, 100ms);
}
