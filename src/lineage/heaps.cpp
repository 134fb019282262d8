// The engines that are a heap in the plain design.
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>

#include "service/engine_design.hpp"

namespace foliot::detail {

constinit const engine_kind global_heap_engine =
    made_of<plain_design<quad_heap>>("global-heap", 1, 1);  // its single lock is the point of it
constinit const engine_kind quad_heap_lazy_engine = by_name_of<quad_heap_lazy>;
constinit const engine_kind goim_heap_engine = by_name_of<goim_heap>;

}  // namespace foliot::detail
