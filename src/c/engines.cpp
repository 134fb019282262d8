// The engines of the C interface: a source of its own, so that a program that names no engine has foliot's alone in it.
#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include <foliot/service/timer_service.hpp>

#include "shared.hpp"

using namespace foliot::c_interface;

namespace {

const std::vector<foliot_engine>& all() {
  static const auto* const engines = [] {
    auto made = std::make_unique<std::vector<foliot_engine>>();
    for (const std::string_view name : foliot::timer_service::engines()) made->push_back({.choice = name});
    return made.release();  // never destroyed: valid for ever
  }();
  return *engines;
}

}  // namespace

extern "C" {

foliot_status foliot_engine_find(const char* name, const foliot_engine** result) noexcept {
  return guarded([&] {
    need_result(result);
    need(name, "foliot: the name of the engine must not be null");
    const auto found = std::ranges::find_if(all(), [name](const foliot_engine& each) { return each.choice == name; });
    if (found == all().end()) {
      static_cast<void>(foliot::engine_choice(name).kind());  // throws, with the list of all
    } else {
      *result = &*found;
    }
  });
}

}  // extern "C"
