#include <foliot/service/watch.hpp>

#include <stdexcept>
#include <utility>

#include <foliot/service/timer_service.hpp>

#include "shard_base.hpp"
#include "watcher.hpp"

namespace foliot::inline service {

watch::watch(timer_service& service, int fd, interest what, watch_callback callback, from_callback) {
  if (service.on_virtual_time_) {
    throw std::invalid_argument(
        "foliot: a service on virtual time cannot watch descriptors: make the service without a virtual clock");
  }
  watcher_ = detail::as_shard(service.home()).start_watcher();
  if (watcher_ == nullptr) {
    throw std::invalid_argument(
        "foliot: this service's engine cannot watch descriptors: make the service with the engine 'epoll-heap'");
  }
  record_ = watcher_->watch(fd, what, std::move(callback));
}

watch::~watch() {
  if (record_ != nullptr) watcher_->destroy(*record_);
}

bool watch::modify(interest what) {
  if (record_ == nullptr) {
    throw std::logic_error(
        "foliot: this watch is empty (default-constructed or moved from): assign one that has a service, a descriptor "
        "and a callback first");
  }
  return watcher_->modify(*record_, what);
}

void watch::stop_and_wait() noexcept {
  if (record_ == nullptr) return;
  const std::shared_ptr<detail::watcher> keep = watcher_;  // destroying the closure may destroy this handle
  keep->close(*record_);
}

bool watch::watching() const noexcept { return record_ != nullptr && watcher_->watching(*record_); }

}  // namespace foliot::inline service
