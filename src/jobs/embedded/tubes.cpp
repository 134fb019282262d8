#include "tubes.hpp"

#include <algorithm>
#include <utility>

namespace foliot::jobs::detail {

void tube_table::open(disk& from) {
  std::vector<tube_number> empty;
  for (disk::scan rows(from, family::meta, "t", "u"); rows.valid(); rows.next()) {
    const std::string_view key = rows.key();
    const std::string_view name = row_name(rows.value());
    if (key.size() != row_key(0).size() || name.empty()) {
      throw store_failure("the job store " + from.folder() + " has a damaged row of a tube: restore a backup",
                          store_failure::remedies::restore_backup);
    }
    const auto number = read_big<tube_number>(key.data() + 1);
    next_number_ = std::max(next_number_, number + 1);
    tube& made = add(number, std::string(name));
    decode_row(rows.value(), made);
    if (made.stored.all() == 0) empty.push_back(number);
  }
  for (const tube_number each : empty) {
    from.erase(family::meta, view(row_key(each)));
    by_name_.erase(by_name_.find(by_number_.at(each)->name));
    by_number_.erase(each);
  }
}

tube* tube_table::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.get();
}

tube* tube_table::find(tube_number number) const {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

tube& tube_table::get(const std::string& name) {
  tube* found = find(name);
  return found != nullptr ? *found : add(next_number_++, name);
}

tube& tube_table::add(tube_number number, std::string name) {
  auto made = std::make_unique<tube>(number, std::move(name), totals_);
  tube& it = *made;
  by_name_.emplace(it.name, std::move(made));
  by_number_.emplace(number, &it);
  return it;
}

void tube_table::change(tube& it) {
  if (std::exchange(it.changed, true)) return;
  changed_.push_back(&it);
}

void tube_table::gather_rows(disk& to) {
  for (tube* each : changed_) {
    encode_row(*each, row_);
    to.put(family::meta, view(row_key(each->number)), row_);
    each->changed = false;
  }
  changed_.clear();
}

void tube_table::forget_empty(disk& from) {
  if (by_name_.size() <= tolerated_) return;
  std::erase_if(by_name_, [&](const auto& each) {
    const tube& it = *each.second;
    if (it.stored.all() != 0 || it.paused() || it.changed || it.overdue) return false;
    from.erase(family::meta, view(row_key(it.number)));
    by_number_.erase(it.number);
    return true;
  });
  tolerated_ = std::max<std::size_t>(1024, 2 * by_name_.size());
}

std::size_t tube_table::window_bound() const noexcept {
  constexpr std::size_t all_windows = std::size_t{1} << 17;
  const std::size_t share = all_windows / std::max<std::size_t>(by_name_.size(), 1);
  return std::min<std::size_t>(std::max<std::size_t>(share, 64), widest_);
}

}  // namespace foliot::jobs::detail
