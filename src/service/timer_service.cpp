#include <foliot/service/timer_service.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include <foliot/core/seam/system.hpp>
#include <foliot/queue/erlang_wheel.hpp>
#include <foliot/queue/foliot_queue.hpp>
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>

#include "poll_wait.hpp"
#include "shard.hpp"
#include "waits.hpp"

namespace foliot::inline service {

namespace {

using namespace detail;

void report_to_standard_error(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "foliot: a timer's callback threw: %s\n", error.what());
  } catch (...) {
    std::fprintf(stderr, "foliot: a timer's callback threw something other than a std::exception\n");
  }
}

template <timer_queue Queue>
constexpr duration lateness_of([[maybe_unused]] duration timeout) noexcept {
  if constexpr (requires { Queue::lateness_of(timeout); }) {
    return Queue::lateness_of(timeout);
  } else {
    return Queue::precision;
  }
}

/// An engine: a design of a shard, by name. A new one needs a line in `kinds`, and a page in docs/engines.
struct engine_kind {
  std::string_view name;
  std::shared_ptr<engine> (*make_shard)(const shard_options& options, std::size_t index);
  /// Gives a shard the list of all shards, if timers move between them.
  void (*introduce)(engine& one, const std::shared_ptr<const shard_list>& all) noexcept;
  duration (*lateness)(duration timeout) noexcept;
  /// Makes a shard whose wheel has the user's tick and size; null where the engine has no such wheel.
  std::shared_ptr<engine> (*make_shaped)(const shard_options& options, std::size_t index);
  /// The number of slots of that wheel if the user chooses the tick alone.
  std::size_t usual_slots;
  /// Whether it can have a log.
  bool keeps_log;
  /// How many timers a turn fires if service_options::turn is unset.
  budget turn;
  /// How many shards a service has if service_options::shards is 0; shards_by_processors: one a processor.
  std::size_t shards;
  /// The largest service_options::shards.
  std::size_t most_shards;
};

constexpr std::size_t shards_by_processors = 0;
constexpr std::size_t any_number_of_shards = 1024;
constexpr budget usual_turn = 256;

template <timer_queue Queue>
constexpr budget turn_of() noexcept {
  if constexpr (requires { Queue::yield_limit; }) {
    return Queue::yield_limit;
  } else {
    return usual_turn;
  }
}

template <class Design>
std::shared_ptr<engine> make_shard(const shard_options& options, std::size_t index) {
  shard_options own = options;
  if constexpr (requires { Design::wait::watches_descriptors; }) {
    if (!own.on_virtual_time) own.watcher = std::make_shared<detail::watcher>(own.turn, own.on_exception);
  }
  return std::make_shared<shard<Design>>(std::move(own), index);
}

template <class Design>
void introduce([[maybe_unused]] engine& one, [[maybe_unused]] const std::shared_ptr<const shard_list>& all) noexcept {
  if constexpr (shard<Design>::moves) static_cast<shard<Design>&>(one).set_siblings(all);
}

template <class Design>
constexpr bool design_keeps_log = requires { requires Design::keeps_log; };

