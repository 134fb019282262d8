// How much memory things take: what is resident afterwards, less what was before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "own_process.hpp"

namespace foliot::program::bench {

/// The memory of this process that is resident and belongs to no file, in KiB; -1 where the system does not report it.
/// (Not statm: its counters are kept for each core, and are some hundred KiB behind.) Allocates nothing, so as not to
/// count itself.
[[nodiscard]] std::int64_t resident_kibibytes();

/// Bytes for each of `count` things that `make(count)` makes. A process of its own makes them, so that they get no
/// memory which an earlier contestant gave back. Counts whole pages, so that a few things seem to take more, and what
/// the maker allocates for itself. Nothing where the process could not be made or the system does not report it.
/// Precondition: this process has one thread.
template <class Make>
[[nodiscard]] std::optional<double> bytes_each(std::size_t count, Make make) {
  const std::optional<std::int64_t> kibibytes = in_own_process([&] {
    make(std::size_t{16});  // so that what libraries and the allocator allocate once is not counted
    const std::int64_t before = resident_kibibytes();
    const auto made = make(count);
    const std::int64_t after = resident_kibibytes();
    return before < 0 || after < 0 ? std::int64_t{-1} : after - before;
  });
  if (kibibytes.value_or(-1) < 0) return std::nullopt;
  return static_cast<double>(*kibibytes) * 1024 / static_cast<double>(count);
}

}  // namespace foliot::program::bench
