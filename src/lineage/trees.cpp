// The engine whose queue is a balanced tree.
#include <foliot/queue/red_black_tree.hpp>

#include "service/engine_design.hpp"

namespace foliot::detail {

constinit const engine_kind red_black_tree_engine = by_name_of<red_black_tree>;

}  // namespace foliot::detail
