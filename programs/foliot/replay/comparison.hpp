// Runs several engines over the same log, and compares their sessions and their cost.
//
//   comparison all(engines_to_compare(30min), 30min, [](ended_session&& session) { … });
//   all.request("192.0.2.7", t);
//   all.finish();
//   for (const engine_result& each : all.results()) …
//
// Each engine has a session_tracker of its own. Requests are gathered into batches. Every engine in turn handles a
// whole batch, and its processor time is taken; comparing its sessions is not part of that. The order changes from
// batch to batch, so that no engine is always the one that finds the batch cold, or the caches as a certain other one
// left them.
//
// The first engine is the reference: the others are to agree with it, see agreement.
//
// Thread safety: none, one thread. Memory: for each engine its live sessions, those that it ended during one batch, and
// the sessions of its agreement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/service/statistics.hpp>

#include "session_tracker.hpp"

namespace foliot::program {

/// The result of one engine among several that were compared.
struct engine_result {
  std::string engine;
  duration lateness;  ///< that it is allowed
  std::uint64_t sessions = 0;
  service_counters timers;
  duration spent;            ///< processor time: finding the sessions of clients, and their timers
  std::string disagreement;  ///< a sentence, without a full stop; empty if it agrees

  [[nodiscard]] bool agrees() const noexcept { return disagreement.empty(); }
  /// Starts, resets and firings.
  [[nodiscard]] std::uint64_t operations() const noexcept { return timers.started + timers.superseded + timers.fired; }
  /// 0 without operations.
  [[nodiscard]] double nanoseconds_an_operation() const noexcept {
    return operations() > 0 ? static_cast<double>(spent.count()) / static_cast<double>(operations()) : 0;
  }
  /// 0 for a run that is too short.
  [[nodiscard]] double operations_per_second() const noexcept {
    return spent > duration::zero() ? static_cast<double>(operations()) * 1e9 / static_cast<double>(spent.count()) : 0;
  }
};

/// An engine, and how late it may be.
struct compared_engine {
  std::string name;
  duration lateness;
};

/// All engines, for timers of `idle`; the first of them is exact.
[[nodiscard]] std::vector<compared_engine> engines_to_compare(duration idle);

class comparison {
 public:
  /// `sink` receives the reference's sessions, in the order of `expired`. Its exceptions leave the call that called
  /// it. Throws std::invalid_argument for an engine that does not exist.
  /// Precondition: there is an engine, the first is exact, and idle is positive.
  comparison(std::vector<compared_engine> engines, duration idle, session_sink sink);
  ~comparison();
  comparison(const comparison&) = delete;
  comparison& operator=(const comparison&) = delete;

  /// Handles one request, now or later. Precondition: as session_tracker::request().
  void request(std::string_view client, instant time);
  /// No request follows: time runs on until every engine has ended its last session.
  void finish();

  /// Complete once finished.
  [[nodiscard]] const session_tracker& reference() const noexcept;
  /// In the order in which the engines were given. Complete once finished.
  [[nodiscard]] std::vector<engine_result> results() const;

 private:
  struct gathered {
    std::size_t name_end;  // in names_, which has the clients' names one after the other
    instant time;
  };
  class lane;

  void handle_batch();
  /// Has every engine do `work`, and compares the sessions that ended meanwhile.
  template <class Work>
  void run_all(Work work);

  session_sink sink_;
  std::vector<std::unique_ptr<lane>> lanes_;  // the reference first
  std::string names_;
  std::vector<gathered> batch_;
  std::size_t first_ = 0;  // the engine that begins
};

}  // namespace foliot::program
