// A class with a timer, and its test: a user is online until 30 seconds after the last sign of life.
//
// The class gets its service from outside, and reads no clock but that of the service. So the test gives it a service
// on a virtual clock: a day takes no time, and a test at the edge is exact, one nanosecond before and after. The trap
// is the test that sleeps "a bit longer than the timeout": it is slow, and fails by chance on a busy machine.
#include <foliot/service.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>

using namespace std::chrono_literals;

class presence {
 public:
  template <class Function>
  presence(foliot::timer_service& timers, Function left) : silence_(timers, std::move(left)) {}

  void sign_of_life() { silence_.reset(30s); }
  [[nodiscard]] bool is_online() const { return silence_.pending(); }

 private:
  foliot::timer silence_;
};

/// What each test needs.
struct presence_test {
  foliot::virtual_clock clock;
  foliot::timer_service timers{clock};
  int times_left = 0;
  presence alice{timers, [this] { ++times_left; }};
};

void expect(bool so, const char* what) {
  std::printf("%s: %s\n", what, so ? "ok" : "failed");
  if (!so) std::exit(EXIT_FAILURE);
}

void leaves_after_thirty_seconds() {
  presence_test with;
  with.alice.sign_of_life();
  with.clock.advance(30s - 1ns);
  expect(with.alice.is_online(), "online for thirty seconds");
  with.clock.advance(1ns);
  expect(!with.alice.is_online() && with.times_left == 1, "and not longer");
}

void stays_for_a_day() {
  presence_test with;
  const foliot::ticker talks(with.timers, 29s, [&] { with.alice.sign_of_life(); });
  with.alice.sign_of_life();
  with.clock.advance(24h);
  expect(with.alice.is_online() && with.times_left == 0, "online for a day");
}

void machine_is_suspended() {
  presence_test with;
  with.alice.sign_of_life();
  with.clock.stall(8h);    // time goes on, and nothing fires
  with.clock.advance(0s);  // the machine is awake
  expect(with.times_left == 1, "has left once after a night");
}

int main() {
  leaves_after_thirty_seconds();
  stays_for_a_day();
  machine_is_suspended();
}
