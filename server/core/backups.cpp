#include "backups.hpp"

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "open_store.hpp"

namespace foliot::program {

/// Ends with the backup, however that ends.
class backups::one_at_a_time {
 public:
  explicit one_at_a_time(seam::atomic<bool>& busy) noexcept : busy_(&busy) {}
  one_at_a_time(one_at_a_time&& other) noexcept : busy_(std::exchange(other.busy_, nullptr)) {}
  one_at_a_time& operator=(one_at_a_time&&) = delete;
  ~one_at_a_time() {
    if (busy_ != nullptr) busy_->store(false, seam::relaxed);
  }

 private:
  seam::atomic<bool>* busy_;
};

void backups::begin() noexcept {
  if (busy_.exchange(true, seam::relaxed)) {
    log_.warning("a backup is under way already: ask for the next one when it has been made (SIGUSR2)");
    return;
  }
  try {
    static_cast<void>(runtime::spawn(make(one_at_a_time(busy_)), "makes a backup"));
  } catch (const std::bad_alloc&) {
    log_.warning("there is not enough memory for a backup: ask for it again (SIGUSR2)");
  }
}

task<> backups::make(one_at_a_time) {
  auto work = [this] { make_one(); };
  co_await runtime::blocking(work);
}

void backups::make_one() {
  log_.info("make a backup (SIGUSR2)");
  try {
    log_.info(fmt::format("the backup {} has been made", back_up_store(store_, options_)));
  } catch (const std::exception& error) {
    log_.warning(error.what());
  }
}

}  // namespace foliot::program
