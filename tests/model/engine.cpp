#include "engine.hpp"

#include <exception>
#include <utility>

#include "support/leaks.hpp"

namespace foliot::model {

using kind = operation::kind;
using status = model_thread::status;

bool dependent(const operation& a, const operation& b) {
  const auto seq_cst = [](const operation& o) { return o.with == order::seq_cst; };
  const auto on_memory = [](const operation& o) { return o.what <= kind::modify || o.what == kind::wait; };
  const auto on_futex = [](const operation& o) { return o.what == kind::wait || o.what == kind::wake; };
  if (a.what == kind::pause || b.what == kind::pause) return true;
  // A seq_cst fence depends on all seq_cst operations. Other fences affect only their own thread.
  if (a.what == kind::fence || b.what == kind::fence) return seq_cst(a) && seq_cst(b);
  if (on_futex(a) && on_futex(b) && a.futex == b.futex) return true;
  if (!on_memory(a) || !on_memory(b) || a.where != b.where) return false;
  const auto only_reads = [](const operation& o) { return o.what == kind::load || o.what == kind::wait; };
  return !(only_reads(a) && only_reads(b)) || (seq_cst(a) && seq_cst(b));
}

engine::~engine() {
  if (!failure_) return;
  // The stacks of a failed execution have objects that were not destroyed: they are abandoned.
  for (auto& each : threads_) {
    support::ignore_leak(each.get());
    static_cast<void>(each.release());
  }
}

std::optional<std::string> engine::run(choices& path, const std::function<void()>& body, bool traced) {
  path_ = &path;
  path.rewind();
  memory_.begin();
  trace_.begin(traced);
  names_.clear();
  used_ = 0;
  time_ = instant::from_nanoseconds(1'000'000'000);
  preemptions_ = weak_failures_ = interruptions_ = wakes_ = 0;
  steps_ = pauses_ = idle_pauses_ = sleep_set_ = 0;
  pruned_ = false;
  ++run_;
  engine* const outer = std::exchange(current_, this);
  model_thread& main = make_thread("main", body);
  running_ = main.id;
  support::fiber::go(outside_, main.stack);
  current_ = outer;
  return failure_;
}

model_thread& engine::make_thread(std::string name, std::function<void()> body) {
  if (used_ == most_threads) fail("more than " + std::to_string(most_threads) + " threads");
  const thread_id id = used_++;
  if (id == threads_.size()) threads_.push_back(std::make_unique<model_thread>([this, id] { run_thread(id); }));
  model_thread& made = *threads_[id];
  made.now = status::ready;
  made.id = id;
  made.name = std::move(name);
  for (thread_id other = 0; other < id; ++other) {
    if (threads_[other]->name == made.name) made.name += " " + std::to_string(id);
  }
  made.body = std::move(body);
  made.state = {};
  made.view.begin(id);
  made.last = {};
  made.return_to = nullptr;
  made.paused = false;
  made.went_on_early = false;
  made.at_last_pause.clear();
  return made;
}

/// A fiber's whole life: a thread in every execution.
void engine::run_thread(thread_id who) {
  model_thread& self = *threads_[who];
  while (true) {
    try {
      self.body();
    } catch (const std::exception& error) {
      fail(self.name + " ended with an exception: " + error.what());
    }
    self.body = nullptr;
    finish();
  }
}

void engine::finish() {
  me().now = status::done;
  for (thread_id each = 0; each < used_; ++each) {
    model_thread& other = *threads_[each];
    if (other.now == status::joining && other.joins == running_) {
      other.now = status::ready;
      run_ahead(other);
    }
  }
  give_way();
}

void engine::visible(const operation& next, const site* where) {
  model_thread& self = me();
  self.pending = next;
  give_way();
  if (where != nullptr) self.last = *where;
  if (++steps_ > options_.steps) {
    fail("no end after " + std::to_string(options_.steps) + " operations: a loop that waits needs spin_pause()");
  }
  for (thread_id each = 0; sleep_set_ != 0 && each < used_; ++each) {
    if (dependent(threads_[each]->pending, next)) sleep_set_ &= ~(std::uint64_t{1} << each);
  }
}

void engine::give_way() {
  if (me().return_to != nullptr) {
    switch_to(*std::exchange(me().return_to, nullptr));
  } else {
    schedule();
  }
}

void engine::schedule() {
  const candidates all = who_can_run();
  if (all.count == 0) {
    for (thread_id each = 0; each < used_; ++each) {
      if (threads_[each]->now != status::done) failure_ = describe_deadlock();
    }
    if (failure_) leave();
    // All are done. The fiber waits for the next execution.
    support::fiber::go(me().stack, outside_);
    return;
  }
  const candidate next = choose_next(all);
  if (next.by_timeout) {
    time_ = std::max(time_, next.thread->deadline);
    make_ready(*next.thread, seam::wait_status::timed_out);
    sleep_set_ = 0;
  }
  if (next.thread->paused) {
    next.thread->paused = false;
    next.thread->went_on_early = next.thread->paused_at == memory_.stores();
    if (!next.thread->went_on_early) {
      idle_pauses_ = 0;
    } else if (++idle_pauses_ > 50) {
      fail("all threads spin, and none stores");
    }
  }
  switch_to(*next.thread);
}

/// The running thread comes first if it can go on, so that a switch away from it is not the first choice.
engine::candidates engine::who_can_run() {
  candidates all;
  candidates early;
  model_thread* longest_paused = nullptr;
  if (me().now == status::ready && !me().paused) all.add(&me());
  for (thread_id each = 0; each < used_; ++each) {
    model_thread& other = *threads_[each];
    if (other.now != status::ready || (each == running_ && !other.paused)) continue;
    if (!other.paused || other.paused_at != memory_.stores()) {
      all.add(&other);
      continue;
    }
    if (!other.went_on_early) early.at[early.count++] = {&other, false, true};
    if (longest_paused == nullptr || other.pause_number < longest_paused->pause_number) longest_paused = &other;
  }
  if (options_.timeouts_at_any_time || all.count == 0) {
    for (thread_id each = 0; each < used_; ++each) {
      model_thread& other = *threads_[each];
      if (other.now == status::asleep && !other.deadline.is_never()) all.at[all.count++] = {&other, true, false};
    }
  }
  if (all.count == 0 && longest_paused != nullptr) {
    all.add(longest_paused);
  } else {
    for (unsigned i = 0; i < early.count; ++i) all.at[all.count++] = early.at[i];
  }
  return all;
}

engine::candidate engine::choose_next(const candidates& all) {
  const auto bit = [](unsigned i) { return std::uint64_t{1} << i; };
  const auto asleep = [&](const candidate& c) { return !c.by_timeout && (sleep_set_ & bit(c.thread->id)) != 0; };
  const auto is_equal_to_another = [&] {
    pruned_ = true;
    sleep_set_ = 0;
    path_->end_here();
  };
  if (all.count == 1) {
    if (asleep(all.at[0])) is_equal_to_another();
    return all.at[0];
  }
  const bool bounded = options_.preemptions != unlimited;
  const bool can_go_on = all.at[0].thread == &me() && me().now == status::ready && !me().paused;
  const auto preempts = [&](unsigned i) { return (can_go_on && i != 0) || all.at[i].early; };
  std::uint64_t allowed = 0;
  for (unsigned i = 0; i < all.count; ++i) {
    const bool left_out = bounded ? preemptions_ >= options_.preemptions && preempts(i) : asleep(all.at[i]);
    if (!left_out) allowed |= bit(i);
  }
  if (allowed == 0) {
    is_equal_to_another();
    allowed = 1;
  }
  const unsigned chosen = path_->pick(all.count, allowed);
  if (preempts(chosen)) ++preemptions_;
  if (!bounded && !pruned_) {
    // The alternatives before it have been explored from here.
    for (unsigned i = 0; i < chosen; ++i) {
      if (!all.at[i].by_timeout) sleep_set_ |= bit(all.at[i].thread->id);
    }
  }
  return all.at[chosen];
}

void engine::switch_to(model_thread& next) {
  if (next.id == running_) return;
  model_thread& from = me();
  running_ = next.id;
  support::fiber::go(from.stack, next.stack);
}

void engine::run_ahead(model_thread& other) {
  other.return_to = &me();
  switch_to(other);
}

void engine::make_ready(model_thread& sleeper, seam::wait_status why) {
  sleeper.now = status::ready;
  sleeper.woken_by = why;
}

void engine::fail(const std::string& what) {
  if (!failure_) failure_ = what;
  leave();
}

void engine::leave() { support::fiber::leave(me().stack, outside_); }

std::string engine::describe_deadlock() const {
  std::string text = "deadlock:";
  for (thread_id each = 0; each < used_; ++each) {
    const model_thread& t = *threads_[each];
    if (t.now == status::asleep) {
      text += " " + t.name + " sleeps on " + name_of(t.pending.futex) + " (after " + to_string(t.last) + ");";
    } else if (t.now == status::joining) {
      text += " " + t.name + " waits for the end of " + threads_[t.joins]->name + " (" + to_string(t.last) + ");";
    }
  }
  text.pop_back();
  return text;
}

}  // namespace foliot::model
