// The front of an index on disk, held in memory: the first entries in order, up to a bound. What sorts behind them
// stays on disk until the window has been used up and reads on.
//
// Invariant: every entry of the index that sorts below end() is in the window, but for those that the store leaves out
// on purpose (reserved jobs); a complete window has no end. The window reads on from end(), so that it never walks over
// the tombstones of what it has handed out.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>

namespace foliot::jobs::detail {

template <class Entry>
class index_window {
 public:
  /// Empty: the index has nothing below `first`. `more`: it may have something from there on.
  void open(const Entry& first, bool more) {
    entries_.clear();
    end_ = first;
    complete_ = !more;
  }

  /// The index has nothing more.
  void set_complete() noexcept { complete_ = true; }

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] const Entry& front() const noexcept { return *entries_.begin(); }
  [[nodiscard]] const Entry& end() const noexcept { return end_; }
  [[nodiscard]] const std::set<Entry>& entries() const noexcept { return entries_; }

  /// Whether the window has this entry, if the index has it.
  [[nodiscard]] bool covers(const Entry& entry) const noexcept { return complete_ || entry < end_; }
  [[nodiscard]] bool has(const Entry& entry) const noexcept { return entries_.contains(entry); }

  /// Nothing in the index sorts below this, but for what was left out.
  [[nodiscard]] Entry lowest(const Entry& if_none) const noexcept {
    if (!empty()) return front();
    return complete_ ? if_none : end_;
  }

  /// The first entry of the index from `begin` on, or a place before which there is none; nothing if there is none at
  /// all. O(log size).
  [[nodiscard]] std::optional<Entry> lowest_from(const Entry& begin) const {
    if (const auto at = entries_.lower_bound(begin); at != entries_.end()) return *at;
    if (complete_) return std::nullopt;
    return std::max(begin, end_);
  }

  /// The index has got a new entry. Holds at most `bound` entries afterwards. O(log bound), amortised.
  void insert(const Entry& entry, std::size_t bound) {
    if (!covers(entry)) return;
    entries_.insert(entry);
    if (entries_.size() > bound) shrink(bound - bound / 4);
  }

  /// The index has lost an entry, or it is to be left out. O(log size).
  void erase(const Entry& entry) { entries_.erase(entry); }

  void pop_front() { entries_.erase(entries_.begin()); }

  /// Reads on: `next(Entry&)` fills in the entries from end() on and returns false when there are no more; `left_out`
  /// says whether one is to be left out. Takes up to `count` entries.
  template <class Next, class LeftOut>
  void refill(std::size_t count, Next next, LeftOut left_out) {
    Entry entry;
    while (next(entry)) {
      if (count == 0) {
        end_ = entry;
        return;
      }
      if (left_out(entry)) continue;
      entries_.insert(entries_.end(), entry);
      --count;
    }
    complete_ = true;
  }

 private:
  void shrink(std::size_t size) {
    const auto first = std::next(entries_.begin(), static_cast<std::ptrdiff_t>(size));
    end_ = *first;
    complete_ = false;
    entries_.erase(first, entries_.end());
  }

  std::set<Entry> entries_;
  Entry end_{};
  bool complete_ = true;
};

}  // namespace foliot::jobs::detail
