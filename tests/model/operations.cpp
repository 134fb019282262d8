// Atomic operations and plain accesses: their effect on memory, the stores that they may read, and their races.
#include <algorithm>
#include <utility>

#include "engine.hpp"

namespace foliot::model {

using kind = operation::kind;

bits engine::load(const word& from, order o, const site& where) {
  o = effective(o, where, false, true, false);
  const location_id place = find(from);
  visible({.what = kind::load, .with = o, .where = place}, &where);
  model_thread& self = me();
  touch(place, where);
  const store_index newest = memory_.newest(place);
  const store_index oldest =
      std::max(memory_.oldest(self.view, place, o), newest - std::min(newest, choices::most - 1));
  const store_index index = newest - pick(newest - oldest + 1);
  if (trace_.on()) say("load " + name_of(place) + " " + std::string(to_string(o)) + described(place, index), &where);
  const bits value = memory_.read(self.view, place, index, o);
  self.view.tick();
  return value;
}

void engine::store(const word& to, bits value, order o, const site& where) {
  o = effective(o, where, false, false, true);
  const location_id place = find(to);
  visible({.what = kind::store, .with = o, .where = place}, &where);
  model_thread& self = me();
  touch(place, where);
  if (trace_.on()) {
    say("store " + name_of(place) + " " + std::string(to_string(o)) + " := " + to_string(value), &where);
  }
  memory_.write(self.view, place, value, o);
  self.view.tick();
}

bits engine::modify(const word& of, bits (*change)(bits, bits), bits operand, order o, const site& where) {
  o = effective(o, where, false, true, true);
  const location_id place = find(of);
  visible({.what = kind::modify, .with = o, .where = place}, &where);
  model_thread& self = me();
  touch(place, where);
  const store_index newest = memory_.newest(place);
  const bits old = memory_.value(place, newest);
  const bits value = change(old, operand);
  if (trace_.on()) {
    say("modify " + name_of(place) + " " + std::string(to_string(o)) + described(place, newest) +
            " := " + to_string(value),
        &where);
  }
  memory_.read_and_write(self.view, place, value, o);
  self.view.tick();
  return old;
}

bool engine::compare_exchange(const word& of, bits& expected, bits wanted, bool weak, order success, order failure,
                              const site& where) {
  success = effective(success, where, false, true, true);
  failure = effective(failure, where, true, true, false);
  const location_id place = find(of);
  const bool seq_cst = success == order::seq_cst || failure == order::seq_cst;
  visible({.what = kind::modify, .with = seq_cst ? order::seq_cst : success, .where = place}, &where);
  model_thread& self = me();
  touch(place, where);
  // The newest value decides whether it may succeed; every older one that differs is a way to fail, and a
  // weak one may fail in spite of the value.
  const store_index newest = memory_.newest(place);
  const store_index oldest =
      std::max(memory_.oldest(self.view, place, failure), newest - std::min(newest, choices::most - 2));
  std::array<store_index, choices::most> ways{newest};
  unsigned count = 1;
  for (store_index index = newest; index-- > oldest;) {
    if (memory_.value(place, index) != expected) ways[count++] = index;
  }
  const bool equal = memory_.value(place, newest) == expected;
  const bool may_fail_weakly = weak && equal && weak_failures_ < options_.weak_failures;
  if (may_fail_weakly) ways[count++] = newest;
  const unsigned way = pick(count);
  const store_index index = ways[way];
  const bool succeeds = way == 0 && equal;
  if (may_fail_weakly && way == count - 1) ++weak_failures_;
  if (trace_.on()) {
    say("compare_exchange " + name_of(place) + " " + std::string(to_string(succeeds ? success : failure)) +
            described(place, index) +
            (succeeds ? " := " + to_string(wanted) : " fails" + std::string(index == newest && equal ? " weakly" : "")),
        &where);
  }
  if (succeeds) {
    memory_.read_and_write(self.view, place, wanted, success);
  } else {
    expected = memory_.read(self.view, place, index, failure);
  }
  self.view.tick();
  return succeeds;
}

void engine::fence(order o, const site& where) {
  o = effective(o, where, false, true, true);
  if (o == order::relaxed) return;
  visible({.what = kind::fence, .with = o}, &where);
  if (trace_.on()) say("fence " + std::string(to_string(o)), &where);
  memory_.fence(me().view, o);
  me().view.tick();
}

void engine::make(const word& made) {
  made.run_ = run_;
  made.location_ = memory_.make(&made, made.value_, me().view);
}

location_id engine::find(const word& known) {
  // Made before the execution: as if by its first event.
  if (known.run_ != run_) {
    known.run_ = run_;
    known.location_ = memory_.make(&known, known.value_, threads_[0]->view);
    memory_.at(known.location_).made = {};
  }
  if (known.location_ >= memory_.locations()) fail("an atomic is used after the end of its life");
  return known.location_;
}

location& engine::touch(location_id where, const site& at) {
  location& here = memory_.at(where);
  const thread_view& view = me().view;
  if (!here.alive) fail("an atomic is used after the end of its life: " + name_of(where) + " (" + to_string(at) + ")");
  if (here.made.unknown_to(view.now.happened) != most_threads) {
    fail("a thread uses an atomic and does not know that it was made: " + name_of(where) + " (" + me().name + " at " +
         to_string(at) + ")");
  }
  here.touched.upto[view.id] = view.time();
  here.last_touch[view.id] = at;
  return here;
}

void engine::check_end(location& ended) {
  const vector_clock& known = me().view.now.happened;
  thread_id other = ended.touched.unknown_to(known);
  if (other == most_threads) other = ended.written.unknown_to(known);
  if (other == most_threads) other = ended.made.unknown_to(known);
  if (other != most_threads) race(ended, other, "ends its life");
  ended.alive = false;
}

void engine::end(const word& ended) noexcept {
  if (ended.run_ == run_) check_end(memory_.at(find(ended)));
}

void engine::make(const shared_place& made) {
  made.run_ = run_;
  made.location_ = memory_.make(&made, 0, me().view);
  memory_.at(made.location_).written = memory_.at(made.location_).made;
}

location_id engine::find(const shared_place& known) {
  if (known.run_ != run_) {
    known.run_ = run_;
    known.location_ = memory_.make(&known, 0, threads_[0]->view);
    memory_.at(known.location_).made = {};
  }
  if (known.location_ >= memory_.locations()) fail("data is used after the end of its life");
  return known.location_;
}

void engine::end(const shared_place& ended) noexcept {
  if (ended.run_ == run_) check_end(memory_.at(find(ended)));
}

void engine::read(const shared_place& from, const site& where) { meet(from, where, false); }

void engine::write(const shared_place& to, const site& where) { meet(to, where, true); }

void engine::meet(const shared_place& place, const site& where, bool writes) {
  location& here = memory_.at(find(place));
  const thread_view& view = me().view;
  if (where.line() != 0) me().last = where;
  if (!here.alive) fail("data is used after the end of its life (" + me().name + " near " + to_string(me().last) + ")");
  if (trace_.on()) say((writes ? "write " : "read ") + name_of(&place), &me().last);
  thread_id other = here.written.unknown_to(view.now.happened);
  if (other == most_threads && writes) other = here.touched.unknown_to(view.now.happened);
  if (other != most_threads) race(here, other, writes ? "writes" : "reads");
  (writes ? here.written : here.touched).upto[view.id] = view.time();
  here.last_touch[view.id] = me().last;
}

void engine::race(const location& where, thread_id other, const char* what) {
  fail("race on " + name_of(where.address) + ": " + me().name + " " + what + " (near " + to_string(me().last) +
       ") without knowing what " + threads_[other]->name + " did (near " + to_string(where.last_touch[other]) + ")");
}

order engine::effective(order o, const site& where, bool on_failure, bool loads, bool stores) {
  if (orders_ != nullptr && o != order::relaxed) {
    orders_->emplace(where.file_name(), where.line(), where.column(), on_failure, o, loads, stores);
  }
  if (options_.weaken) {
    const weakening& w = *options_.weaken;
    if (where.line() == w.line && where.column() == w.column && o == w.from && on_failure == w.on_failure &&
        w.file == where.file_name()) {
      return w.to;
    }
  }
  return o;
}

void engine::say(std::string what, const site* where) {
  trace_.add(me().name, std::move(what), where == nullptr ? "" : to_string(*where));
}

std::string engine::name_of(location_id where) const { return name_of(memory_.at(where).address); }

std::string engine::name_of(const void* address) const {
  const char* at = static_cast<const char*>(address);
  // The smallest object with a name that holds it, and the latest of those.
  const engine::named* best = nullptr;
  for (const named& each : names_) {
    if (at < each.begin || at >= each.end) continue;
    if (best == nullptr || each.end - each.begin <= best->end - best->begin) best = &each;
  }
  if (best == nullptr) {
    for (location_id i = memory_.locations(); i-- > 0;) {
      if (memory_.at(i).address == address) return "#" + std::to_string(i);
    }
    return "?";
  }
  const auto offset = at - best->begin;
  return offset == 0 ? best->called : best->called + "+" + std::to_string(offset);
}

std::string engine::described(location_id where, store_index read) {
  const store_index newest = memory_.newest(where);
  const stored& from = memory_.at(where).stores[read];
  std::string text =
      " read " + to_string(from.value) + " of " + (read == 0 ? "its beginning" : threads_[from.by]->name);
  if (read != newest) text += " (" + std::to_string(newest - read) + " behind)";
  return text;
}

// The hooks of the seam's classes. Outside of an execution, an atomic is a variable.

word::word(bits initial) noexcept : value_(initial) {
  if (engine* e = engine::current()) e->make(*this);
}
word::~word() {
  if (engine* e = engine::current()) e->end(*this);
}
bits word::load(order o, site where) const noexcept {
  engine* const e = engine::current();
  return e == nullptr ? value_ : e->load(*this, o, where);
}
void word::store(bits value, order o, site where) noexcept {
  if (engine* e = engine::current()) return e->store(*this, value, o, where);
  value_ = value;
}
bits word::modify(bits (*change)(bits, bits), bits operand, order o, site where) noexcept {
  if (engine* e = engine::current()) return e->modify(*this, change, operand, o, where);
  return std::exchange(value_, change(value_, operand));
}
bool word::compare_exchange(bits& expected, bits wanted, bool weak, order success, order failure, site where) noexcept {
  if (engine* e = engine::current()) return e->compare_exchange(*this, expected, wanted, weak, success, failure, where);
  const bool equal = value_ == expected;
  (equal ? value_ : expected) = equal ? wanted : value_;
  return equal;
}

shared_place::shared_place() noexcept {
  if (engine* e = engine::current()) e->make(*this);
}
shared_place::~shared_place() {
  if (engine* e = engine::current()) e->end(*this);
}
void shared_place::read(site where) const {
  if (engine* e = engine::current()) e->read(*this, where);
}
void shared_place::write(site where) {
  if (engine* e = engine::current()) e->write(*this, where);
}
void fence(order o, site where) noexcept {
  if (engine* e = engine::current()) e->fence(o, where);
}

}  // namespace foliot::model
