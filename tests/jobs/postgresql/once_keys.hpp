// Keys and requests of operations that happen once, for tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <foliot/jobs/once.hpp>

namespace foliot_test {

inline foliot::jobs::sha256 digest_of(std::uint32_t number) {
  foliot::jobs::sha256 made{};
  for (std::size_t i = 0; i < sizeof number; ++i) made[i] = static_cast<std::byte>(number >> (8 * i));
  return made;
}

inline foliot::jobs::once once_of(std::uint32_t key, std::uint32_t request = 1,
                                  foliot::jobs::milliseconds lifetime = std::chrono::hours(24)) {
  return {digest_of(key), digest_of(request), lifetime};
}

}  // namespace foliot_test
