#include "tube_records.hpp"

#include <utility>

namespace foliot::program::beanstalk {

shared_record held_tube::release() noexcept {
  if (record_ != nullptr) from_->release(*record_);
  return std::exchange(record_, nullptr);
}

shared_record tube_records::obtain(std::string_view name) {
  const lock held(lock_);
  return obtain_locked(name, std::numeric_limits<std::size_t>::max());
}

held_tube tube_records::hold(std::string_view name, std::size_t most) {
  const lock held(lock_);
  shared_record of = obtain_locked(name, most);
  if (of != nullptr) ++of->holders_;
  return held_tube(*this, std::move(of));
}

void tube_records::release(tube_record& of) noexcept {
  const lock held(lock_);
  --of.holders_;
}

shared_record tube_records::obtain_locked(std::string_view name, std::size_t most) {
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
  if (found == by_name_.end() || in_order_[found->second] != of || found->second == 0) return;
  if (of->holders_ > 0 || of->uses != uses) return;
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
