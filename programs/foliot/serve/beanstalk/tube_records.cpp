#include "tube_records.hpp"

#include <utility>

namespace foliot::program::beanstalk {

shared_record tube_records::obtain(std::string_view name, std::size_t most) {
  const lock held(lock_);
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    ++in_order_[found->second]->uses;
    return in_order_[found->second];
  }
  if (in_order_.size() >= most) return nullptr;
  auto made = std::make_shared<tube_record>(name);
  in_order_.push_back(made);
  by_name_.emplace(made->name, in_order_.size() - 1);
  return made;
}

shared_record tube_records::find(std::string_view name) const {
  const lock held(lock_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : in_order_[found->second];
}

void tube_records::end(const shared_record& of, std::uint64_t uses) {
  const lock held(lock_);
  const auto found = by_name_.find(of->name);
  constexpr long the_callers_and_ours = 2;  // no other is made without the lock, but from one of these
  if (found == by_name_.end() || in_order_[found->second] != of || found->second == 0) return;
  if (of.use_count() > the_callers_and_ours || of->uses != uses) return;
  const std::size_t freed = found->second;
  by_name_.erase(found);
  if (freed + 1 != in_order_.size()) {
    in_order_[freed] = std::move(in_order_.back());
    by_name_.find(in_order_[freed]->name)->second = freed;
  }
  in_order_.pop_back();
}

std::vector<std::string> tube_records::names() const {
  const lock held(lock_);
  std::vector<std::string> all;
  all.reserve(in_order_.size());
  for (const shared_record& each : in_order_) all.push_back(each->name);
  return all;
}

std::size_t tube_records::size() const {
  const lock held(lock_);
  return in_order_.size();
}

}  // namespace foliot::program::beanstalk
