// expect: foliot: a duration needs a unit: write 20ms or std::chrono::milliseconds(n)
#include <foliot/core/duration.hpp>

using namespace std::chrono_literals;

void run(foliot::duration& timeout) {
#ifdef CORRECT
  timeout = 500ms;
#else
  timeout = 500;
#endif
}
