#include "stall_monitor.hpp"

#include <algorithm>
#include <utility>

#include <foliot/core/seam/system.hpp>

namespace foliot::detail {

stall_monitor::stall_monitor(std::shared_ptr<const shard_list> shards, duration limit)
    : shards_(std::move(shards)), limit_(limit) {
  thread_ = seam::thread("foliot-stalls", [this] { run(); });
  witness_forks();
}

stall_monitor::~stall_monitor() {
  forget_forks();
  end_.wake();
  if (thread_.joinable()) thread_.join();
}

/// A callback that begins while the thread sleeps is not to be reported before the sleep has ended.
void stall_monitor::run() noexcept {
  running_.store(self(), seam::relaxed);
  instant look = seam::monotonic_now() + limit_;
  while (!is_abandoned_ && !end_.sleep_until(look)) {
    look = seam::monotonic_now() + limit_;
    for (const auto& each : *shards_) {
      if (!is_abandoned_) look = std::min(look, as_shard(*each).report_stalls(is_abandoned_));
    }
  }
  running_.store(nullptr, seam::relaxed);
  if (is_abandoned_) delete this;
}

void stall_monitor::abandon() noexcept {
  is_abandoned_ = true;
  if (thread_.joinable()) thread_.detach();  // in the child of a fork it is not
}

}  // namespace foliot::detail
