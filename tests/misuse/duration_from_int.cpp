// expect: no match for 'operator='
// expect with clang: no viable overloaded '='
#include <foliot/core/duration.hpp>

using namespace std::chrono_literals;

void run(foliot::duration& timeout) {
#ifdef CORRECT
  timeout = 500ms;
#else
  timeout = 500;
#endif
}
