// embedded_store in the conformance suite, on a disk that loses what was not synced and fails on demand.
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include <foliot/jobs/embedded_store.hpp>

#include "../../src/jobs/embedded/engine.hpp"
#include "conformance.hpp"
#include "faulty_files.hpp"
#include "temporary_folder.hpp"

namespace foliot::jobs::conformance {
namespace {

class embedded_under_test final : public store_under_test {
 public:
  explicit embedded_under_test(std::size_t widest_window) : widest_window_(widest_window) {}

  std::unique_ptr<job_store> open(const store_clocks& clocks) override {
    if (std::exchange(crashed_, false)) files_->crash(random_);
    files_->restart();
    const embedded_options options{.folder = folder_.path() + "/store", .disk_reserve = 0, .clocks = clocks};
    return detail::embedded_engine::as_store(
        std::make_unique<detail::embedded_engine>(options, files_, widest_window_));
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
  std::mt19937_64 random_{1};
  bool crashed_ = false;
};

FOLIOT_CONFORMING_STORE(embedded, [] { return std::make_unique<embedded_under_test>(std::size_t{1} << 14); });
// Windows that hold two jobs: most jobs are on disk alone.
FOLIOT_CONFORMING_STORE(embedded_narrow, [] { return std::make_unique<embedded_under_test>(2); });

}  // namespace
}  // namespace foliot::jobs::conformance
