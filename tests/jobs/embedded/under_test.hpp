// embedded_store for the suites that reopen stores: on a disk that loses what was not synced and fails on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include <foliot/jobs/embedded_store.hpp>

#include "faulty_files.hpp"
#include "jobs/conformance/conformance.hpp"
#include "jobs/embedded/core.hpp"
#include "jobs/kit/temporary_folder.hpp"

namespace foliot::jobs::conformance {

class embedded_under_test final : public store_under_test {
 public:
  /// `seed` decides what a crash tears. With `sync_every` the store acknowledges before it syncs.
  explicit embedded_under_test(std::size_t widest_window, std::uint64_t seed = 1,
                               std::optional<milliseconds> sync_every = std::nullopt)
      : widest_window_(widest_window), random_(seed), sync_every_(sync_every) {}

  std::unique_ptr<job_store> open(const store_clocks& clocks) override {
    if (std::exchange(crashed_, false)) files_->crash(random_);
    files_->restart();
    const embedded_options options{
        .folder = folder_.path() + "/store", .sync_every = sync_every_, .disk_reserve = 0, .clocks = clocks};
    return detail::embedded_core::as_store(std::make_unique<detail::embedded_core>(options, files_, widest_window_));
  }
  bool durable() const override { return true; }
  void crash() override {
    files_->stop_at(0);
    crashed_ = true;
  }
  bool fail_call(std::uint64_t n) override {
    if (n != 0) {
      files_->fail_once_at(n);
    } else if (!crashed_) {
      files_->restart();
    }
    return true;
  }

 private:
  const std::size_t widest_window_;
  foliot_test::temporary_folder folder_;
  std::shared_ptr<foliot_test::faulty_files> files_ = std::make_shared<foliot_test::faulty_files>();
  std::mt19937_64 random_;
  const std::optional<milliseconds> sync_every_;
  bool crashed_ = false;
};

}  // namespace foliot::jobs::conformance
