// The engines whose queues are wheels.
#include <foliot/queue/erlang_wheel.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>

#include "service/engine_design.hpp"

namespace foliot::detail {

namespace {

/// The plain design with a wheel whose shape the user may choose.
template <timer_queue Wheel, timer_queue ChosenWheel>
constexpr engine_kind wheel_by_name_of = [] {
  engine_kind kind = by_name_of<Wheel>;
  kind.make_shaped = make_shard<shard<plain_design<ChosenWheel>>, plain_design<ChosenWheel>>;
  kind.usual_slots = ChosenWheel::usual_slots;
  return kind;
}();

}  // namespace

constinit const engine_kind hashed_wheel_engine = wheel_by_name_of<hashed_wheel, chosen_hashed_wheel>;
constinit const engine_kind hierarchical_wheel_engine = wheel_by_name_of<hierarchical_wheel, chosen_hierarchical_wheel>;
constinit const engine_kind linux_wheel_engine = by_name_of<linux_wheel>;
constinit const engine_kind erlang_wheel_engine = by_name_of<erlang_wheel>;

}  // namespace foliot::detail
