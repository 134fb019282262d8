// The tubes that clients use or watch, and the clients that wait at each of them in the order of their arrival.
//
// A tube may have a job that can be claimed unless a claim has come back short since the last news of the tube: that is
// `may_have_ready`. Only such tubes are served, so a waiting client costs no batch until there is news.
//
// Over a store that other nodes share, a tube is `untold` while this node has made jobs ready there of which the other
// nodes do not know, because a client here may take them: until a claim shows that the tube is empty, or the others are
// told because no client waits there any more.
//
// Invariants, between two batches: a tube with waiting clients that may have a ready job is in the list of tubes to
// serve; a tube without users and watchers is not here, unless it is untold.
// Thread safety: the lock of the broker guards everything.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/intrusive_list.hpp>

namespace foliot::jobs::detail {

struct client_state;
struct tube_record;

/// One client's watch of one tube. In the tube's list while the client waits for a job.
struct watching {
  watching(tube_record& watched, client_state& by) noexcept : tube(watched), client(by) {}

  tube_record& tube;
  client_state& client;
  list_links<watching> links;
};

/// A tube that clients use or watch.
struct tube_record {
  explicit tube_record(std::string_view named) : name(named) {}

  const std::string name;
  std::size_t users = 0;
  std::size_t watchers = 0;
  std::size_t waiting = 0;
  std::size_t pins = 0;  // claims of the batch that is being executed
  bool may_have_ready = true;
  bool to_serve = false;
  bool untold = false;
  intrusive_list<watching, &watching::links> waiters;
  list_links<tube_record> serve_links;
  list_links<tube_record> untold_links;
};

class tube_registry {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return tubes_.size(); }

  /// The tube of this name, or null. O(log n).
  [[nodiscard]] tube_record* find(std::string_view name) noexcept {
    const auto found = tubes_.find(name);
    return found == tubes_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const tube_record* find(std::string_view name) const noexcept {
    const auto found = tubes_.find(name);
    return found == tubes_.end() ? nullptr : &found->second;
  }
  /// The tube of this name, which is made if it is not there: the caller adds a user or a watcher. O(log n).
  [[nodiscard]] tube_record& get(std::string_view name) {
    if (tube_record* const found = find(name)) return *found;
    return tubes_.try_emplace(std::string(name), name).first->second;
  }
  /// Forgets the tube if nothing refers to it. O(log n).
  void forget_if_unused(tube_record& tube) noexcept {
    if (tube.users + tube.watchers + tube.pins != 0 || tube.untold) return;
    if (tube.to_serve) to_serve_.erase(tube);
    tubes_.erase(tubes_.find(std::string_view(tube.name)));
  }

  /// There may be a job to claim in this tube.
  void note_news(tube_record& tube) noexcept {
    tube.may_have_ready = true;
    serve_if_needed(tube);
  }
  /// There may be a job to claim in each tube where a client waits. O(n).
  void note_news_where_clients_wait() noexcept {
    for (auto& [name, tube] : tubes_) {
      if (!tube.waiters.empty()) note_news(tube);
    }
  }
  /// The other nodes do not know of ready jobs in this tube; or they need not.
  void note_untold(tube_record& tube) noexcept {
    if (!std::exchange(tube.untold, true)) untold_.push_back(tube);
  }
  void note_told(tube_record& tube) noexcept {
    if (std::exchange(tube.untold, false)) untold_.erase(tube);
  }
  [[nodiscard]] bool has_untold() const noexcept { return !untold_.empty(); }
  /// Adds the untold tubes at which no client waits to `names`, and counts them as told. O(untold tubes).
  void take_to_tell(std::vector<std::string>& names) {
    for (tube_record* each = untold_.front(); each != nullptr;) {
      tube_record& tube = *each;
      each = untold_.next(tube);
      if (!tube.waiters.empty()) continue;
      names.push_back(tube.name);
      note_told(tube);
      forget_if_unused(tube);
    }
  }
  /// Lists the tube for service if a client waits there and a job may be ready.
  void serve_if_needed(tube_record& tube) noexcept {
    if (tube.to_serve || !tube.may_have_ready || tube.waiters.empty()) return;
    tube.to_serve = true;
    to_serve_.push_back(tube);
  }
  /// A client waits at this tube; or does not wait any more. O(1).
  void begin_waiting(watching& one) noexcept {
    one.tube.waiters.push_back(one);
    ++one.tube.waiting;
    note_news(one.tube);
  }
  void end_waiting(watching& one) noexcept {
    tube_record& tube = one.tube;
    tube.waiters.erase(one);
    --tube.waiting;
    if (tube.waiters.empty() && std::exchange(tube.to_serve, false)) to_serve_.erase(tube);
  }
  /// Takes the first tube to serve out of the list; null if there is none.
  [[nodiscard]] tube_record* next_to_serve() noexcept {
    while (tube_record* const first = to_serve_.pop_front()) {
      first->to_serve = false;
      if (first->may_have_ready && !first->waiters.empty()) return first;
    }
    return nullptr;
  }
  [[nodiscard]] bool has_tube_to_serve() const noexcept { return !to_serve_.empty(); }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    all.reserve(tubes_.size());
    for (const auto& [name, tube] : tubes_) all.push_back(name);
    return all;
  }

  /// The invariants of the file head. O(tubes + waiting clients).
  [[nodiscard]] check_result check() const {
    for (const auto& [name, tube] : tubes_) {
      if (tube.users + tube.watchers + tube.pins == 0 && !tube.untold)
        return std::unexpected("tube " + name + ": nothing refers to it");
      if (tube.may_have_ready && !tube.waiters.empty() && !tube.to_serve && tube.pins == 0)
        return std::unexpected("tube " + name + ": clients wait for what may be ready, and it is not to be served");
      std::size_t waiting = 0;
      for (const watching* each = tube.waiters.front(); each != nullptr; each = tube.waiters.next(*each)) ++waiting;
      if (waiting != tube.waiting) return std::unexpected("tube " + name + ": its count of waiting clients is wrong");
      if (const check_result links = tube.waiters.check(); !links) return links;
    }
    if (const check_result untold = untold_.check(); !untold) return untold;
    return to_serve_.check();
  }

 private:
  std::map<std::string, tube_record, std::less<>> tubes_;
  intrusive_list<tube_record, &tube_record::serve_links> to_serve_;
  intrusive_list<tube_record, &tube_record::untold_links> untold_;
};

}  // namespace foliot::jobs::detail
