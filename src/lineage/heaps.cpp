// The engines whose queues are heaps.
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>

#include "poll_wait.hpp"
#include "service/engine_design.hpp"

namespace foliot::detail {

namespace {

/// The same, with many shards: a start moves the timer to the bucket of the calling thread. Go padded its buckets, so
/// that no two of them share a cache line.
struct bucket_design : plain_design<quad_heap> {
  using home = detail::moving_home;
  using padding = cache_lines;
};
static_assert(alignof(shard<bucket_design>) == 64 && sizeof(shard<bucket_design>) % 64 == 0);

/// The same with an alarm that is set to the earliest deadline.
struct goim_design : plain_design<goim_heap> {
  using wait = detail::alarm_wait;
  static constexpr bool pools_records = true;  // from a free list
  static constexpr bool keeps_log = true;
};

/// The same with a poller, which waits for file descriptors and the earliest deadline at once.
struct epoll_design : plain_design<quad_heap> {
  using wait = detail::poll_wait;
};

}  // namespace

constinit const engine_kind global_heap_engine =
    made_of<plain_design<quad_heap>>("global-heap", 1, 1);  // its single lock is the point of it
constinit const engine_kind bucket_heaps_engine = made_of<bucket_design>("bucket-heaps", 64);
constinit const engine_kind quad_heap_lazy_engine = by_name_of<quad_heap_lazy>;
constinit const engine_kind goim_engine = made_of<goim_design>("goim");
constinit const engine_kind goim_heap_engine = by_name_of<goim_heap>;
constinit const engine_kind epoll_heap_engine = made_of<epoll_design>("epoll-heap");

}  // namespace foliot::detail
