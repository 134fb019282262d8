// The reservations of an embedded store, which are in memory alone: of which jobs, and when they end.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/queue/quad_heap.hpp>

#include "record.hpp"
#include "tube.hpp"

namespace foliot::jobs::detail {

/// A reserved job. Its deadline is one nanosecond after `expires`: at that instant itself the reservation is alive.
struct held_job : timer_node {
  record data;  ///< without an inline body, fields and history
  tube* home = nullptr;
  reservation token;
  instant expires;
};

class reservation_table {
 public:
  reservation_table() = default;
  reservation_table(const reservation_table&) = delete;
  reservation_table& operator=(const reservation_table&) = delete;
  ~reservation_table() {
    while (expiries_.pop_any() != nullptr) {
    }
  }

  /// Null: nobody has this job.
  [[nodiscard]] held_job* find(job_id id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second.get();
  }
  /// Null: this reservation has ended.
  [[nodiscard]] held_job* find(const reservation& token) const {
    held_job* it = find(token.id);
    return it != nullptr && it->token == token ? it : nullptr;
  }
  [[nodiscard]] bool has(job_id id) const { return by_id_.contains(id); }

  held_job& add(record&& data, tube& home, const reservation& token, instant expires) {
    auto made = std::make_unique<held_job>();
    held_job& it = *made;
    it.data = std::move(data);
    it.home = &home;
    it.token = token;
    by_id_.emplace(token.id, std::move(made));
    set_expiry(it, expires);
    return it;
  }
  void set_expiry(held_job& it, instant expires) {
    it.expires = expires;
    expiries_.reset(it, expires + duration::nanoseconds(1));
  }
  void remove(held_job& it) {
    expiries_.stop(it);
    by_id_.erase(it.token.id);
  }

  /// When the next reservation has ended.
  [[nodiscard]] instant next() const noexcept { return expiries_.next_deadline(); }

  /// Up to `most` reservations that have ended by now, by their expiry and then by id. They stay in the table, but the
  /// caller must remove each of them: ended() returns none of them again.
  [[nodiscard]] std::vector<held_job*> ended(instant now, std::size_t most) {
    std::vector<held_job*> found;
    if (!is_due(expiries_.next_deadline(), now)) return found;
    expiries_.expire(now, most, [&found](timer_node& node) { found.push_back(static_cast<held_job*>(&node)); });
    std::ranges::sort(found, {}, [](const held_job* each) { return std::pair(each->expires, each->token.id); });
    return found;
  }

  /// All of them, by the ids of their jobs.
  [[nodiscard]] const auto& all() const noexcept { return by_id_; }

 private:
  std::map<job_id, std::unique_ptr<held_job>> by_id_;
  quad_heap expiries_;
};

}  // namespace foliot::jobs::detail
