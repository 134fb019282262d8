#include <foliot/service/timer_service.hpp>

#include <algorithm>
#include <array>
#include <ranges>
#include <stdexcept>
#include <utility>
#include <vector>

#include <foliot/core/seam/system.hpp>

#include "engine_kind.hpp"
#include "shard_base.hpp"
#include "stall_default.hpp"
#include "stall_monitor.hpp"

namespace foliot::detail {

wheel_shape wheel_of(const engine_kind& kind, const std::optional<wheel_shape>& chosen) {
  if (kind.make_shaped == nullptr) {
    throw std::invalid_argument("foliot: the engine '" + std::string(kind.name) +
                                "' has no wheel whose tick and size can be chosen: choose 'hashed-wheel' or "
                                "'hierarchical-wheel', or set no wheel");
  }
  return chosen->checked(kind.usual_slots);
}

}  // namespace foliot::detail

namespace foliot::inline service {

namespace {

using namespace detail;

std::size_t shards_of(const engine_kind& kind, std::size_t wanted, const virtual_clock* clock) {
  const bool limited_by_clock = clock != nullptr && kind.most_shards > 1;
  const std::size_t most = clock != nullptr ? 1 : kind.most_shards;
  if (wanted > most) {
    throw std::invalid_argument("foliot: the engine '" + std::string(kind.name) + "' can have " +
                                (most == 1 ? "one shard" : "at most " + std::to_string(most) + " shards") +
                                (limited_by_clock ? " on virtual time" : "") + ", not " + std::to_string(wanted));
  }
  if (wanted != 0) return wanted;
  if (clock != nullptr) return 1;
  return kind.shards == shards_by_processors ? std::min(seam::processors(), any_number_of_shards) : kind.shards;
}

seam::clock_id system_clock_of(service_clock chosen) {
  switch (chosen) {
    case service_clock::boottime: return seam::clock_id::boottime;
    case service_clock::wall: return seam::clock_id::wall;
    default: return seam::clock_id::monotonic;
  }
}

const clock& clock_of(service_clock chosen) {
  switch (chosen) {
    case service_clock::boottime: return boottime_clock::instance();
    case service_clock::wall: return wall_clock::instance();
    default: return monotonic_clock::instance();
  }
}

/// The largest service_options::free_list.
constexpr std::size_t largest_free_list = std::size_t{1} << 20;

/// The locks of all shards, in the order of a start that moves a timer, and of a fork.
class all_locks {
 public:
  explicit all_locks(const shard_list& of) noexcept : shards_(of) {
    for (const auto& each : shards_ | std::views::reverse) as_shard(*each).lock_with_others(each == shards_.back());
  }
  ~all_locks() {
    for (const auto& each : shards_) as_shard(*each).unlock_with_others(each == shards_.back());
  }
  all_locks(const all_locks&) = delete;
  all_locks& operator=(const all_locks&) = delete;

