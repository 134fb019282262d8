// The name of a timer, which users of it share: the timer may be renamed or freed while another thread reads the name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace foliot::detail {

/// Null: the timer has no name.
using shared_name = std::shared_ptr<const std::string>;

[[nodiscard]] inline std::string_view view_of(const shared_name& name) noexcept {
  return name == nullptr ? std::string_view() : std::string_view(*name);
}

}  // namespace foliot::detail
