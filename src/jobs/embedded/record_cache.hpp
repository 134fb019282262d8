// The records that a store reads from memory: those that the batch has written, which the disk does not show yet, and
// those of jobs that were made ready lately. A worker is likely to claim such a job soon, and a read of the disk costs
// several times as much as the rest of a claim.
//
// Invariant: a record in here is the latest of its job.
//
// Memory: the records of a batch, and a bounded number of bytes for those of jobs made ready lately. Of these the ones
// of the oldest batch leave first.
// Thread safety: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include <foliot/core/intrusive_list.hpp>
#include <foliot/jobs/job.hpp>

namespace foliot::jobs::detail {

class record_cache {
 public:
  /// `max_bytes`: of the records that stay after their batch, with what it costs to keep them.
  explicit record_cache(std::size_t max_bytes = std::size_t{8} << 20) noexcept : max_bytes_(max_bytes) {}

  /// The record of a job: null if it is not in here, empty if the batch has erased it. Becomes invalid with the next
  /// call for this job.
  [[nodiscard]] const std::string* find(job_id id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : &found->second.value;
  }

  /// Whether the batch has written or erased the record.
  [[nodiscard]] bool is_of_batch(job_id id) const {
    const auto found = entries_.find(id);
    return found != entries_.end() && found->second.of_batch;
  }

  /// The batch has written the record. `likely_read`: it stays after the batch.
  void save(job_id id, std::string_view value, bool likely_read) {
    entry& it = of_batch(id);
    it.value = value;
    it.likely_read = likely_read;
  }

  /// The batch has erased the record.
  void erase(job_id id) {
    entry& it = of_batch(id);
    it.value.clear();
    it.likely_read = false;
  }

  /// The record will hardly be read again.
  void forget(job_id id) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    entry& it = found->second;
    it.likely_read = false;
    if (!it.of_batch) drop(it);
  }

  /// The disk shows what the batch has written.
  void end_batch() {
    while (entry* const it = batch_.front()) {
      batch_.erase(*it);
      it->of_batch = false;
      if (it->likely_read) {
        kept_.push_back(*it);
        bytes_ += size_of(*it);
      } else {
        entries_.erase(it->id);
      }
    }
    while (bytes_ > max_bytes_) drop(*kept_.front());
  }

 private:
  struct entry {
    list_links<entry> links;
    job_id id = 0;
    std::string value;
    bool of_batch = false;
    bool likely_read = false;
  };

  static std::size_t size_of(const entry& it) noexcept { return sizeof(entry) + it.value.capacity(); }

  entry& of_batch(job_id id) {
    const auto [found, is_new] = entries_.try_emplace(id);
    entry& it = found->second;
    if (!is_new && it.of_batch) return it;
    if (!is_new) leave_kept(it);
    it.id = id;
    it.of_batch = true;
    batch_.push_back(it);
    return it;
  }
  void leave_kept(entry& it) noexcept {
    kept_.erase(it);
    bytes_ -= size_of(it);
  }
  void drop(entry& it) {
    leave_kept(it);
    entries_.erase(it.id);
  }

  const std::size_t max_bytes_;
  std::unordered_map<job_id, entry> entries_;
  intrusive_list<entry, &entry::links> batch_;  ///< entries with `of_batch`
  intrusive_list<entry, &entry::links> kept_;   ///< the others, in the order of their batches
  std::size_t bytes_ = 0;                       ///< of the entries in kept_
};

}  // namespace foliot::jobs::detail