template <class Design>
constexpr engine_kind made_of(std::string_view name, std::size_t shards = 1,
                              std::size_t most_shards = any_number_of_shards) noexcept {
  using queue = typename Design::queue;
  return {.name = name,
          .make_shard = make_shard<Design>,
          .introduce = introduce<Design>,
          .lateness = lateness_of<queue>,
          .make_shaped = nullptr,
          .usual_slots = 0,
          .keeps_log = design_keeps_log<Design>,
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

/// The plain design, under the name of its queue.
template <timer_queue Queue>
constexpr engine_kind by_name_of = made_of<plain_design<Queue>>(Queue::name);

/// The same with a wheel whose shape the user may choose.
template <timer_queue Wheel, timer_queue ChosenWheel>
constexpr engine_kind wheel_by_name_of = [] {
  engine_kind kind = by_name_of<Wheel>;
  kind.make_shaped = make_shard<plain_design<ChosenWheel>>;
  kind.usual_slots = ChosenWheel::usual_slots;
  return kind;
}();

/// foliot's own engine.
struct foliot_design {
  using queue = foliot_queue;
  using wait = detail::clock_wait;
  using word = detail::timer_word;
  using home = detail::fixed_home;
  using padding = no_padding;
};

constexpr std::array kinds{
    made_of<foliot_design>("foliot", shards_by_processors),
    made_of<plain_design<quad_heap>>("global-heap", 1, 1),  // its single lock is the point of it
    made_of<bucket_design>("bucket-heaps", 64),
    by_name_of<quad_heap_lazy>,
    made_of<goim_design>("goim"),
    by_name_of<goim_heap>,
    made_of<epoll_design>("epoll-heap"),
    wheel_by_name_of<hashed_wheel, chosen_hashed_wheel>,
    wheel_by_name_of<hierarchical_wheel, chosen_hierarchical_wheel>,
    by_name_of<linux_wheel>,
    by_name_of<erlang_wheel>,
};

constexpr auto names = [] {
  std::array<std::string_view, kinds.size()> result;
  std::ranges::transform(kinds, result.begin(), &engine_kind::name);
  return result;
}();

const engine_kind& kind_of(std::string_view engine) {
  const auto kind = std::ranges::find(kinds, engine, &engine_kind::name);
  if (kind == kinds.end()) {
    std::string message = "foliot: there is no engine '" + std::string(engine) + "'; there is:";
    for (const std::string_view name : names) (message += ' ') += name;
    throw std::invalid_argument(message);
  }
  return *kind;
}

/// The user's wheel, checked. Precondition: there is one.
wheel_shape wheel_of(const engine_kind& kind, const std::optional<wheel_shape>& chosen) {
  if (kind.make_shaped == nullptr) {
    throw std::invalid_argument("foliot: the engine '" + std::string(kind.name) +
                                "' has no wheel whose tick and size can be chosen: choose 'hashed-wheel' or "
                                "'hierarchical-wheel', or set no wheel");
  }
  return chosen->checked(kind.usual_slots);
}

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
  const engine_kind& kind = kind_of(options.engine);
  if (options.log && !kind.keeps_log) {
    throw std::invalid_argument("foliot: the engine '" + std::string(kind.name) +
                                "' keeps no log: choose the engine 'goim', or set no log");
  }
  if (!options.on_exception) options.on_exception = report_to_standard_error;
  shard_options common{
      on != nullptr ? *on : clock_of(options.clock),
      system_clock_of(options.clock),
      on != nullptr,
      options.turn.value_or(kind.turn),
      options.precise,
      options.executor ? std::make_shared<callback_executor>(std::move(*options.executor)) : nullptr,
      std::make_shared<exception_handler>(std::move(options.on_exception)),
      options.measure,
      options.slow_callback.tell ? std::make_shared<slow_callback_report>(std::move(options.slow_callback)) : nullptr};
  if (options.wheel) common.wheel = wheel_of(kind, options.wheel);
  if (options.log) common.log = std::make_shared<timer_log>(std::move(options.log));
  const auto make = options.wheel ? kind.make_shaped : kind.make_shard;
  const auto shards = std::make_shared<shard_list>();
  shards->resize(shards_of(kind, options.shards, on));
  for (std::size_t i = 0; i < shards->size(); ++i) (*shards)[i] = make(common, i);
  for (const auto& each : *shards) kind.introduce(*each, shards);
  return shards;
}

}  // namespace

timer_service::timer_service(service_options options) : shards_(make_shards(nullptr, std::move(options))) {}

timer_service::timer_service(virtual_clock& clock, service_options options)
    : shards_(make_shards(&clock, std::move(options))), on_virtual_time_(true) {
  clock.join(shards_->front());
}

timer_service::~timer_service() { shut_down(); }

std::size_t timer_service::shut_down() noexcept {
  const auto shards = shards_;  // destroying a closure may destroy the service
  const bool inside = runs_on_caller();
  std::size_t dropped = 0;
  for (const auto& each : *shards) dropped += as_shard(*each).end();
  // Inside a callback it does not wait: the threads end when the callback has returned, and a later call from another
  // thread waits for them.
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

void timer_service::reserve(std::size_t count) {
  // All of them in each shard, since one thread may start them all; and in all shards or in none.
  std::vector<callable<void()>> rooms;
  rooms.reserve(shards_->size());
  for (const auto& each : *shards_) rooms.push_back(as_shard(*each).room_for(count));
  for (auto& take : rooms) take();
}

service_counters timer_service::counters() const noexcept { return as_shard(*shards_->front()).counters(*shards_); }

service_statistics timer_service::statistics() const noexcept {
  service_statistics now;
  now.counters = counters();
  for (const auto& each : *shards_) as_shard(*each).add_to(now);
  return now;
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
  wake_ups += other.wake_ups;
  wakes_with_work += other.wakes_with_work;
  wakes_without_work += other.wakes_without_work;
  pending += other.pending;
  peak_pending += other.peak_pending;
  return *this;
}

std::span<const std::string_view> timer_service::engines() noexcept { return names; }

duration timer_service::lateness(std::string_view engine, duration timeout) {
  return kind_of(engine).lateness(timeout);
}

budget timer_service::turn(std::string_view engine) { return kind_of(engine).turn; }

duration timer_service::lateness(const service_options& options, duration timeout) {
  const engine_kind& kind = kind_of(options.engine);
  return options.wheel ? wheel_of(kind, options.wheel).tick : kind.lateness(timeout);
}

}  // namespace foliot::inline service
