// The checker against the axioms of the standard: random programs have the same outcomes by both, with and without
// pruning.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include <foliot/core/seam/random.hpp>

#include "axioms.hpp"
#include "check.hpp"

namespace foliot::model {
namespace {

using kind = instruction::kind;

template <class Choices>
const auto& any_of(random_stream& random, const Choices& from) {
  return from[random.below(from.size())];
}

/// The instructions of a program: with any orders, or with those that take part in the seq_cst order.
struct palette {
  std::vector<order> loads{order::relaxed, order::acquire, order::seq_cst};
  std::vector<order> stores{order::relaxed, order::release, order::seq_cst};
  std::vector<order> both{order::relaxed, order::acquire, order::release, order::acq_rel, order::seq_cst};
  std::vector<order> fences{order::acquire, order::release, order::acq_rel, order::seq_cst};
};
const std::array<palette, 3> palettes{
    palette{},
    palette{{order::relaxed, order::seq_cst},
            {order::relaxed, order::seq_cst},
            {order::relaxed, order::seq_cst},
            {order::seq_cst}},
    palette{{order::acquire, order::seq_cst}, {order::release, order::seq_cst}, {order::seq_cst}, {order::seq_cst}}};

instruction random_access(random_stream& random, const palette& with, int value) {
  constexpr std::array kinds{
      kind::load, kind::load, kind::load, kind::store, kind::store, kind::exchange, kind::compare_exchange};
  instruction made{.what = any_of(random, kinds), .where = random.below(2), .value = value};
  made.with = any_of(random, made.what == kind::load ? with.loads : made.what == kind::store ? with.stores : with.both);
  if (made.what == kind::compare_exchange) made.failing = any_of(random, with.loads);
  return made;
}

/// Two to four threads, with at most eight instructions.
program random_program(random_stream& random) {
  const palette& with = any_of(random, palettes);
  constexpr std::array<std::size_t, 5> longest{0, 0, 4, 3, 2};
  program all(2 + random.below(3));
  std::size_t left = 8;
  int value = 0;
  for (std::vector<instruction>& thread : all) {
    const std::size_t length = std::min<std::size_t>(left, 1 + random.below(longest[all.size()]));
    left -= length;
    for (std::size_t i = 0; i < length; ++i) {
      // A fence has an effect only between two other instructions.
      if (i > 0 && i + 1 < length && random.below(2) == 0) {
        thread.push_back({.what = kind::fence, .with = any_of(random, with.fences)});
      } else {
        thread.push_back(random_access(random, with, ++value));
      }
    }
  }
  return all;
}

void run_thread(const std::vector<instruction>& code, std::array<seam::atomic<int>, 2>& atomics, std::string& read) {
  for (const instruction& each : code) {
    seam::atomic<int>& at = atomics[each.where];
    int seen = 0;
    switch (each.what) {
      case kind::load: seen = at.load(each.with); break;
      case kind::store: at.store(each.value, each.with); break;
      case kind::exchange: seen = at.exchange(each.value, each.with); break;
      case kind::fence: seam::atomic_thread_fence(each.with); break;
      case kind::compare_exchange: at.compare_exchange_strong(seen, each.value, each.with, each.failing); break;
    }
    if (each.what != kind::store && each.what != kind::fence) read += std::to_string(seen) + " ";
  }
}

std::set<std::string> outcomes_by_model(const program& all, unsigned preemptions) {
  std::set<std::string> seen;
  const result found = explore({.name = "random program", .preemptions = preemptions}, [&] {
    std::array<seam::atomic<int>, 2> atomics{};
    std::vector<std::string> read(all.size());
    std::vector<seam::thread> threads;
    for (std::size_t i = 0; i < all.size(); ++i) {
      threads.emplace_back("thread", [&, i] { run_thread(all[i], atomics, read[i]); });
    }
    std::string outcome;
    for (std::size_t i = 0; i < all.size(); ++i) {
      threads[i].join();
      outcome += read[i] + "| ";
    }
    for (seam::atomic<int>& each : atomics) outcome += std::to_string(each.load(seam::relaxed)) + " ";
    seen.insert(outcome);
  });
  EXPECT_TRUE(found.complete) << found.describe();
  return seen;
}

TEST(Axioms, OfMessagePassing) {
  const auto publish = [](order store) {
    return program{
        {{.what = kind::store, .where = 0, .value = 1}, {.what = kind::store, .with = store, .where = 1, .value = 2}},
        {{.what = kind::load, .with = order::acquire, .where = 1}, {.what = kind::load, .where = 0}}};
  };
  EXPECT_EQ(outcomes_by_axioms(publish(order::release)),
            (std::set<std::string>{"| 0 0 | 1 2 ", "| 0 1 | 1 2 ", "| 2 1 | 1 2 "}));
  EXPECT_EQ(outcomes_by_axioms(publish(order::relaxed)).size(), 4u);
}

TEST(Axioms, TheCheckerShowsWhatTheStandardAllows) {
#if defined(FOLIOT_SANITIZED)
  std::uint64_t programs = 60;
#else
  std::uint64_t programs = 800;
#endif
  if (const char* more = std::getenv("FOLIOT_MODEL_PROGRAMS")) programs = std::strtoull(more, nullptr, 10);
  std::size_t outcomes = 0;
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    random_stream random(seed);
    const program all = random_program(random);
    const std::set<std::string> expected = outcomes_by_axioms(all);
    outcomes += expected.size();
    ASSERT_EQ(outcomes_by_model(all, unlimited), expected) << "seed " << seed << "\n" << to_string(all);
    ASSERT_EQ(outcomes_by_model(all, unlimited - 1), expected) << "without pruning; seed " << seed << "\n"
                                                               << to_string(all);
  }
  std::printf("%zu outcomes\n", outcomes);
}

}  // namespace
}  // namespace foliot::model
