// expect: the required expression 'queue.stop(node)' is invalid
// expect with clang: because 'queue.stop(node)' would be invalid
#include <foliot/queue/quad_heap.hpp>

/// A queue from which nothing can be taken back.
class one_way_queue : foliot::quad_heap {
 public:
  using quad_heap::node_type;

  using quad_heap::name;
  using quad_heap::next_deadline_exact;
  using quad_heap::precision;
  using quad_heap::ties_in_start_order;

  using quad_heap::check;
  using quad_heap::expire;
  using quad_heap::next_deadline;
  using quad_heap::pop_any;
  using quad_heap::reserve;
  using quad_heap::reset;
  using quad_heap::size;
  using quad_heap::start;
#ifdef CORRECT
  using quad_heap::stop;
#endif
};

static_assert(foliot::timer_queue<one_way_queue>);
