// The names of clients that have parted with their reservations, by job: who holds a job by its token alone. And which
// of these reservations the flow of jobs does not count, whether or not their clients have names.
//
// A hint for people: nothing else goes by it. A reservation is here until the store tells that it has ended. That of a
// shared store may end through another node or broker, of which this one does not hear: then it stays until its TTR has
// ended, and is not found any more when the job is reserved again. So a reservation is asked for by its number.
//
// Invariants:
//   1. There are `most` reservations at the most: those that end last.
//   2. Each reservation has a name, or is not counted, and its end is among the ends, once.
//
// Thread safety: the lock of the broker guards everything. O(log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>

#include "client_state.hpp"
#include "held_jobs.hpp"

namespace foliot::jobs::detail {

class parted_jobs {
 public:
  static constexpr std::size_t most = 100'000;

  /// The client of this reservation parts with it now. Forgets it if there is no memory. Precondition: it has a client.
  void add(const holding& parted, instant now) noexcept {
    if (parted.client->name.empty() && parted.is_counted) return;
    forget(parted.token.id);
    for (int i = 0; i < most_forgotten && !ends_.empty() && ends_.begin()->first < now; ++i) {
      forget(ends_.begin()->second);  // it has ended elsewhere
    }
    try {
      entry& made = all_[parted.token.id];
      made = {parted.token, parted.reserves, parted.expires, parted.began, parted.is_counted, parted.client->name};
      ends_.emplace(made.expires, made.token.id);
    } catch (...) {
      all_.erase(parted.token.id);
      return;
    }
    if (all_.size() > most) forget(ends_.begin()->second);
  }
  /// The reservation has ended. Does nothing if it is not here.
  void end(const reservation& token) noexcept {
    const auto found = all_.find(token.id);
    if (found != all_.end() && found->second.token == token) forget(token.id);
  }
  /// The reservation ends later. Forgets it if there is no memory, and does nothing if it is not here.
  void extend(const reservation& token, instant expires) noexcept {
    const auto found = all_.find(token.id);
    if (found == all_.end() || found->second.token != token || found->second.expires == expires) return;
    try {
      ends_.emplace(expires, token.id);
    } catch (...) {
      return forget(token.id);
    }
    ends_.erase({found->second.expires, token.id});
    found->second.expires = expires;
  }
  /// When this reservation has begun; never() if it is not here.
  [[nodiscard]] instant began(const reservation& token) const noexcept {
    const auto found = all_.find(token.id);
    return found == all_.end() || found->second.token != token ? instant::never() : found->second.began;
  }
  /// Whether the flow of jobs counts this reservation; true if it is not here.
  [[nodiscard]] bool is_counted(const reservation& token) const noexcept {
    const auto found = all_.find(token.id);
    return found == all_.end() || found->second.token != token || found->second.is_counted;
  }
  /// The name of the client that has got the job by the reservation with this number; empty if that is not known.
  [[nodiscard]] std::string holder_of(job_id id, std::uint32_t reserves) const {
    const auto found = all_.find(id);
    return found == all_.end() || found->second.reserves != reserves ? std::string() : found->second.name;
  }

  /// O(n).
  [[nodiscard]] check_result check() const {
    if (all_.size() > most) return std::unexpected("too many reservations without a client are remembered");
    if (all_.size() != ends_.size()) return std::unexpected("a reservation without a client has more ends than one");
    for (const auto& [id, it] : all_) {
      if (it.token.id != id) return std::unexpected("a reservation without a client lies under the id of another job");
      if (it.name.empty() && it.is_counted) return std::unexpected("a reservation without a client has no name");
      if (!ends_.contains({it.expires, id})) return std::unexpected("a reservation without a client has no end");
    }
    return {};
  }

 private:
  // With each one that comes. More than one, so that those that have ended elsewhere become fewer.
  static constexpr int most_forgotten = 2;

  struct entry {
    reservation token;
    std::uint32_t reserves = 0;
    instant expires;
    instant began;
    bool is_counted = true;
    std::string name;
  };

  void forget(job_id id) noexcept {
    const auto found = all_.find(id);
    if (found == all_.end()) return;
    ends_.erase({found->second.expires, id});
    all_.erase(found);
  }

  std::unordered_map<job_id, entry> all_;
  std::set<std::pair<instant, job_id>> ends_;
};

}  // namespace foliot::jobs::detail
