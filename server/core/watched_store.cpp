#include "watched_store.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/instant.hpp>

#include "process_end.hpp"

namespace foliot::program {

namespace {

double seconds(duration length) { return static_cast<double>(length.count()) / 1e9; }

}  // namespace

void watched_store::close() {
  const memory_needed here;
  inner_.close();
}

jobs::execution watched_store::execute(std::span<jobs::operation> batch) {
  const memory_needed here;
  const std::size_t operations = batch.size();
  const instant began = time_.now();
  began_.store(began.nanoseconds(), seam::relaxed);
  const auto end = [&] {
    began_.store(idle, seam::relaxed);
    const duration took = time_.now() - began;
    batches_.record(took);
    return took;
  };
  try {
    jobs::execution done = inner_.execute(batch);
    next_due_.store(inner_.next().due.time_since_epoch().count(), seam::relaxed);
    say_if_slow(end(), operations);
    say_available();
    return done;
  } catch (const jobs::store_unavailable& error) {
    static_cast<void>(end());
    say_unavailable(began, error.what());
    throw;
  } catch (...) {
    say_if_slow(end(), operations);
    throw;
  }
}

void watched_store::say_if_slow(duration took, std::size_t operations) {
  if (took <= slow_batch) return;
  ++slow_batches_;
  const instant began = time_.now() - took;
  if (began < next_warning_) return;
  next_warning_ = began + between_warnings;
  const std::string more =
      slow_batches_ > 1 ? fmt::format(" ({} slow batches since the last warning)", slow_batches_) : "";
  slow_batches_ = 0;
  warn_(
      fmt::format("the job store took {:.1f} s to execute a batch of {} operations, and its clients waited: the {} "
                  "is slow or stalls{}",
                  seconds(took), operations, inner_.others() == nullptr ? "disk" : "database", more));
}

void watched_store::say_unavailable(instant began, const char* why) {
  if (!unavailable_since_.is_never()) return;
  unavailable_since_ = began;
  warn_(fmt::format("clients get INTERNAL_ERROR until the job store answers: {}", why));
}

void watched_store::say_available() {
  if (unavailable_since_.is_never()) return;
  const duration length = time_.now() - std::exchange(unavailable_since_, instant::never());
  warn_(fmt::format("the job store answers again, after {:.1f} s", seconds(length)));
}

duration watched_store::busy_for() const noexcept {
  const std::int64_t began = began_.load(seam::relaxed);
  return began == idle ? duration::zero() : time_.now() - instant::from_nanoseconds(began);
}

}  // namespace foliot::program
