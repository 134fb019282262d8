// The seam to random bytes for secrets: those of the kernel (getrandom), which nothing else can repeat or foretell. All
// other random numbers come from random.hpp.
//
// Real side: src/core/seam/secret_bytes.cpp. The simulated worlds make no secrets. Thread safety: any thread.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <span>

#include <foliot/core/export.h>

namespace foliot::inline core::seam {

/// Fills all of `into`. Waits until the kernel has gathered enough randomness, which it has soon after its start.
/// Throws std::system_error.
FOLIOT_EXPORT void fill_with_secret_bytes(std::span<std::byte> into);

}  // namespace foliot::inline core::seam
