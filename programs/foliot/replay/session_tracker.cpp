#include "session_tracker.hpp"

#include <algorithm>
#include <array>
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

std::unique_ptr<session_engine> make(std::string_view name, duration idle, session_sink sink) {
  if (const runtime_engine* const runtime = find_runtime(name)) {
    return std::make_unique<runtime_sessions>(std::string(runtime->timers), idle, std::move(sink));
  }
  return std::make_unique<service_sessions>(std::string(name), idle, std::move(sink));
}

}  // namespace

session_tracker::session_tracker(std::string_view engine, duration idle, session_sink sink)
    : engine_(make(engine, idle, std::move(sink))) {}

std::vector<std::string_view> session_tracker::engines() {
  std::vector<std::string_view> names(timer_service::engines().begin(), timer_service::engines().end());
  for (const runtime_engine& each : runtimes) names.push_back(each.name);
  return names;
}

duration session_tracker::lateness(std::string_view engine, duration idle) {
  return find_runtime(engine) != nullptr ? duration::zero() : timer_service::lateness(engine, idle);
}

}  // namespace foliot::program
