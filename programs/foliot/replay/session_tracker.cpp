#include "session_tracker.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include <foliot/service/timer_service.hpp>

#include "runtime_sessions.hpp"
#include "service_sessions.hpp"

namespace foliot::program {

namespace {

/// The runtime, by what its processors keep their timers in.
struct runtime_engine {
  std::string_view name;
  std::string_view timers;
};
constexpr std::array runtimes{
    runtime_engine{"foliot-runtime", "foliot"},
    runtime_engine{"processor-heaps", "processor-heaps"},
};

const runtime_engine* find_runtime(std::string_view name) noexcept {
  const auto found = std::ranges::find(runtimes, name, &runtime_engine::name);
  return found != runtimes.end() ? &*found : nullptr;
}

service_options options_of(std::string_view engine, const std::optional<wheel_shape>& wheel) {
  service_options options;
  options.engine = engine;
  options.wheel = wheel;
  return options;
}

void refuse_wheel(std::string_view name, const std::optional<wheel_shape>& wheel) {
  if (wheel) throw std::invalid_argument("foliot: '" + std::string(name) + "' is a runtime, and has no wheel");
}

std::unique_ptr<session_engine> make(std::string_view name, duration idle, session_sink sink,
                                     const std::optional<wheel_shape>& wheel) {
  if (const runtime_engine* const runtime = find_runtime(name)) {
    refuse_wheel(name, wheel);
    return std::make_unique<runtime_sessions>(std::string(runtime->timers), idle, std::move(sink));
  }
  return std::make_unique<service_sessions>(options_of(name, wheel), idle, std::move(sink));
}

}  // namespace

session_tracker::session_tracker(std::string_view engine, duration idle, session_sink sink,
                                 const std::optional<wheel_shape>& wheel)
    : engine_(make(engine, idle, std::move(sink), wheel)) {}

std::vector<std::string_view> session_tracker::engines() {
  std::vector<std::string_view> names(timer_service::engines().begin(), timer_service::engines().end());
  for (const runtime_engine& each : runtimes) names.push_back(each.name);
  return names;
}

duration session_tracker::lateness(std::string_view engine, duration idle, const std::optional<wheel_shape>& wheel) {
  if (find_runtime(engine) == nullptr) return timer_service::lateness(options_of(engine, wheel), idle);
  refuse_wheel(engine, wheel);
  return duration::zero();
}

}  // namespace foliot::program
