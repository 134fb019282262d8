#include "watched_store.hpp"

#include <cstddef>

#include <fmt/format.h>
#include <foliot/core/instant.hpp>

namespace foliot::program {

jobs::execution watched_store::execute(std::span<jobs::operation> batch) {
  const std::size_t operations = batch.size();
  const instant began = time_.now();
  began_.store(began.nanoseconds(), seam::relaxed);
  const auto end = [&] {
    began_.store(idle, seam::relaxed);
    const duration took = time_.now() - began;
    if (took <= slow_batch) return;
    ++slow_batches_;
    if (began < next_warning_) return;
    next_warning_ = began + between_warnings;
    const std::string more =
        slow_batches_ > 1 ? fmt::format(" ({} slow batches since the last warning)", slow_batches_) : "";
    slow_batches_ = 0;
    warn_(
        fmt::format("the job store took {:.1f} s to execute a batch of {} operations, and all clients waited: the disk "
                    "is slow or stalls{}",
                    static_cast<double>(took.count()) / 1e9, operations, more));
  };
  try {
    jobs::execution done = inner_.execute(batch);
    end();
    return done;
  } catch (...) {
    end();
    throw;
  }
}

duration watched_store::busy_for() const noexcept {
  const std::int64_t began = began_.load(seam::relaxed);
  return began == idle ? duration::zero() : time_.now() - instant::from_nanoseconds(began);
}

}  // namespace foliot::program
