// A store that refuses at random, as one in another process does: whole batches, which have been executed or not, and
// single operations. And a spy below and above, by which a canary spoils what passes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/jobs/job_store.hpp>

namespace foliot::jobs::policies_model {

class troubled_store final : public job_store {
 public:
  /// About one of so many batches is refused, and one of so many operations; 0: none.
  troubled_store(job_store& inner, std::uint64_t seed, unsigned one_of) noexcept
      : inner_(inner), random_(seed), one_of_(one_of) {}

  execution execute(std::span<operation> batch) override {
    using kind = store_unavailable::kind;
    if (before) before(batch);
    if (!is_refusing || one_of_ == 0) return finished(inner_.execute(batch));
    if (happens()) {
      ++refused;
      if (random_() % 3 == 0) throw store_unavailable(kind::not_executed, "the line is dead");
      if (random_() % 2 == 0) {
        for (const operation& each : batch) note(each);
        static_cast<void>(inner_.execute(batch));
      }
      throw store_unavailable(kind::in_doubt, "the line is cut");
    }
    return finished(execute_most(batch));
  }
  [[nodiscard]] next_change next() const noexcept override { return inner_.next(); }
  [[nodiscard]] check_result check() override { return inner_.check(); }
  void close() override { inner_.close(); }

  bool is_refusing = true;
  std::uint64_t refused = 0;
  std::function<void(std::span<operation>)> before;
  std::function<void(execution&)> after;

 private:
  /// A put that happens once, and has: it needs no room.
  [[nodiscard]] bool has_happened(const operation& what) const {
    const auto* const it = std::get_if<put>(&what);
    return it != nullptr && !it->once.empty() && happened_.contains(it->once.key());
  }
  void note(const operation& what) {
    const auto* const it = std::get_if<put>(&what);
    if (it != nullptr && !it->once.empty()) happened_.insert(it->once.key());
  }
  [[nodiscard]] bool happens() { return random_() % one_of_ == 0; }
  [[nodiscard]] execution finished(execution done) {
    if (after) after(done);
    return done;
  }

  /// What an operation that is refused for lack of room answers, if it may be.
  [[nodiscard]] static std::optional<answer> no_room(const operation& what) {
    if (facts_of(what).room == operation_room::none) return std::nullopt;
    if (std::holds_alternative<put>(what)) return put_answer{put_answer::kind::no_space};
    if (std::holds_alternative<release>(what) || std::holds_alternative<bury>(what)) {
      return holder_answer{holder_answer::kind::no_space};
    }
    if (std::holds_alternative<kick>(what)) return bulk_answer{0, bulk_answer::kind::no_space};
    if (std::holds_alternative<claim_job>(what)) return claim_answer{{}, claim_answer::kind::no_space};
    if (facts_of(what).target == operation_target::by_job) {
      return change_answer{change_answer::kind::no_space, 0, 0};
    }
    return std::nullopt;
  }

  execution execute_most(std::span<operation> batch) {
    std::vector<operation> executed;
    std::vector<std::size_t> places;  // of these in the batch
    std::vector<std::optional<answer>> instead(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (facts_of(batch[i]).effect == operation_effect::changes && happens()) {
        ++refused;
        const std::uint64_t how = random_() % 4;
        if (how == 1 && !has_happened(batch[i])) instead[i] = no_room(batch[i]);
        if (how >= 2) instead[i] = unavailable_answer{how == 3, "its database is away"};
        if (!instead[i]) instead[i] = passed_over_answer{};
        if (how != 3 || random_() % 2 == 0) continue;
      }
      note(batch[i]);
      executed.push_back(std::move(batch[i]));
      places.push_back(i);
    }
    execution done = inner_.execute(executed);
    std::vector<answer> all(batch.size());
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move(done.answers[i]);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (instead[i]) all[i] = std::move(*instead[i]);
    }
    done.answers = std::move(all);
    return done;
  }

  job_store& inner_;
  std::mt19937_64 random_;
  const unsigned one_of_;
  std::set<sha256> happened_;
};

}  // namespace foliot::jobs::policies_model
