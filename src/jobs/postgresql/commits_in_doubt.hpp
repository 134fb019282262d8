// The batches of a node whose commit was sent and not answered: what they have reserved if they were committed, and
// what becomes of that.
//
// No client has the jobs that such a batch has reserved. So the node asks the database, once it answers, whether the
// batch was committed. If it was, its reservations are unwanted: the next batches give them back. If it was not, they
// never were. Batches are settled in their order, because the database keeps their numbers from the oldest one on.
//
// No connection, no clock. One thread at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>

#include "lasting.hpp"

namespace foliot::jobs::detail {

class commits_in_doubt {
 public:
  /// How long after a doubt the database is asked, and how long after a question that it did not answer.
  static constexpr duration asks_after = std::chrono::milliseconds(250);
  /// How long after a question if the database still commits the batch, as while it waits for its standby.
  static constexpr duration asks_again_after = std::chrono::seconds(1);

  /// A batch that may have been committed.
  struct doubt {
    std::int64_t number;                  ///< of the batch
    std::int64_t partition;               ///< of foliot.batch, which has the number
    std::vector<reservation> claimed;     ///< by the batch
    std::vector<reservation> given_back;  ///< by the batch, of those that were unwanted
  };

  /// Adds a batch, which is newer than all others. Nothing depends on one that has neither reserved nor given back a
  /// job, so that is left out.
  void add(doubt made, instant now) {
    if (made.claimed.empty() && made.given_back.empty()) return;
    all_.push_back(std::move(made));
    asks_at_ = now + asks_after;
  }
  /// Whether it is time to ask the database, or to give back jobs. If so, sets the next time.
  [[nodiscard]] bool begins_to_settle(instant now) noexcept {
    if (!has_work() || now < asks_at_) return false;
    asks_at_ = now + asks_after;
    return true;
  }
  /// The oldest batch; null: none is in doubt.
  [[nodiscard]] const doubt* oldest() const noexcept { return all_.empty() ? nullptr : &all_.front(); }
  /// The database has answered for the oldest batch. Returns the reservations that do not exist, as is known by now.
  /// Precondition: there is one.
  [[nodiscard]] std::vector<reservation> settle_oldest(bool was_committed) {
    doubt settled = std::move(all_.front());
    all_.pop_front();
    if (!was_committed) return std::move(settled.claimed);
    for (const reservation& each : settled.given_back) std::erase(unwanted_, each);
    unwanted_.insert(unwanted_.end(), settled.claimed.begin(), settled.claimed.end());
    return std::move(settled.given_back);
  }
  /// The database is still committing the oldest batch.
  void postpone(instant now) noexcept { asks_at_ = now + asks_again_after; }

  /// The first `most` of the reservations that the next batch is to give back.
  [[nodiscard]] std::vector<reservation> unwanted(std::size_t most) const {
    const std::size_t count = std::min(unwanted_.size(), most);
    return {unwanted_.begin(), unwanted_.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  /// A batch has given back the first `count` of them.
  void note_given_back(std::size_t count) {
    unwanted_.erase(unwanted_.begin(), unwanted_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  /// When begins_to_settle() is true next; never(): not without another doubt.
  [[nodiscard]] instant next() const noexcept { return has_work() ? asks_at_ : instant::never(); }
  /// The registration has ended, with all its reservations but those that last, and none of its batches will be
  /// committed any more. So the lasting ones of batches in doubt are unwanted: to give back one that does not exist
  /// changes nothing.
  void end_registration() {
    for (const doubt& each : all_) unwanted_.insert(unwanted_.end(), each.claimed.begin(), each.claimed.end());
    all_.clear();
    std::erase_if(unwanted_, [](const reservation& each) { return !is_lasting(each); });
  }

 private:
  [[nodiscard]] bool has_work() const noexcept { return !all_.empty() || !unwanted_.empty(); }

  std::deque<doubt> all_;              // the oldest first
  std::vector<reservation> unwanted_;  // made by such batches, to be given back
  instant asks_at_ = instant::earliest();
};

}  // namespace foliot::jobs::detail
