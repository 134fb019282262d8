#include "tube_records.hpp"

#include <algorithm>
#include <utility>

#include "server/core/tube_name.hpp"
#include "writer.hpp"

namespace foliot::program::beanstalk {

namespace {

void append_to_list(std::string& to, std::string_view tube) {
  to += "- ";
  if (is_tube_name(tube)) {
    to += tube;
  } else {
    append_quoted(to, tube);  // it must not look like several names
  }
  to += '\n';
}

}  // namespace

std::size_t size_in_list(std::string_view tube) noexcept {
  constexpr std::size_t around = std::string_view("- \n").size();
  constexpr std::size_t quotes = 2;
  constexpr std::size_t longest_escape = std::string_view(R"(\x00)").size();
  return is_tube_name(tube) ? tube.size() + around : longest_escape * tube.size() + quotes + around;
}

std::shared_ptr<const shared_text> make_list(held_memory& in, const std::vector<std::string>& names) {
  std::vector<shared_piece> pieces;
  for (std::size_t begin = 0; begin < names.size(); begin += tubes_of_a_piece) {
    const std::size_t end = std::min(begin + tubes_of_a_piece, names.size());
    std::string text;
    for (std::size_t i = begin; i < end; ++i) append_to_list(text, names[i]);
    text.shrink_to_fit();
    pieces.push_back(std::make_shared<const counted_text>(in, std::move(text)));
  }
  return std::make_shared<const shared_text>(in, std::move(pieces), names.size());
}

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
  pieces_.resize(in_order_.size() / tubes_of_a_piece + 1);
  in_order_.push_back(made);
  try {
    by_name_.emplace(made->name, in_order_.size() - 1);
  } catch (...) {
    in_order_.pop_back();  // a record that is only in one of them could not be found when it moves
    throw;
  }
  note_change(in_order_.size() - 1, 0, size_in_list(name));
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
  const std::size_t last = in_order_.size() - 1;
  const std::size_t size_of_last = size_in_list(in_order_[last]->name);
  if (freed != last) {
    note_change(freed, size_in_list(of->name), size_of_last);
    in_order_[freed] = std::move(in_order_.back());
    by_name_.find(in_order_[freed]->name)->second = freed;
  }
  in_order_.pop_back();
  note_change(last, size_of_last, 0);
}

void tube_records::note_change(std::size_t index, std::size_t gone, std::size_t come) noexcept {
  piece& changed = pieces_[index / tubes_of_a_piece];
  changed.bytes += come - gone;
  changed.text.reset();
  list_.reset();
}

std::shared_ptr<const shared_text> tube_records::list(held_memory& in) {
  std::vector<shared_piece> pieces;  // outlives the lock: a reader may end meanwhile
  const lock held(lock_);
  if (auto known = list_.lock()) return known;
  pieces.reserve((in_order_.size() + tubes_of_a_piece - 1) / tubes_of_a_piece);
  for (std::size_t begin = 0; begin < in_order_.size(); begin += tubes_of_a_piece) {
    piece& each = pieces_[begin / tubes_of_a_piece];
    pieces.push_back(each.text.lock());
    if (pieces.back() != nullptr) continue;
    std::string text;
    text.reserve(each.bytes);
    const std::size_t end = std::min(begin + tubes_of_a_piece, in_order_.size());
    for (std::size_t i = begin; i < end; ++i) append_to_list(text, in_order_[i]->name);
    pieces.back() = std::make_shared<const counted_text>(in, std::move(text));
    each.text = pieces.back();
  }
  auto made = std::make_shared<const shared_text>(in, std::move(pieces), in_order_.size());
  list_ = made;
  return made;
}

std::size_t tube_records::bytes_of_list() const {
  const lock held(lock_);
  if (!list_.expired()) return 0;
  std::size_t sum = pieces_.size() * sizeof(shared_piece);
  for (const piece& each : pieces_) sum += each.text.expired() ? each.bytes : 0;
  return sum;
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
