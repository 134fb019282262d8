// How an engine_kind is made of the design of its shards. For foliot_engine.cpp and src/lineage.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/queue/timer_queue.hpp>

#include "engine_kind.hpp"
#include "shard.hpp"
#include "waits.hpp"
#include "watcher.hpp"

namespace foliot::detail {

/// The log of designs that keep none.
struct no_log {
  explicit no_log(const shard_options& /*options*/) noexcept {}
  static constexpr bool wanted() noexcept { return false; }
  template <class Record>
  static void started(Record&, const std::optional<instant>&) noexcept {}
  template <class Record>
  static void stopping(Record&) noexcept {}
  template <class Record>
  static void ending(Record&) noexcept {}
  template <class Record>
  static void expired(Record&, instant) noexcept {}
  template <class Record>
  static void calling(Record&, instant) noexcept {}
  static void all_fired(instant) noexcept {}
  static void write() noexcept {}
};

/// The records of designs that allocate each.
struct allocated_records {
  allocated_records(std::size_t /*record_size*/, std::size_t /*block*/) noexcept {}
  /// Without the shard's lock. Throws std::bad_alloc.
  template <class Record, class... Arguments>
  [[nodiscard]] static Record* make([[maybe_unused]] mutex& of_shard, Arguments&&... arguments)
      FOLIOT_EXCLUDES(of_shard) {
    return new Record(std::forward<Arguments>(arguments)...);
  }
  template <class Record>
  static void free([[maybe_unused]] mutex& of_shard, Record& r) noexcept FOLIOT_REQUIRES(of_shard) {
    delete &r;
  }
};

/// One lock and one thread around a queue.
template <timer_queue Queue>
struct plain_design {
  using queue = Queue;
  using wait = detail::clock_wait;
  using word = detail::no_word;
  using home = detail::fixed_home;
  using padding = no_padding;
  using records = allocated_records;
  using log = no_log;
};

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
          .keeps_log = !std::same_as<typename Design::log, no_log>,
          .pools_records = !std::same_as<typename Design::records, allocated_records>,
          .turn = turn_of<queue>(),
          .shards = shards,
          .most_shards = most_shards};
}

/// The plain design, under the name of its queue.
template <timer_queue Queue>
constexpr engine_kind by_name_of = made_of<plain_design<Queue>>(Queue::name);

}  // namespace foliot::detail
