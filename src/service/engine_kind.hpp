// The engines: each is a design of a shard, with a name and what its options may be.
//
// Each engine but foliot's is defined in a source of its family in src/lineage, and only by_name.cpp refers to all. So
// a program that does not choose an engine by name has only foliot's in it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/queue/wheel_shape.hpp>
#include <foliot/service/detail/engine.hpp>
#include <foliot/service/detail/engine_kinds.hpp>

#include "shard_base.hpp"
#include "shard_options.hpp"

namespace foliot::detail {

/// An engine: a design of a shard, by name. A new one needs a definition here, a line in lineage/by_name.cpp, and a
/// page in docs/engines.
struct engine_kind {
  std::string_view name;
  std::shared_ptr<engine> (*make_shard)(const shard_options& options, std::size_t index);
  /// Gives a shard the list of all shards, if timers move between them; else null.
  void (*introduce)(engine& one, const std::shared_ptr<const shard_list>& all) noexcept;
  duration (*lateness)(duration timeout) noexcept;
  /// Makes a shard whose wheel has the user's tick and size; null where the engine has no such wheel.
  std::shared_ptr<engine> (*make_shaped)(const shard_options& options, std::size_t index);
  /// The number of slots of that wheel if the user chooses the tick alone.
  std::size_t usual_slots;
  /// Whether it can have a log.
  bool keeps_log;
  /// Whether its records come from a free list.
  bool pools_records;
  /// How many timers a turn fires if service_options::turn is unset.
  budget turn;
  /// How many shards a service has if service_options::shards is 0; shards_by_processors: one a processor.
  std::size_t shards;
  /// The largest service_options::shards.
  std::size_t most_shards;
};

/// service_options::shards of 0 means one for each processor.
inline constexpr std::size_t shards_by_processors = 0;
inline constexpr std::size_t any_number_of_shards = 1024;

/// The user's wheel, checked. Throws std::invalid_argument, also where the engine has no such wheel. Precondition:
/// there is one.
[[nodiscard]] wheel_shape wheel_of(const engine_kind& kind, const std::optional<wheel_shape>& chosen);

// foliot_engine.cpp
extern const engine_kind foliot_engine;
// lineage/bucket_heaps.cpp
extern const engine_kind bucket_heaps_engine;
// lineage/epoll_heap.cpp
extern const engine_kind epoll_heap_engine;
// lineage/goim.cpp
extern const engine_kind goim_engine;
// lineage/heaps.cpp
extern const engine_kind global_heap_engine;
extern const engine_kind quad_heap_lazy_engine;
extern const engine_kind goim_heap_engine;
// lineage/trees.cpp
extern const engine_kind red_black_tree_engine;
// lineage/wheels.cpp
extern const engine_kind hashed_wheel_engine;
extern const engine_kind hierarchical_wheel_engine;
extern const engine_kind linux_wheel_engine;
extern const engine_kind erlang_wheel_engine;

}  // namespace foliot::detail