 private:
  const shard_list& shards_;
};

/// Room for `count` timers in each shard, since one thread may start them all; and in all shards or in none.
void reserve_in_all(const shard_list& shards, std::size_t count) {
  std::vector<callable<void()>> rooms;
  rooms.reserve(shards.size());
  const all_locks held(shards);
  for (const auto& each : shards) rooms.push_back(as_shard(*each).room_for(count));
  for (auto& take : rooms) take();
}

/// `on`: the virtual clock, if the service is on virtual time; else null.
std::shared_ptr<const shard_list> make_shards(const virtual_clock* on, service_options options) {
  if (options.turn == 0) {
    throw std::invalid_argument("foliot: service_options::turn must be at least 1, got 0");
  }
  const duration slow = options.slow_callback.longer_than;
  if (slow < duration::zero() || (slow > duration::zero() && !options.slow_callback.tell)) {
    throw std::invalid_argument(
        "foliot: service_options::slow_callback needs a function to call and a limit that is not negative");
  }
  const duration stalled = options.stalls.longer_than;
  if (options.stalls.tell ? stalled <= duration::zero() : stalled != duration::zero()) {
    throw std::invalid_argument(
        "foliot: service_options::stalls needs a function to call and a limit that is positive");
  }
  if (!options.stalls.tell && default_stall_limit > duration::zero()) {
    options.stalls = {.longer_than = default_stall_limit, .tell = print_stall};
  }
  const engine_kind& kind = options.engine.kind();
  if (options.log && !kind.keeps_log) {
    throw std::invalid_argument("foliot: the engine '" + std::string(kind.name) +
                                "' keeps no log: choose the engine 'goim', or set no log");
  }
  if (options.free_list && !kind.pools_records) {
    throw std::invalid_argument("foliot: the engine '" + std::string(kind.name) +
                                "' has no free list: choose the engine 'goim', or set none");
  }
  if (options.free_list && (*options.free_list == 0 || *options.free_list > largest_free_list)) {
    throw std::invalid_argument("foliot: a block of a free list has room for 1 to " +
                                std::to_string(largest_free_list) + " timers, got " +
                                std::to_string(*options.free_list));
  }
  shard_options common{on != nullptr ? *on : clock_of(options.clock),
                       system_clock_of(options.clock),
                       on != nullptr,
                       options.turn.value_or(kind.turn),
                       options.precise,
                       options.executor ? std::move(*options.executor) : callback_executor(),
                       std::move(options.on_exception),
                       options.measure,
                       std::move(options.slow_callback),
                       std::move(options.stalls)};
  if (options.wheel) common.wheel = wheel_of(kind, options.wheel);
  common.log = std::move(options.log);
  common.free_list = options.free_list.value_or(usual_free_list);
  const auto make = options.wheel ? kind.make_shaped : kind.make_shard;
  const auto shards = std::make_shared<shard_list>();
  shards->resize(shards_of(kind, options.shards, on));
  for (std::size_t i = 0; i < shards->size(); ++i) (*shards)[i] = make(common, i);
  if (kind.introduce != nullptr) {
    for (const auto& each : *shards) kind.introduce(*each, shards);
  }
  if (options.free_list) reserve_in_all(*shards, *options.free_list);
  return shards;
}

}  // namespace

timer_service::timer_service(service_options options) {
  const duration watched = options.stalls.tell ? options.stalls.longer_than : duration::zero();
  shards_ = make_shards(nullptr, std::move(options));
  if (watched > duration::zero()) stalls_ = std::make_unique<stall_monitor>(shards_, watched);
}

timer_service::timer_service(virtual_clock& clock, service_options options)
    : shards_(make_shards(&clock, std::move(options))), on_virtual_time_(true) {
  clock.join(shards_->front());
}

timer_service::~timer_service() {
  shut_down();  // stalls_ ends after it: it reports what that waits for
  if (stalls_ != nullptr && stalls_->runs_caller()) stalls_.release()->abandon();
}

std::size_t timer_service::shut_down() noexcept {
  const auto shards = shards_;  // destroying a closure may destroy the service
  const bool inside = runs_on_caller() || (stalls_ != nullptr && stalls_->runs_caller());
  std::size_t dropped = 0;
  for (const auto& each : *shards) dropped += as_shard(*each).end();
  // Inside a callback, or a report on the thread of the monitor, it does not wait: the threads end when the callback
  // has returned, and a later call from another thread waits for them.
  if (inside) return dropped;
  for (const auto& each : *shards) as_shard(*each).wait_for_end();
  return dropped;
}

std::size_t timer_service::drain(duration at_most) {
  if (runs_on_caller()) {
    throw std::logic_error("foliot: a callback must not drain the service that runs it: drain it from another thread");
  }
  if (on_virtual_time_) {
    throw std::logic_error("foliot: a service on virtual time does not drain: advance its clock, then shut it down");
  }
  const instant until = deadline_after(seam::monotonic_now(), at_most);  // the service's clock may be set meanwhile
  for (const auto& each : *shards_) as_shard(*each).begin_to_drain();
  for (const auto& each : *shards_) as_shard(*each).wait_until_drained(until);
  return shut_down();
}

void timer_service::reserve(std::size_t count) { reserve_in_all(*shards_, count); }

service_counters timer_service::counters() const noexcept { return as_shard(*shards_->front()).counters(*shards_); }

service_statistics timer_service::statistics() const noexcept {
  service_statistics now;
  now.counters = counters();
  for (const auto& each : *shards_) as_shard(*each).add_to(now);
  return now;
}

std::vector<slowest_callback> timer_service::slowest_callbacks() const {
  foliot::detail::slowest_callbacks all;
  for (const auto& each : *shards_) as_shard(*each).add_to(all);
  return all.in_words();
}

bool timer_service::runs_on_caller() const noexcept {
  return std::ranges::any_of(*shards_, [](const auto& each) { return as_shard(*each).runs_on_caller(); });
}

service_counters& service_counters::operator+=(const service_counters& other) noexcept {
  started += other.started;
  superseded += other.superseded;
  stopped += other.stopped;
  fired += other.fired;
  skipped += other.skipped;
  dropped += other.dropped;
  refused += other.refused;
  wake_ups += other.wake_ups;
  wakes_with_work += other.wakes_with_work;
  wakes_without_work += other.wakes_without_work;
  pending += other.pending;
  peak_pending += other.peak_pending;
  return *this;
}

duration timer_service::lateness(const service_options& options, duration timeout) {
  const engine_kind& kind = options.engine.kind();
  return options.wheel ? wheel_of(kind, options.wheel).tick : kind.lateness(timeout);
}

}  // namespace foliot::inline service
