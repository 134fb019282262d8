#include "comparison.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agreement.hpp"
#include "usage.hpp"

namespace foliot::program {

namespace {

// So large that the cost of two readings of the processor time is negligible, and small enough for the caches.
constexpr std::size_t batch_size = 4096;

/// The i-th of `count` engines if number `first` begins: to and fro from there, so that over `count` batches, where
/// `count` is even, each engine follows each other one once, and is the i-th once.
/// (E. J. Williams, "Experimental designs balanced for the estimation of residual effects of
/// treatments", 1949.)
constexpr std::size_t at_turn(std::size_t i, std::size_t first, std::size_t count) noexcept {
  const std::size_t away = (i + 1) / 2;
  return (first + (i % 2 == 0 ? count - away : away)) % count;
}

}  // namespace

/// One engine, its sessions, and its agreement with the reference.
class comparison::lane {
 public:
  lane(compared_engine engine, duration idle)
      : engine_(std::move(engine)), tracker_(make_session_tracker(engine_.name, idle, [this](ended_session&& session) {
          ended_.push_back(std::move(session));
        })) {}

  template <class Work>
  void run(const Work& work) {
    const duration before = processor_time();
    const duration elsewhere = tracker_->spent_elsewhere();
    work(*tracker_);
    tracker_->settle();
    spent_ += processor_time() - before + (tracker_->spent_elsewhere() - elsewhere);
  }

  /// Compares the sessions that have ended during a run with those of the reference.
  void compare_with(const std::vector<ended_session>& reference) {
    for (const ended_session& session : reference) check_.expect(session);
    for (const ended_session& session : ended_) check_.add(session);
    check_.end_stretch();
    ended_.clear();
  }

  void finish() { check_.finish(); }

  [[nodiscard]] const session_tracker& tracker() const noexcept { return *tracker_; }
  [[nodiscard]] std::vector<ended_session>& ended() noexcept { return ended_; }
  [[nodiscard]] const std::string& name() const noexcept { return engine_.name; }

  [[nodiscard]] engine_result result(const std::string& reference) const {
    engine_result result{engine_.name, engine_.lateness, tracker_->sessions(), tracker_->timers(), spent_, {}};
    if (const auto& found = check_.difference()) {
      result.disagreement = fmt::format("the engine {} disagrees with {} about the client '{}': it {}", engine_.name,
                                        reference, found->client, found->what);
    }
    return result;
  }

 private:
  compared_engine engine_;
  agreement check_{engine_.lateness};
  std::vector<ended_session> ended_;  // since the last comparison
  std::unique_ptr<session_tracker> tracker_;
  duration spent_;
};

std::vector<compared_engine> engines_to_compare(duration idle) {
  std::vector<compared_engine> engines;
  for (const std::string_view name : session_engines()) {
    engines.push_back({std::string(name), session_lateness(name, idle)});
  }
  const auto exact = std::ranges::find(engines, duration::zero(), &compared_engine::lateness);
  std::rotate(engines.begin(), exact, exact + 1);
  return engines;
}

comparison::comparison(std::vector<compared_engine> engines, duration idle, session_sink sink)
    : sink_(std::move(sink)) {
  for (compared_engine& each : engines) lanes_.push_back(std::make_unique<lane>(std::move(each), idle));
  batch_.reserve(batch_size);
}

comparison::~comparison() = default;

void comparison::request(std::string_view client, instant time) {
  names_ += client;
  batch_.push_back({names_.size(), time});
  if (batch_.size() == batch_size) handle_batch();
}

void comparison::finish() {
  handle_batch();
  run_all([](session_tracker& tracker) { tracker.finish(); });
  for (const auto& each : lanes_) each->finish();
}

const session_tracker& comparison::reference() const noexcept { return lanes_.front()->tracker(); }

std::vector<engine_result> comparison::results() const {
  std::vector<engine_result> results;
  for (const auto& each : lanes_) results.push_back(each->result(lanes_.front()->name()));
  return results;
}

void comparison::handle_batch() {
  run_all([this](session_tracker& tracker) {
    std::size_t begin = 0;
    for (const gathered& each : batch_) {
      tracker.request(std::string_view(names_).substr(begin, each.name_end - begin), each.time);
      begin = each.name_end;
    }
  });
  batch_.clear();
  names_.clear();
}

template <class Work>
void comparison::run_all(Work work) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[at_turn(i, first_, lanes_.size())]->run(work);
  first_ = (first_ + 1) % lanes_.size();
  std::vector<ended_session>& reference = lanes_.front()->ended();
  for (auto other = lanes_.begin() + 1; other != lanes_.end(); ++other) (*other)->compare_with(reference);
  for (ended_session& session : reference) sink_(std::move(session));
  reference.clear();
}

}  // namespace foliot::program
