// A policy_store over a memory_store on virtual time, and the clients' operations as a test writes them down.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/job_tries.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/policy_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

#include "jobs/kit/simulated_nodes.hpp"
#include "jobs/kit/spy_store.hpp"

namespace foliot::jobs::test {

/// Fields of a release that tell the reason and the worker.
inline job_fields report(const std::string& why, const std::string& worker = {}) {
  job_fields made;
  if (!why.empty()) {
    EXPECT_TRUE(made.set(tag_of_reason, why));
  }
  if (!worker.empty()) {
    EXPECT_TRUE(made.set(tag_of_worker, worker));
  }
  return made;
}

/// The policy of the tube `mail`, and no other one.
inline policy_table mail(tube_policy it) { return {{"mail", std::move(it)}}; }

inline job_fields in_group(const std::string& name) {
  job_fields made;
  EXPECT_TRUE(made.set(tag_of_group, name));
  return made;
}

inline job_fields expiring_at(utc_time when) {
  std::string value;
  const auto number = static_cast<std::uint64_t>(when.time_since_epoch().count());
  for (int shift = 56; shift >= 0; shift -= 8) value += static_cast<char>(number >> shift);
  job_fields made;
  EXPECT_TRUE(made.set(tag_of_expiry, value));
  return made;
}

struct policy_world {
  explicit policy_world(policy_table policies = {}, memory_bounds bounds = {}, bool is_shared = false)
      : inner(clocks, bounds),
        spied(inner, is_shared ? &nodes : nullptr),
        store(std::make_unique<policy_store>(spied, clocks)) {
    set(std::move(policies));
  }

  void set(policy_table policies) {
    table = std::make_shared<const policy_table>(std::move(policies));
    store->set_policies(table);
  }
  /// This node ends, with all that it knows, and another one begins.
  void restart() {
    store = std::make_unique<policy_store>(spied, clocks);
    store->set_policies(table);
  }

  /// Executes one operation, and nothing besides.
  template <class Operation>
  answer_of<Operation> only(Operation what) {
    operation one(std::move(what));
    last = store->execute(std::span(&one, 1));
    check();
    return std::get<answer_of<Operation>>(last.answers.at(0));
  }
  /// Executes one operation, and what follows at once.
  template <class Operation>
  answer_of<Operation> run(Operation what) {
    answer_of<Operation> got = only(std::move(what));
    settle();
    return got;
  }
  /// Executes what the store wants to do now. It must come to an end.
  void settle() {
    for (int turns = 0; wants_turn(); ++turns) {
      ASSERT_LT(turns, 1000) << "the store wants batches without end";
      last = store->execute({});
      ready.insert(ready.end(), last.ready_tubes.begin(), last.ready_tubes.end());
      check();
    }
  }
  [[nodiscard]] bool wants_turn() const {
    const next_change next = store->next();
    return next.expiry <= time.now() || next.due <= clocks.utc();
  }
  void check() {
    const check_result right = store->check();
    EXPECT_TRUE(right.has_value()) << right.error();
  }
  void pass(duration length) {
    time.advance(length);
    settle();
  }

  /// From now on the store below passes over what `is_meant`, and executes the rest.
  void pass_over(std::function<bool(const operation&)> is_meant) {
    auto places = std::make_shared<std::vector<std::size_t>>();
    spied.before = [places, is_meant = std::move(is_meant)](std::span<operation> batch) {
      places->clear();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (!is_meant(batch[i])) continue;
        places->push_back(i);
        batch[i] = count_all{};
      }
    };
    spied.after = [places](execution& done) {
      for (const std::size_t each : *places) done.answers[each] = passed_over_answer{};
    };
  }

  job_id put_one(put what) { return run(std::move(what)).id; }
  job_id put_one(const std::string& tube = "mail", job_fields fields = {}) {
    return put_one(put{.tube = tube, .body = "body", .ttr = std::chrono::seconds(10), .fields = std::move(fields)});
  }
  /// As a waiting client: claims again while the tube is named.
  std::optional<claimed_job> claim_one(const std::string& tube = "mail") {
    for (int turns = 0; turns < 1000; ++turns) {
      const claim_answer got = only(claim{.tubes = {tube}});
      if (!got.jobs.empty()) return got.jobs.front();
      ready = last.ready_tubes;
      settle();
      if (std::ranges::find(ready, tube) == ready.end()) return std::nullopt;
    }
    ADD_FAILURE() << "the tube is named without end";
    return std::nullopt;
  }
  std::optional<job> show(job_id id) { return run(peek{id}).job; }
  job_state state_of(job_id id) {
    const std::optional<job> it = show(id);
    EXPECT_TRUE(it.has_value()) << "job " << id << " is gone";
    return it ? it->state : job_state::buried;
  }
  job_tries tries_of(job_id id) {
    const std::optional<job> it = show(id);
    return it ? job_tries::in(it->history).value_or(job_tries{}) : job_tries{};
  }

  virtual_clock time{instant::from_nanoseconds(1'000'000'000)};
  virtual_wall_clock wall{time};
  store_clocks clocks{&wall, &time};
  foliot::test::simulated_nodes nodes;
  memory_store inner;
  foliot::test::spy_store spied;
  std::unique_ptr<policy_store> store;
  std::shared_ptr<const policy_table> table;
  execution last;
  std::vector<std::string> ready;
};

}  // namespace foliot::jobs::test
