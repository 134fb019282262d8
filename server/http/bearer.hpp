// The access token in the value of an Authorization.
//
// Thread safety: a pure function.
#pragma once

#include <optional>
#include <string_view>

#include "front_check.hpp"

namespace foliot::program::http {

/// What comes behind `Bearer` and blanks; nothing if the value has another form.
[[nodiscard]] inline std::optional<std::string_view> bearer_in(std::string_view value) noexcept {
  constexpr std::string_view scheme = "bearer ";
  if (!equal_in_any_case(value.substr(0, scheme.size()), scheme)) return std::nullopt;
  value.remove_prefix(scheme.size());
  while (value.starts_with(' ')) value.remove_prefix(1);
  return value;
}

}  // namespace foliot::program::http
