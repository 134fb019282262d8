// The page of a list_tubes, gathered from the tubes of a store in the order of their names.
//
//   tubes_page page(what);
//   for (auto at = tubes.lower_bound(page.begin()); at != tubes.end(); ++at) {
//     if (!page.come_to(at->first)) break;
//     if (at->second.has_jobs()) page.add(at->first, [&] { return at->second.counts(); });
//   }
//   return std::move(page).take();
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <foliot/jobs/operations.hpp>

namespace foliot::jobs::detail {

class tubes_page {
 public:
  /// `what` must outlive it.
  explicit tubes_page(const list_tubes& what) : what_(what) {}

  /// Where the search begins: no name of the page is below it.
  [[nodiscard]] const std::string& begin() const noexcept { return std::max(what_.prefix, what_.after); }
  /// The next tube has this name. False: the page, or the search, ends before it.
  [[nodiscard]] bool come_to(const std::string& name) {
    if (!name.starts_with(what_.prefix)) return false;
    if (what_.count != 0 && (is_full() || searched_ == most_searched)) {
      is_cut_ = true;
      return false;
    }
    ++searched_;
    last_ = &name;
    return true;
  }
  /// Adds the tube that was come to last. Lifetime: the name must stay where it is until take().
  template <class Count>
  void add(const std::string& name, Count count) {
    if (name == what_.after) return;
    answer_.tubes.push_back(name);
    if (what_.with_counts) answer_.counts.push_back(count());
  }

  [[nodiscard]] tubes_answer take() && {
    if (what_.count != 0 && (is_full() || is_cut_)) answer_.next = *last_;
    return std::move(answer_);
  }

 private:
  [[nodiscard]] bool is_full() const noexcept { return answer_.tubes.size() == what_.count; }

  const list_tubes& what_;
  tubes_answer answer_;
  const std::string* last_ = nullptr;
  std::uint32_t searched_ = 0;
  bool is_cut_ = false;
};

}  // namespace foliot::jobs::detail
