// The engine `goim`: goim's heap and an alarm that is set to the earliest deadline; records from a free list, and a
// log.
#include <foliot/queue/goim_heap.hpp>

#include "goim_log.hpp"
#include "record_pool.hpp"
#include "service/engine_design.hpp"

namespace foliot::detail {

namespace {

struct goim_design : plain_design<goim_heap> {
  using wait = alarm_wait;
  using records = pooled_records;
  using log = goim_log;
};

}  // namespace

constinit const engine_kind goim_engine = made_of<goim_design>("goim");

}  // namespace foliot::detail
