// What options know of the engines. Private; here because the inline functions of options call it.
#pragma once

#include <foliot/core/language.hpp>

#include <string_view>

#include <foliot/core/export.h>

namespace foliot::detail {

struct engine_kind;

/// foliot's own engine. A program that calls only this has no other engine in it.
[[nodiscard]] FOLIOT_EXPORT const engine_kind& default_engine(std::string_view name);
/// The engine of that name. Throws std::invalid_argument, with the list of all, if there is none.
[[nodiscard]] FOLIOT_EXPORT const engine_kind& engine_by_name(std::string_view name);

}  // namespace foliot::detail
