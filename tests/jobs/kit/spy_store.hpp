// A store in front of another one: what a test sees of the batches, and how it lets them fail.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <foliot/jobs/job_store.hpp>

namespace foliot::test {

/// Keeps the sizes of the batches that reach it, calls the test before and after each, and fails from the n-th on.
class spy_store final : public jobs::job_store {
 public:
  using unavailable = jobs::store_unavailable::kind;

  explicit spy_store(jobs::job_store& inner, jobs::other_nodes* nodes = nullptr) noexcept
      : inner_(inner), nodes_(nodes) {}

  jobs::execution execute(std::span<jobs::operation> batch) override {
    sizes.push_back(batch.size());
    if (before) before(batch);
    if (fails_from && sizes.size() > *fails_from) throw jobs::store_failure("the disk is gone");
    jobs::execution done = inner_.execute(batch);
    if (after) after(done);
    return done;
  }
  [[nodiscard]] jobs::next_change next() const noexcept override { return inner_.next(); }
  [[nodiscard]] check_result check() override { return inner_.check(); }
  [[nodiscard]] jobs::other_nodes* others() noexcept override { return nodes_; }

  /// From now on refuses all batches, also empty ones, and executes none.
  void refuse(unavailable known = unavailable::not_executed) {
    before = [known](std::span<jobs::operation>) { throw jobs::store_unavailable(known, "the line is dead"); };
  }
  /// Those with an operation that `is_meant`.
  void refuse(unavailable known, std::function<bool(const jobs::operation&)> is_meant) {
    before = [known, is_meant = std::move(is_meant)](std::span<jobs::operation> batch) {
      for (const jobs::operation& each : batch) {
        if (is_meant(each)) throw jobs::store_unavailable(known, "the line is dead");
      }
    };
  }
  /// From now on executes the batches, whose answers are lost.
  void lose_answers() {
    after = [](jobs::execution&) { throw jobs::store_unavailable(unavailable::in_doubt, "the line is cut"); };
  }
  /// No more of that.
  void accept() {
    before = nullptr;
    after = nullptr;
  }

  std::vector<std::size_t> sizes;
  std::function<void(std::span<jobs::operation>)> before;
  std::function<void(jobs::execution&)> after;
  /// Every batch after this many fails.
  std::optional<std::size_t> fails_from;

 private:
  jobs::job_store& inner_;
  jobs::other_nodes* const nodes_;
};

}  // namespace foliot::test
