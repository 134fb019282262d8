// What a zone holds: the transitions of its file, and the rule behind the last one.
//
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <foliot/schedule/zone.hpp>

#include "schedule/civil.hpp"
#include "schedule/posix_zone.hpp"

namespace foliot::schedule {

/// What the first and the last period of a zone are bounded by: so far from all times of a schedule that an offset may
/// be added.
inline constexpr sys_seconds first_instant = earliest - std::chrono::days(1);
inline constexpr sys_seconds last_instant = latest + std::chrono::days(1);

namespace detail {

struct zone_data {
  struct transition {
    sys_seconds at;
    std::size_t type;  ///< of the period that begins
  };
  std::string name{};
  std::string version{};
  std::vector<posix_zone::clock> types{};
  std::size_t first_type = 0;             ///< holds before all transitions
  std::vector<transition> transitions{};  ///< the earliest first
  std::optional<posix_zone> rule{};       ///< behind the last transition; else its type holds
  std::uint64_t checksum = 0;             ///< of the bytes of the file
};

}  // namespace detail

}  // namespace foliot::schedule
