// A place: where a node is queued, in a queue of several parts, as one word of the node. The upper 16 bits are the
// region, the lower 48 the position in it: an index or an address.
//
// `timer_node_access::nowhere`, all ones, reads as `last_region`, which no queue uses.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <cstdint>

namespace foliot::detail::place {

static_assert(sizeof(std::size_t) == 8, "foliot: a place is a 64-bit word");

inline constexpr int position_bits = 48;
inline constexpr std::size_t position_mask = (std::size_t{1} << position_bits) - 1;
inline constexpr std::size_t last_region = 0xffff;

constexpr std::size_t at(std::size_t region, std::size_t position) noexcept {
  return region << position_bits | position;
}
constexpr std::size_t region(std::size_t place) noexcept { return place >> position_bits; }
constexpr std::size_t position(std::size_t place) noexcept { return place & position_mask; }

}  // namespace foliot::detail::place
