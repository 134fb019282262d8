// The engines whose queues are heaps.
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>

#include "poll_wait.hpp"
#include "service/engine_design.hpp"

namespace foliot::detail {

namespace {

/// With a poller, which waits for file descriptors and the earliest deadline at once.
struct epoll_design : plain_design<quad_heap> {
  using wait = detail::poll_wait;
};

}  // namespace

constinit const engine_kind global_heap_engine =
    made_of<plain_design<quad_heap>>("global-heap", 1, 1);  // its single lock is the point of it
constinit const engine_kind quad_heap_lazy_engine = by_name_of<quad_heap_lazy>;
constinit const engine_kind goim_heap_engine = by_name_of<goim_heap>;
constinit const engine_kind epoll_heap_engine = made_of<epoll_design>("epoll-heap");

}  // namespace foliot::detail
