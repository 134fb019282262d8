// The engine `epoll-heap`: a 4-ary heap and a poller, which waits for file descriptors and the earliest deadline at
// once.
#include <foliot/queue/quad_heap.hpp>

#include "poll_wait.hpp"
#include "service/engine_design.hpp"

namespace foliot::detail {

namespace {

struct epoll_design : plain_design<quad_heap> {
  using wait = poll_wait;
};

}  // namespace

constinit const engine_kind epoll_heap_engine = made_of<epoll_design>("epoll-heap");

}  // namespace foliot::detail
