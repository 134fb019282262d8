// All engines by their names. The only source that refers to all of them.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include <foliot/service/timer_service.hpp>

#include "service/engine_kind.hpp"

namespace foliot::detail {

namespace {

constexpr std::array kinds{
    &foliot_engine,       &global_heap_engine,        &bucket_heaps_engine, &quad_heap_lazy_engine,
    &goim_engine,         &goim_heap_engine,          &epoll_heap_engine,   &red_black_tree_engine,
    &hashed_wheel_engine, &hierarchical_wheel_engine, &linux_wheel_engine,  &erlang_wheel_engine,
};

}  // namespace

const engine_kind& engine_by_name(std::string_view name) {
  const auto kind = std::ranges::find(kinds, name, &engine_kind::name);
  if (kind == kinds.end()) {
    std::string message = "foliot: there is no engine '" + std::string(name) + "'; there is:";
    for (const engine_kind* each : kinds) (message += ' ') += each->name;
    throw std::invalid_argument(message);
  }
  return **kind;
}

}  // namespace foliot::detail

namespace foliot::inline service {

std::span<const std::string_view> timer_service::engines() noexcept {
  static const auto names = [] {
    std::array<std::string_view, detail::kinds.size()> result;
    std::ranges::transform(detail::kinds, result.begin(), &detail::engine_kind::name);
    return result;
  }();
  return names;
}

duration timer_service::lateness(std::string_view engine, duration timeout) {
  return detail::engine_by_name(engine).lateness(timeout);
}

budget timer_service::turn(std::string_view engine) { return detail::engine_by_name(engine).turn; }

}  // namespace foliot::inline service
