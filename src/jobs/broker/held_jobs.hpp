// The reservations of all clients, by job, and those that are to be given back because their client has gone.
//
// The reservations of a client that goes away stay in its client_state, which is owned here from then on: so a client
// with many reservations goes in constant time, and they are given back one by one.
//
// Thread safety: the lock of the broker guards everything. O(log n) for n reservations of one client, except as noted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/jobs/job.hpp>

#include "client_state.hpp"

namespace foliot::jobs::detail {

/// A reservation of a client; without a client, or if its client has gone, it is to be given back.
struct holding {
  reservation token;
  std::uint32_t reserves = 0;  // as job_counters has it: the number of the reservation
  client_state* client = nullptr;
  instant expires;
  instant began;              // of the reservation
  bool is_counted = true;     // as broker_limits::uncounted has it
  list_links<holding> links;  // among those to give back
};

/// A reservation that the present batch gives back.
struct given_back {
  reservation token;
  bool is_counted = true;  // as holding has it
};

class held_jobs {
 public:
  held_jobs() = default;
  held_jobs(const held_jobs&) = delete;
  held_jobs& operator=(const held_jobs&) = delete;
  ~held_jobs() {
    while (client_state* const each = gone_.pop_front()) delete each;
  }

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

  /// The reservation of this job, or null. O(1).
  [[nodiscard]] const holding* find(job_id id) const noexcept {
    const auto found = all_.find(id);
    return found == all_.end() ? nullptr : &found->second;
  }
  /// The reservation of this job that `by` holds, or null. O(1).
  [[nodiscard]] const holding* find(job_id id, const client_state& by) const noexcept {
    const holding* const found = find(id);
    return found == nullptr || found->client != &by ? nullptr : found;
  }

  /// A client has reserved a job; without a client the job is to be given back. Throws std::bad_alloc; then the
  /// reservation is not here.
  void add(const claimed_job& claimed, client_state* by, bool is_counted = true) {
    if (const auto old = all_.find(claimed.token.id); old != all_.end()) erase(old->second);
    holding& made = all_[claimed.token.id];
    made.token = claimed.token;
    made.reserves = claimed.job.counters.reserves;
    made.expires = claimed.job.expires;
    made.began = claimed.job.expires - duration(claimed.job.ttr);
    made.is_counted = is_counted;
    if (by == nullptr) {
      to_give_back_.push_back(made);
      return;
    }
    try {
      by->deadlines.emplace(made.expires, made.token.id);
    } catch (...) {  // the client would not know of it, and leave it behind
      all_.erase(claimed.token.id);
      throw;
    }
    made.client = by;
  }
  /// The reservation has ended. Does nothing if it is not here.
  void end(const reservation& token) noexcept {
    const auto found = all_.find(token.id);
    if (found != all_.end() && found->second.token == token) erase(found->second);
  }
  /// The reservation ends later.
  void extend(const reservation& token, instant expires) {
    const auto found = all_.find(token.id);
    if (found == all_.end() || found->second.token != token) return;
    holding& it = found->second;
    if (it.client != nullptr) {
      it.client->deadlines.emplace(expires, token.id);
      if (it.expires != expires) it.client->deadlines.erase({it.expires, token.id});
    }
    it.expires = expires;
  }

  /// The client does not want this reservation. Does nothing if it is not here.
  void give_back(const reservation& token) noexcept {
    const auto found = all_.find(token.id);
    if (found != all_.end() && found->second.token == token) give_back(found->second);
  }
  /// The client goes away: all its reservations are to be given back. O(1).
  void give_back_all(std::unique_ptr<client_state> of) noexcept {
    if (of->deadlines.empty()) return;
    of->gone = true;
    gone_.push_back(*of.release());
  }
  [[nodiscard]] bool has_to_give_back() const noexcept { return !to_give_back_.empty() || !gone_.empty(); }
  /// The first reservation that is to be given back, which is not here afterwards. Precondition: there is one.
  [[nodiscard]] given_back take_to_give_back() noexcept {
    holding& first =
        to_give_back_.empty() ? all_.find(gone_.front()->deadlines.begin()->second)->second : *to_give_back_.front();
    const given_back taken{first.token, first.is_counted};
    erase(first);
    return taken;
  }
  /// This reservation, which take_to_give_back() gave, is still to be given back. Does nothing if the job is here.
  void give_back_later(const given_back& taken) {
    const auto [made, is_new] = all_.try_emplace(taken.token.id);
    if (!is_new) return;
    made->second.token = taken.token;
    made->second.is_counted = taken.is_counted;
    to_give_back_.push_back(made->second);
  }

  /// Each reservation is either its client's or to be given back. O(n).
  [[nodiscard]] check_result check() const {
    std::size_t orphans = 0;
    for (const auto& [id, it] : all_) {
      if (it.token.id != id) return std::unexpected("a reservation lies under the id of another job");
      if (it.client == nullptr) {
        ++orphans;
      } else if (!it.client->deadlines.contains({it.expires, id})) {
        return std::unexpected("a client does not know when its reservation ends");
      }
    }
    for (const holding* each = to_give_back_.front(); each != nullptr; each = to_give_back_.next(*each)) {
      if (each->client != nullptr) return std::unexpected("a reservation of a client is to be given back");
      --orphans;
    }
    if (orphans != 0) return std::unexpected("a reservation without a client is not given back");
    for (const client_state* each = gone_.front(); each != nullptr; each = gone_.next(*each)) {
      if (!each->gone || each->deadlines.empty()) return std::unexpected("a client that has gone has no reservation");
    }
    return to_give_back_.check();
  }

 private:
  void give_back(holding& it) noexcept {
    if (it.client == nullptr || it.client->gone) return;
    it.client->deadlines.erase({it.expires, it.token.id});
    it.client = nullptr;
    to_give_back_.push_back(it);
  }
  void erase(holding& it) noexcept {
    client_state* const client = it.client;
    if (client == nullptr) {
      to_give_back_.erase(it);
    } else {
      client->deadlines.erase({it.expires, it.token.id});
    }
    all_.erase(it.token.id);
    if (client == nullptr || !client->gone || !client->deadlines.empty()) return;
    gone_.erase(*client);
    delete client;
  }

  std::unordered_map<job_id, holding> all_;
  intrusive_list<holding, &holding::links> to_give_back_;
  intrusive_list<client_state, &client_state::gone_links> gone_;  // owned
};

}  // namespace foliot::jobs::detail
