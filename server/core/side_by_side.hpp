// Calls that wait, made side by side on threads of their own.
#pragma once

#include <cstddef>
#include <exception>
#include <vector>

#include <foliot/core/seam/sync.hpp>

namespace foliot::program {

/// Calls `call(i)` for each i below `count`, and returns when all have returned. Throws what the first of them that
/// failed has thrown. A call for which no thread can be started, for want of threads or memory, is made on this one.
template <class Call>
void side_by_side(std::size_t count, const Call& call) {
  std::vector<std::exception_ptr> failures(count);
  const auto guarded = [&](std::size_t i) noexcept {
    try {
      call(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  std::vector<seam::thread> threads;
  threads.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    try {
      threads.emplace_back("foliot-session", [&guarded, i] { guarded(i); });
    } catch (const std::exception&) {
      guarded(i);
    }
  }
  for (seam::thread& each : threads) each.join();
  for (const std::exception_ptr& each : failures) {
    if (each != nullptr) std::rethrow_exception(each);
  }
}

}  // namespace foliot::program
