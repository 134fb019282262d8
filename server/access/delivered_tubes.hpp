// The tubes whose jobs the server delivers by itself: they have a target (server/targets). No client reserves from
// them.
//
// Where no tube has a target, a look is one load. A change of them is noticed by version(): a client that watches
// tubes compares it before each reserve, and watches those alone that have none (authorized_client.hpp).
//
// Thread safety: any thread. O(log n) in the tubes that have a target.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/annotations.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::program {

class delivered_tubes {
 public:
  using names = std::set<std::string, std::less<>>;

  delivered_tubes() noexcept = default;
  delivered_tubes(const delivered_tubes&) = delete;
  delivered_tubes& operator=(const delivered_tubes&) = delete;

  /// Whether any tube has a target.
  [[nodiscard]] bool any() const noexcept { return has_any_.load(seam::relaxed); }
  [[nodiscard]] bool has(std::string_view tube) const noexcept {
    if (!any()) return false;
    const lock held(lock_);
    return names_.contains(tube);
  }
  /// Another number after each change; never 0.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(seam::relaxed); }

  /// The tube has a target from now on. Throws std::bad_alloc.
  void add(std::string tube) {
    const lock held(lock_);
    if (!names_.insert(std::move(tube)).second) return;
    note_change();
  }
  /// These are all, as a look has found them that began at `version`. False: there was a change meanwhile, and the look
  /// has to be made again.
  [[nodiscard]] bool replace(names all, std::uint64_t version) {
    const lock held(lock_);
    if (version != version_.load(seam::relaxed)) return false;
    if (all == names_) return true;
    names_ = std::move(all);
    note_change();
    return true;
  }

 private:
  void note_change() noexcept FOLIOT_REQUIRES(lock_) {
    has_any_.store(!names_.empty(), seam::relaxed);
    version_.fetch_add(1, seam::relaxed);
  }

  mutable mutex lock_{lock_rank::object};
  names names_ FOLIOT_GUARDED_BY(lock_);
  // Written under the lock. Neither orders anything: the names are read under the lock.
  seam::atomic<bool> has_any_{false};
  seam::atomic<std::uint64_t> version_{1};
};

}  // namespace foliot::program
