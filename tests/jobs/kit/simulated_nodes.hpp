// The news of nodes that share a store, inside one process: a node hears what its peers tell, unless the test drops it.
// Thread safety: as other_nodes says, but for the public members, which a test changes while nothing runs.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/other_nodes.hpp>

namespace foliot::test {

class simulated_nodes final : public jobs::other_nodes {
 public:
  simulated_nodes() { EXPECT_EQ(::pipe2(pipe_.data(), O_NONBLOCK | O_CLOEXEC), 0); }
  ~simulated_nodes() override {
    for (const int each : pipe_) ::close(each);
  }

  void tell(std::span<const std::string> tubes) noexcept override {
    told.insert(told.end(), tubes.begin(), tubes.end());
    if (peer != nullptr && !drops) peer->hear({{tubes.begin(), tubes.end()}, false});
  }
  [[nodiscard]] int descriptor() const noexcept override { return pipe_[0]; }
  [[nodiscard]] jobs::news take_news() override {
    const lock held(guard_);
    if (is_woken_) {
      char byte = 0;
      EXPECT_EQ(::read(pipe_[0], &byte, 1), 1);
    }
    is_woken_ = false;
    return std::exchange(heard_, {});
  }
  [[nodiscard]] duration scan_every() const noexcept override { return duration(std::chrono::seconds(1)); }

  /// The other nodes tell this one.
  void hear(const jobs::news& what) {
    const lock held(guard_);
    heard_.tubes.insert(heard_.tubes.end(), what.tubes.begin(), what.tubes.end());
    heard_.any_tube = heard_.any_tube || what.any_tube;
    if (!std::exchange(is_woken_, true)) {
      EXPECT_EQ(::write(pipe_[1], "x", 1), 1);
    }
  }

  std::vector<std::string> told;
  simulated_nodes* peer = nullptr;
  bool drops = false;

 private:
  mutex guard_{lock_rank::object};
  jobs::news heard_;
  bool is_woken_ = false;
  std::array<int, 2> pipe_{-1, -1};
};

}  // namespace foliot::test
