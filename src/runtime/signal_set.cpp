#include <foliot/runtime/signal_set.hpp>

#include <stdexcept>
#include <string>

#include <foliot/runtime/detail/scheduler_calls.hpp>

#include "net/descriptors.hpp"

namespace foliot::runtime {

namespace detail {

seam::signal_mask watchable_mask(std::span<const int> signals) {
  seam::signal_mask which = 0;
  for (const int each : signals) {
    if (!seam::can_be_watched(each)) {
      throw std::invalid_argument("foliot: signal " + std::to_string(each) +
                                  " cannot be watched: it is a fault of the running thread, cannot be caught, or is "
                                  "no signal");
    }
    which |= seam::mask_of(each);
  }
  return which;
}

/// Takes a pending signal, or finds out why there can be none.
void signal_operation::look() noexcept {
  found_ = std::unexpected(make_error_code(io_errc::closed));
  const descriptor_use use(descriptor_);
  if (!use) return;
  const auto advice = use->prepare(direction::in);
  if (!advice) {
    found_ = std::unexpected(advice.error());
  } else if (const auto taken = source_->watch.take()) {
    found_ = received_signal{.number = taken->number, .sender = taken->sender};
  } else {
    found_ = received_signal();  // none
  }
}

bool signal_operation::try_complete() {
  wait_.reset();  // the operation may be used repeatedly
  // Otherwise the signal that has ended that task's wait could be taken here before the task continues.
  if (descriptor_) descriptor_->check_no_wait(direction::in);
  look();
  return !found_ || found_->number != 0;
}

or_error<received_signal> signal_operation::result() noexcept {
  if (wait_) {
    look();
    // The deadline has ended the wait, and was moved before the task continued.
    if (found_ && found_->number == 0) found_ = std::unexpected(make_error_code(io_errc::deadline_exceeded));
  }
  return found_;
}

}  // namespace detail

or_error<signal_set> signal_set::watch(std::span<const int> signals) {
  static_cast<void>(detail::this_scheduler("a signal set"));  // throws before anything is made
  const seam::signal_mask which = detail::watchable_mask(signals);
  auto source = std::make_shared<detail::signal_source>();
  if (const std::error_code failed = source->watch.begin(which)) return std::unexpected(failed);
  auto descriptor = detail::watch(source->watch.descriptor());
  if (!descriptor) return std::unexpected(descriptor.error());
  return signal_set(std::move(*descriptor), std::move(source));
}

}  // namespace foliot::runtime
