// expect: use of deleted function 'foliot::core::timer_node::timer_node(const foliot::core::timer_node&)'
// expect with clang: call to deleted constructor of 'foliot::timer_node'
#include <foliot/core/timer_node.hpp>

#include <utility>

void run(foliot::timer_node& first) {
#ifdef CORRECT
  foliot::timer_node& second = first;
#else
  foliot::timer_node second = std::move(first);
#endif
  static_cast<void>(second);
}
