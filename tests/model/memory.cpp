#include "memory.hpp"

#include <algorithm>

namespace foliot::model {
namespace {

store_index floor_at(const std::vector<store_index>& floor, location_id where) {
  return where < floor.size() ? floor[where] : 0;
}

void raise_floor(std::vector<store_index>& floor, location_id where, store_index to) {
  if (where >= floor.size()) floor.resize(where + 1);
  floor[where] = std::max(floor[where], to);
}

void join_floor(std::vector<store_index>& floor, const std::vector<store_index>& other) {
  if (floor.size() < other.size()) floor.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) floor[i] = std::max(floor[i], other[i]);
}

}  // namespace

void vector_clock::join(const vector_clock& other) noexcept {
  for (std::size_t i = 0; i < most_threads; ++i) upto[i] = std::max(upto[i], other.upto[i]);
}

thread_id vector_clock::unknown_to(const vector_clock& knower) const noexcept {
  for (std::size_t i = 0; i < most_threads; ++i) {
    if (upto[i] > knower.upto[i]) return static_cast<thread_id>(i);
  }
  return most_threads;
}

void knowledge::clear() noexcept {
  happened = {};
  floor.clear();
}

void knowledge::join(const knowledge& other) {
  happened.join(other.happened);
  join_floor(floor, other.floor);
}

void knowledge::join_floors(const std::vector<store_index>& other) { join_floor(floor, other); }

void knowledge::raise(location_id where, store_index to) { raise_floor(floor, where, to); }

void thread_view::begin(thread_id who) {
  id = who;
  now.clear();
  at_release_fence.clear();
  not_acquired.clear();
  now.happened.upto[id] = 1;
}

void memory::begin() {
  used_ = 0;
  stores_ = 0;
  seq_cst_.clear();
}

location_id memory::make(const void* address, bits initial, thread_view& by) {
  const location_id where = used_++;
  if (where == locations_.size()) locations_.emplace_back();
  location& made = locations_[where];
  made.address = address;
  made.alive = true;
  made.count = 0;
  made.made = {};
  made.made.upto[by.id] = by.time();
  made.touched = {};
  made.written = {};
  append(by, where, initial);
  by.tick();
  return where;
}

store_index memory::oldest(const thread_view& by, location_id where, order o) const {
  const store_index own = floor_at(by.now.floor, where);
  // A seq_cst load reads no store older than what the single order already has.
  return o == order::seq_cst ? std::max(own, floor_at(seq_cst_, where)) : own;
}

bits memory::read(thread_view& by, location_id where, store_index index, order o) {
  const stored& from = locations_[where].stores[index];
  by.now.raise(where, index);
  if (from.publishes) (acquires(o) ? by.now : by.not_acquired).join(from.published);
  if (o == order::seq_cst) pass_seq_cst(where, index);
  return from.value;
}

void memory::write(thread_view& by, location_id where, bits value, order o) {
  stored& made = append(by, where, value);
  by.now.raise(where, newest(where));
  publish(by, made, o);
  if (o == order::seq_cst) pass_seq_cst(where, newest(where));
}

void memory::read_and_write(thread_view& by, location_id where, bits value, order o) {
  read(by, where, newest(where), o);
  stored& made = append(by, where, value);
  by.now.raise(where, newest(where));
  publish(by, made, o);
  // A release sequence goes on through the read-modify-writes of any thread.
  const stored& before = locations_[where].stores[newest(where) - 1];
  if (before.publishes && made.publishes) {
    made.published.join(before.published);
  } else if (before.publishes) {
    made.publishes = true;
    made.published = before.published;
  }
  if (o == order::seq_cst) pass_seq_cst(where, newest(where));
}

void memory::fence(thread_view& by, order o) {
  if (acquires(o)) by.now.join(by.not_acquired);
  if (o == order::seq_cst) {
    join_floor(seq_cst_, by.now.floor);
    by.now.join_floors(seq_cst_);
  }
  if (releases(o)) by.at_release_fence = by.now;
}

void memory::arrive(thread_view& by, std::vector<store_index>& at_last_pause) const {
  by.now.join_floors(at_last_pause);
  at_last_pause.resize(used_);
  for (location_id each = 0; each < used_; ++each) at_last_pause[each] = newest(each);
}

stored& memory::append(thread_view& by, location_id where, bits value) {
  location& here = locations_[where];
  if (here.count == here.stores.size()) here.stores.emplace_back();
  stored& made = here.stores[here.count++];
  made.value = value;
  made.by = by.id;
  made.publishes = false;
  ++stores_;
  return made;
}

void memory::publish(thread_view& by, stored& into, order o) {
  if (releases(o)) {
    into.publishes = true;
    into.published = by.now;
  } else if (by.at_release_fence.happened.upto[by.id] != 0) {
    into.publishes = true;
    into.published = by.at_release_fence;
  }
}

void memory::pass_seq_cst(location_id where, store_index index) { raise_floor(seq_cst_, where, index); }

}  // namespace foliot::model
