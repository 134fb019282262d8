// expect: use of deleted function 'foliot::core::timer_node::timer_node(const foliot::core::timer_node&)'
// expect with clang: call to deleted constructor of 'const foliot::timer_node'
#include <foliot/core/timer_node.hpp>

void run(const foliot::timer_node& first) {
#ifdef CORRECT
  const foliot::timer_node& second = first;
#else
  const foliot::timer_node second = first;
#endif
  static_cast<void>(second);
}
