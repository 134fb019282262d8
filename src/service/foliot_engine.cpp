// foliot's own engine.
#include <foliot/queue/foliot_queue.hpp>

#include "engine_design.hpp"

namespace foliot::detail {

namespace {

struct foliot_design : plain_design<foliot_queue> {
  using word = timer_word;
};

}  // namespace

constinit const engine_kind foliot_engine = made_of<foliot_design>("foliot", shards_by_processors);

const engine_kind& default_engine(std::string_view /*name*/) { return foliot_engine; }

}  // namespace foliot::detail
