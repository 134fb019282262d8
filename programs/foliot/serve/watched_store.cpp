#include "watched_store.hpp"

#include <cstddef>

#include <fmt/format.h>
#include <foliot/core/instant.hpp>

#include "../duration_text.hpp"

namespace foliot::program {

jobs::execution watched_store::execute(std::span<jobs::operation> batch) {
  const std::size_t operations = batch.size();
  const instant began = time_.now();
  began_.store(began.nanoseconds(), seam::relaxed);
  const auto end = [&] {
    began_.store(idle, seam::relaxed);
    const duration took = time_.now() - began;
    if (took <= slow_batch) return;
    warn_(fmt::format("the job store took {} for {} operations, and all clients waited: the disk is slow or stalls",
                      duration_text(took), operations));
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
