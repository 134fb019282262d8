// The clients that wait for a job, in the order of their arrival; and which of them are untried: no claim has shown yet
// that such a client has to wait.
//
// Invariants: a client is in its tubes' lists if and only if it is here; an untried client is in both lists.
// Thread safety: the lock of the broker guards everything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/intrusive_list.hpp>

#include "client_state.hpp"
#include "tube_registry.hpp"

namespace foliot::jobs::detail {

class waiting_clients {
 public:
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t untried() const noexcept { return untried_count_; }
  [[nodiscard]] client_state* front() const noexcept { return all_.front(); }

  /// O(tubes that it watches).
  void add(client_state& client, tube_registry& tubes) noexcept {
    client.now = client_state::phase::waiting;
    client.arrival = ++arrivals_;
    client.event.clear();
    client.untried = true;
    client.is_refused = false;
    untried_.push_back(client);
    ++untried_count_;
    all_.push_back(client);
    ++size_;
    for (const auto& each : client.watched) tubes.begin_waiting(*each);
  }
  /// Its phase is the caller's to set. O(tubes that it watches).
  void erase(client_state& client, tube_registry& tubes) noexcept {
    for (const auto& each : client.watched) tubes.end_waiting(*each);
    all_.erase(client);
    --size_;
    if (!std::exchange(client.untried, false)) return;
    untried_.erase(client);
    --untried_count_;
  }

  /// After the claims of a batch: tells the clients none of whose tubes may have a job that they have to wait.
  /// O(untried clients and their tubes).
  void note_tried() noexcept {
    for (client_state* each = untried_.front(); each != nullptr;) {
      client_state& client = *each;
      each = untried_.next(client);
      if (std::ranges::any_of(client.tubes, &tube_record::may_have_ready)) continue;
      untried_.erase(client);
      --untried_count_;
      client.untried = false;
      client.event.set();
    }
  }
  /// Wakes the tasks that wait for an untried client, or all.
  void wake_untried() noexcept {
    for (client_state* each = untried_.front(); each != nullptr; each = untried_.next(*each)) each->event.set();
  }
  void wake_all() noexcept {
    for (client_state* each = all_.front(); each != nullptr; each = all_.next(*each)) each->event.set();
  }

  /// `in_batch`: claims may be under way. O(n).
  [[nodiscard]] check_result check(bool in_batch) const {
    std::size_t waiting = 0;
    std::size_t untried = 0;
    for (const client_state* each = all_.front(); each != nullptr; each = all_.next(*each)) {
      ++waiting;
      if (each->untried) ++untried;
      if (each->now != client_state::phase::waiting) return std::unexpected("a client that does not wait is listed");
      if (!in_batch && each->recipient != client_state::no_claim) return std::unexpected("a claim outlives its batch");
    }
    if (waiting != size_) return std::unexpected("the count of waiting clients is wrong");
    if (untried != untried_count_) return std::unexpected("the count of clients that were not tried is wrong");
    return {};
  }

 private:
  intrusive_list<client_state, &client_state::waiting_links> all_;
  intrusive_list<client_state, &client_state::untried_links> untried_;
  std::size_t size_ = 0;
  std::size_t untried_count_ = 0;
  std::uint64_t arrivals_ = 0;
};

}  // namespace foliot::jobs::detail
