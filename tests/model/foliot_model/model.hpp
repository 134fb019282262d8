// A model checker for C++ atomics: runs a piece of code under every schedule of its threads, and under
// every value that the memory model lets its loads read, up to a bound on preemptions.
//
//   model::result found = model::explore({.name = "publish"}, [] {
//     seam::atomic<int> ready{0};
//     seam::plain<int> data{0};
//     seam::thread writer("writer", [&] { data = 1; ready.store(1, seam::release); });
//     if (ready.load(seam::acquire) == 1) model::require(data == 1, "published");
//     writer.join();
//   });
//
// The code is ordinary code with the model's side of the seams: seam::atomic, seam::thread, seam::plain,
// futex_wait and futex_wake, monotonic_now, spin_pause; foliot's shipped sources are such code. The code
// runs from its beginning in every execution, so it must make its own objects, and must depend only on the model. The
// checker finds a broken require() or FOLIOT_ASSERT, a data race on a seam::plain or on the beginning or end of an
// atomic's life, a deadlock, a lost wake-up, and threads that spin for ever.
//
// docs/model.md describes the model, its limits, and how to repeat a failure.
//
// Thread safety: one thread of the operating system at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::model {

inline constexpr unsigned unlimited = ~0u;

/// An operation that is given a weaker memory order than in the source: broken on purpose.
struct weakening {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  bool on_failure = false;  ///< the order that a compare_exchange has when it fails
  order from{};
  order to{};

  [[nodiscard]] std::string describe(bool with_line = true) const;
};

struct options {
  std::string name = "";     ///< in reports, and in the strings that repeat an execution
  unsigned preemptions = 2;  ///< switches away from a thread that could have gone on
  std::uint64_t executions = 5'000'000;
  double seconds = 600;              ///< ends an exploration that takes too long; no test relies on it
  unsigned weak_failures = 1;        ///< compare_exchange_weak that fail for no reason, in one execution
  unsigned interruptions = 0;        ///< futex waits that end for no reason, in one execution
  bool timeouts_at_any_time = true;  ///< false: a wait times out only when no thread can run
  std::uint64_t steps = 10'000;      ///< an execution with more operations fails: it does not end
  unsigned drop_wake = 0;            ///< the n-th futex_wake with a sleeper is lost (0: none), for canaries
  std::optional<weakening> weaken = std::nullopt;  ///< for canaries
};

struct failure {
  std::string what;
  std::string trace;    ///< every operation of the execution: thread, operation, source location
  std::string choices;  ///< FOLIOT_MODEL_REPEAT=… repeats this execution alone
};

struct result {
  std::uint64_t executions = 0;
  std::uint64_t pruned = 0;   ///< executions that were found to be equal to another before their end
  std::uint64_t deepest = 0;  ///< the most choices in one execution
  bool complete = false;      ///< all executions were run; else a limit or a failure came first
  std::optional<failure> failed = std::nullopt;

  [[nodiscard]] std::string describe() const;
};

/// Runs `body` as the thread "main" of one execution after another, until there is none left, one fails, or a limit is
/// reached. FOLIOT_MODEL_PREEMPTIONS=N (or `all`) and FOLIOT_MODEL_SECONDS=N in
/// the environment take the place of those in `with`; FOLIOT_MODEL_REPEAT=name:choices repeats one
/// execution of the exploration of that name, and prints its trace.
result explore(const options& with, const std::function<void()>& body);

/// Weakens every memory order stronger than relaxed that `body` uses, one at a time, to each weaker order. Returns the
/// result of the exploration for each.
struct audited {
  weakening weakened;
  result found;
};
std::vector<audited> audit(const options& with, const std::function<void()>& body);

// Inside an execution:

/// If `condition` is false, ends this execution with a failure and does not return.
void require(bool condition, const std::string& what, site where = site::current());
/// A number below `bound`. There is an execution for each number.
std::uint64_t choose(std::uint64_t bound);
/// Moves the clock.
void pass_time(duration length);
/// Names the atomics inside this object, present or future, in the trace.
void name(const void* object, std::size_t size, const char* called);
template <class Object>
void name(const Object& object, const char* called) {
  name(&object, sizeof(object), called);
}

}  // namespace foliot::model
