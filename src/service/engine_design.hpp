// How an engine_kind is made of the design of its shards. For foliot_engine.cpp and src/lineage.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include <foliot/queue/timer_queue.hpp>

#include "engine_kind.hpp"
#include "shard.hpp"
#include "waits.hpp"
#include "watcher.hpp"

namespace foliot::detail {

template <timer_queue Queue>
constexpr duration lateness_of([[maybe_unused]] duration timeout) noexcept {
  if constexpr (requires { Queue::lateness_of(timeout); }) {
    return Queue::lateness_of(timeout);
  } else {
    return Queue::precision;
  }
}

inline constexpr budget usual_turn = 256;

template <timer_queue Queue>
constexpr budget turn_of() noexcept {
  if constexpr (requires { Queue::yield_limit; }) {
    return Queue::yield_limit;
  } else {
    return usual_turn;
  }
}

/// `Shard`: shard<Design>, or a class that derives from it.
template <class Shard, class Design>
std::shared_ptr<engine> make_shard(const shard_options& options, std::size_t index) {
  shard_options own = options;
  if constexpr (requires { Design::wait::watches_descriptors; }) {
    if (!own.on_virtual_time) own.watcher = std::make_shared<detail::watcher>(own.turn, own.on_exception);
  }
  return std::make_shared<Shard>(std::move(own), index);
}

template <class Design>
constexpr bool design_keeps_log = requires { requires Design::keeps_log; };

template <class Design>
constexpr bool design_pools_records = requires { requires Design::pools_records; };

template <class Design, class Shard = shard<Design>>
constexpr engine_kind made_of(std::string_view name, std::size_t shards = 1,
                              std::size_t most_shards = any_number_of_shards) noexcept {
  using queue = typename Design::queue;
  return {.name = name,
          .make_shard = make_shard<Shard, Design>,
          .introduce = nullptr,
          .lateness = lateness_of<queue>,
          .make_shaped = nullptr,
          .usual_slots = 0,
          .keeps_log = design_keeps_log<Design>,
          .pools_records = design_pools_records<Design>,
          .turn = turn_of<queue>(),
          .shards = shards,
          .most_shards = most_shards};
}

/// One lock and one thread around a queue.
template <timer_queue Queue>
struct plain_design {
  using queue = Queue;
  using wait = detail::clock_wait;
  using word = detail::no_word;
  using home = detail::fixed_home;
  using padding = no_padding;
};

/// The plain design, under the name of its queue.
template <timer_queue Queue>
constexpr engine_kind by_name_of = made_of<plain_design<Queue>>(Queue::name);

}  // namespace foliot::detail
