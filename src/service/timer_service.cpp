#include <foliot/service/timer_service.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

#include <foliot/queue/erlang_wheel.hpp>
#include <foliot/queue/foliot_queue.hpp>
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>

#include "global_engine.hpp"

namespace foliot::inline service {

namespace {

void report_to_standard_error(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "foliot: a timer's callback threw: %s\n", error.what());
  } catch (...) {
    std::fprintf(stderr, "foliot: a timer's callback threw something that is no std::exception\n");
  }
}

template <class Engine>
std::shared_ptr<engine> make_engine(const clock& time, bool by_hand, service_options options) {
  return std::make_shared<Engine>(time, by_hand, options.turn, std::move(options.on_exception));
}

template <timer_queue Queue>
constexpr duration lateness_of([[maybe_unused]] duration timeout) noexcept {
  if constexpr (requires { Queue::lateness_of(timeout); }) {
    return Queue::lateness_of(timeout);
  } else {
    return Queue::precision;
  }
}

/// The engines, by name. A new one is a line here, and its page in docs/engines.
struct engine_kind {
  std::string_view name;
  std::shared_ptr<engine> (*make)(const clock& time, bool by_hand, service_options options);
  duration (*lateness)(duration timeout) noexcept;
};

/// One lock and one thread around a queue.
template <timer_queue Queue>
constexpr engine_kind around(std::string_view name) noexcept {
  return {name, make_engine<global_engine<Queue>>, lateness_of<Queue>};
}

/// The same, called as the queue is.
template <timer_queue Queue>
constexpr engine_kind by_name_of = around<Queue>(Queue::name);

constexpr std::array kinds{
    by_name_of<foliot_queue>, around<quad_heap>("global-heap"), by_name_of<quad_heap_lazy>, by_name_of<goim_heap>,
    by_name_of<hashed_wheel>, by_name_of<hierarchical_wheel>,   by_name_of<linux_wheel>,    by_name_of<erlang_wheel>,
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

std::shared_ptr<engine> choose(const clock& time, bool by_hand, service_options options) {
  if (options.turn == 0) {
    throw std::invalid_argument("foliot: a service's turn must fire at least 1 timer, not 0");
  }
  const engine_kind& kind = kind_of(options.engine);
  if (!options.on_exception) options.on_exception = report_to_standard_error;
  return kind.make(time, by_hand, std::move(options));
}

}  // namespace

timer_service::timer_service(service_options options)
    : engine_(choose(monotonic_clock::instance(), false, std::move(options))) {}

timer_service::timer_service(virtual_clock& clock, service_options options)
    : engine_(choose(clock, true, std::move(options))) {
  clock.join(engine_);
}

timer_service::~timer_service() { shut_down(); }

std::span<const std::string_view> timer_service::engines() noexcept { return names; }

duration timer_service::lateness(std::string_view engine, duration timeout) {
  return kind_of(engine).lateness(timeout);
}

}  // namespace foliot::inline service
