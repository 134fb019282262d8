// What the nodes that share a store tell each other about ready jobs, seen from the broker of one node.
//
// Only what the batches of this node have made ready is told, never what others have told or what a scan has found: so
// news do not echo. News may be lost: a scan of the tubes with waiting clients finds what was not told.
//
// Thread safety: hear() and tell() may be called without the lock of the broker, which guards everything else.
#pragma once

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/other_nodes.hpp>

#include "tube_registry.hpp"

namespace foliot::jobs::detail {

class node_news {
 public:
  explicit node_news(other_nodes* others) noexcept : others_(others) {}

  /// Whether there may be other nodes. If not, nothing else but scan_at() may be called.
  [[nodiscard]] bool has_others() const noexcept { return others_ != nullptr; }
  /// Readable when there is something to hear.
  [[nodiscard]] int descriptor() const noexcept { return others_->descriptor(); }

  /// What the others have told since the last call.
  [[nodiscard]] news hear() {
    try {
      return others_->take_news();
    } catch (const std::bad_alloc&) {
      news anything;
      anything.any_tube = true;
      return anything;
    }
  }
  void tell(const std::vector<std::string>& tubes) noexcept {
    if (!tubes.empty()) others_->tell(tubes);
  }

  /// A batch has made jobs ready in these tubes. The others need not know if a client here takes them.
  void note_ready(const std::vector<std::string>& names, tube_registry& tubes) {
    for (const std::string& name : names) {
      if (tube_record* const tube = tubes.find(name)) {
        tubes.note_untold(*tube);
      } else {
        to_tell_.push_back(name);
      }
    }
  }
  /// The tubes of which the others are to be told now. Without memory some are left for later.
  [[nodiscard]] std::vector<std::string> take_to_tell(tube_registry& tubes) noexcept {
    std::vector<std::string> names;
    try {
      names.swap(to_tell_);
      tubes.take_to_tell(names);
    } catch (...) {  // no memory: the rest is told later
    }
    return names;
  }

  /// When to look at all tubes with waiting clients.
  [[nodiscard]] instant scan_at() const noexcept { return scan_at_; }
  /// Notes news of these tubes if it is time. `is_waited`: a client waits.
  void scan_if_due(instant now, bool is_waited, tube_registry& tubes) noexcept {
    if (!is_waited) {
      scan_at_ = instant::never();
      return;
    }
    if (scan_at_ <= now) tubes.note_news_where_clients_wait();
    if (scan_at_ <= now || scan_at_ == instant::never()) scan_at_ = now + others_->scan_every();
  }

 private:
  other_nodes* const others_;
  instant scan_at_ = instant::never();
  std::vector<std::string> to_tell_;  // tubes without clients here
};

}  // namespace foliot::jobs::detail
