#include "held_memory.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <new>

#include <fmt/format.h>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>

namespace foliot::program {

namespace {

/// How often a connection that waits looks whether its client is there, and whether others must be closed.
constexpr duration between_looks = duration::nanoseconds(250'000'000);

}  // namespace

counted_text::counted_text(held_memory& in, std::string text) noexcept : in_(in), text_(std::move(text)) {
  in_.bytes_ += text_.capacity();
}

counted_text::~counted_text() { in_.bytes_ -= text_.capacity(); }

shared_text::shared_text(held_memory& in, std::vector<shared_piece> pieces, std::size_t entries) noexcept
    : in_(in), pieces_(std::move(pieces)), entries_(entries) {
  for (const shared_piece& each : pieces_) size_ += each->text().size();
  in_.bytes_ += own_bytes();
}

shared_text::~shared_text() {
  in_.note_size(this, 0);
  in_.bytes_ -= own_bytes();
}

/// A connection that may be closed.
struct held_memory::candidate {
  memory_holder* who;
  std::size_t charge;
  instant since;  // of those that wait: when they began
};

/// All that may be closed, in the order in which they are.
struct held_memory::candidates {
  std::vector<candidate> stalled;
  std::vector<candidate> waiting;  // stalled, too, but not by their clients
};

void held_memory::note_size(const void* one, std::size_t size) noexcept {
  if (size <= most_ / 2) {
    if (largest_ != one) return;
    large_ = 0;
    largest_ = nullptr;
    return;
  }
  const void* none = nullptr;
  if (largest_ == one || largest_.compare_exchange_strong(none, one)) large_ = size;
}

void held_memory::note_fall() noexcept {
  const std::size_t highest = highest_.load(seam::relaxed);
  const std::size_t now = weight();
  if (highest < much || now > highest / 4) return;
  highest_.store(now, seam::relaxed);
  if (has_fallen_ != nullptr) has_fallen_();
}

void held_memory::wake() noexcept {
  note_fall();
  if (waiting_ == 0) return;
  const lock held(lock_);
  give_room();
}

void held_memory::give_room() noexcept {
  while (!waiters_.empty() &&
         (give_room_to(waiters_.front()) || (large_waiter_ != nullptr && give_room_to(*large_waiter_)))) {
  }
}

bool held_memory::give_room_to(const waiter& one) noexcept {
  one.who.all_.lock_.assert_held();
  const std::size_t all = bytes_;
  if (!fits(all, one.own, one.bytes, large_)) return false;
  bytes_ += one.bytes;
  one.who.counted_.store(one.own + one.bytes, seam::relaxed);
  note_size(&one.who, one.own + one.bytes);
  note_rise();
  one.who.is_stalled_ = one.who.was_charged_ = false;  // the server did not let its client go on
  one.who.end_wait(memory_holder::wait_state::taken);
  return true;
}

void held_memory::look(instant now) noexcept {
  if (last_look_ > now - patience) return;
  // If the last look was long ago, no connection waited meanwhile: a client may have finished, and begun anew.
  const bool goes_on = last_look_ > now - (patience + patience);
  last_look_ = now;
  for (memory_holder* const each : holders_) {
    each->all_.lock_.assert_held();
    const std::size_t charge = each->charge();
    each->is_stalled_ = goes_on && charge > 0 && each->was_charged_ && !each->has_moved(charge);
    each->was_charged_ = charge > 0;
    each->moved_before_ = each->moved_.load(seam::relaxed);
  }
}

held_memory::candidates held_memory::all_candidates(instant now) const {
  candidates found;
  std::size_t active = 0;
  std::size_t largest_active = 0;
  for (memory_holder* const each : holders_) {
    each->all_.lock_.assert_held();
    const std::size_t charge = each->charge();
    if (charge == 0 || each->is_closed()) continue;
    const bool is_stalled = each->is_stalled_ && !each->has_moved(charge);
    if (each->wait_ == memory_holder::wait_state::waits) {
      if (is_stalled) found.waiting.push_back({each, charge, each->place_->since});
    } else if (is_stalled && each->waits_for_client_.load(seam::relaxed)) {
      found.stalled.push_back({each, charge, now});
    } else {
      active += charge;
      largest_active = std::max(largest_active, charge);
    }
  }
  std::ranges::sort(found.stalled, std::ranges::greater(), &candidate::charge);
  std::ranges::sort(found.waiting, [](const candidate& a, const candidate& b) {
    return a.charge != b.charge ? a.charge > b.charge : a.since > b.since;
  });
  // The room that a connection waits for may come from those that are active, unless they hold less than it. If they
  // hold less than all others together, it is not waited for long.
  if (active > most_ / 2 || waiters_.front().since > now - longest_overtaking) {
    std::erase_if(found.waiting, [&](const candidate& each) { return each.charge <= largest_active; });
  }
  return found;
}

std::vector<memory_holder*> held_memory::choose(instant now) const {
  std::size_t staying = bytes_;
  std::size_t large = large_;
  const auto goes = [&](const memory_holder& one, std::size_t charge) {
    one.all_.lock_.assert_held();
    staying -= std::min(staying, charge);
    const void* const largest = largest_;
    if (largest == &one || (largest != nullptr && largest == one.shown_.get())) large = 0;
  };
  for (const memory_holder* const each : holders_) {
    each->all_.lock_.assert_held();
    if (each->is_closed()) goes(*each, each->charge());
  }
  const candidates found = all_candidates(now);
  std::vector<memory_holder*> chosen;
  std::size_t stalled = 0;
  std::size_t waiting = 0;
  std::unordered_set<const memory_holder*> settled;  // of those that wait: they are closed, or get room
  const auto choose_one = [&](const candidate& one) {
    chosen.push_back(one.who);
    goes(*one.who, one.charge);
  };
  // Waiters that have waited less than the patience get room, too, if they stand before others.
  const auto last = std::ranges::find_if(waiters_.rbegin(), waiters_.rend(),
                                         [&](const waiter& each) { return each.since <= now - patience; });
  const auto end = last == waiters_.rend() ? std::next(waiters_.begin()) : last.base();
  std::size_t helped = 0;  // by closing those that wait
  for (auto each = waiters_.begin(); each != end; ++each) {
    if (!settled.insert(&each->who).second) continue;
    const std::size_t chosen_before = chosen.size();
    bool is_helped = false;
    const bool may_help = each == waiters_.begin() || helped < stalled;
    while (!fits(staying, each->own, each->bytes, large)) {
      while (waiting < found.waiting.size() && settled.contains(found.waiting[waiting].who)) ++waiting;
      if (stalled < found.stalled.size()) {
        choose_one(found.stalled[stalled++]);
      } else if (may_help && waiting < found.waiting.size()) {
        settled.insert(found.waiting[waiting].who);
        choose_one(found.waiting[waiting++]);
        is_helped = true;
      } else {
        chosen.resize(chosen_before);  // to close these would not help it
        return chosen;
      }
    }
    if (is_helped) ++helped;
    staying += each->bytes;
  }
  return chosen;
}

std::size_t held_memory::shed(instant now) noexcept {
  give_room();
  if (waiters_.empty()) return 0;
  // One look serves all that wait: with thousands of waiters, a look by each of them would delay the others.
  if (last_shed_ > now - between_looks) return 0;
  last_shed_ = now;
  look(now);
  try {
    const std::vector<memory_holder*> chosen = choose(now);
    for (memory_holder* const each : chosen) close(*each);
    closed_ += chosen.size();
    return chosen.size();
  } catch (const std::bad_alloc&) {
    return 0;  // the next look tries it again
  }
}

void held_memory::close(memory_holder& one) noexcept {
  one.all_.lock_.assert_held();
  one.closed_.store(true, seam::relaxed);  // before the close, which the session notices
  one.peer_.close();
  one.end_wait(memory_holder::wait_state::closed);
}

memory_holder::memory_holder(held_memory& all, byte_stream& peer) : all_(all), peer_(peer), told_(1) {
  const lock held(all_.lock_);
  all_.holders_.insert(this);
  ++all_.connections_;
  all_.note_rise();
}

memory_holder::~memory_holder() {
  hide();
  static_cast<void>(keep(0));
  count(0);
  {
    const lock held(all_.lock_);
    all_.holders_.erase(this);
  }
  --all_.connections_;
  all_.note_fall();
}

void memory_holder::count(std::size_t now) noexcept {
  const std::size_t before = counted_.load(seam::relaxed);
  if (now == before) return;
  counted_.store(now, seam::relaxed);
  if (now > before) {
    all_.bytes_ += now - before;
    all_.note_size(this, now);
    all_.note_rise();
    return;
  }
  all_.note_size(this, now);
  all_.bytes_ -= before - now;
  all_.wake();
}

bool memory_holder::keep(std::size_t bytes) noexcept {
  const std::size_t before = beyond_allowance(kept_.load(seam::relaxed));
  const std::size_t now = beyond_allowance(bytes);
  if (now > before) {
    const std::size_t most = all_.most_ / 4;
    std::size_t all = all_.kept_.load(seam::relaxed);
    do {
      if (now - before > most - std::min(all, most)) return false;
    } while (!all_.kept_.compare_exchange_weak(all, all + (now - before), seam::relaxed));
  } else {
    all_.kept_.fetch_sub(before - now, seam::relaxed);
  }
  kept_.store(bytes, seam::relaxed);
  return true;
}

bool memory_holder::take(std::size_t more) noexcept {
  const std::size_t own = counted_.load(seam::relaxed);
  const std::size_t wanted = counted(actual_ + kept_.load(seam::relaxed) + more);
  if (wanted > own) {
    if (all_.waiting_ > 0) return false;
    std::size_t all = all_.bytes_;
    do {
      if (!all_.fits(all, own, wanted - own, all_.large_)) return false;
    } while (!all_.bytes_.compare_exchange_weak(all, all + (wanted - own)));
    counted_.store(wanted, seam::relaxed);
    all_.note_size(this, wanted);
    all_.note_rise();
  }
  actual_ += more;
  return true;
}

task<room> memory_holder::wait(std::size_t more) {
  /// However the wait ends, this connection does not stay in the queue.
  class in_queue {
   public:
    in_queue(memory_holder& who, std::size_t bytes) : who_(who) {
      const instant now = runtime::now();
      const lock held(who_.all_.lock_);
      const std::size_t own = who_.counted_.load(seam::relaxed);
      auto& waiters = who_.all_.waiters_;
      auto behind = waiters.end();
      for (; behind != waiters.begin(); --behind) {
        const held_memory::waiter& before = *std::prev(behind);
        if (before.own <= own || before.since <= now - held_memory::longest_overtaking) break;
      }
      who_.place_ = waiters.insert(behind, {who_, own, bytes, now});
      if (own > who_.all_.most_ / 2 && who_.all_.large_waiter_ == nullptr) who_.all_.large_waiter_ = &*who_.place_;
      ++who_.all_.waiting_;
      who_.wait_ = wait_state::waits;
      if (who_.is_closed()) who_.end_wait(wait_state::closed);
      if (who_.must_not_wait_) who_.end_wait(wait_state::stopped);
    }
    in_queue(const in_queue&) = delete;
    in_queue& operator=(const in_queue&) = delete;
    ~in_queue() {
      const lock held(who_.all_.lock_);
      who_.end_wait(wait_state::stopped);
      who_.wait_ = wait_state::none;
      static_cast<void>(who_.told_.try_receive());
      who_.all_.give_room();  // it may have stood in front of others
    }

   private:
    memory_holder& who_;
  };

  const std::size_t wanted = counted(actual_ + kept_.load(seam::relaxed) + more);
  const std::size_t own = counted_.load(seam::relaxed);
  const in_queue queued(*this, wanted > own ? wanted - own : 0);
  room got = room::left;
  for (;;) {
    std::size_t count = 0;
    wait_state now = wait_state::none;
    {
      const lock held(all_.lock_);
      if (wait_ == wait_state::waits) count = all_.shed(runtime::now());
      now = wait_;
    }
    if (count > 0 && all_.warn_ != nullptr) {
      all_.warn_(
          fmt::format("close {} connection{} that hold{} most: what waits to be sent or executed has reached {} "
                      "bytes, the limit of --max-buffered",
                      count, count == 1 ? "" : "s", count == 1 ? "s" : "", all_.most_));
    }
    if (now == wait_state::taken) got = room::taken;
    if (now == wait_state::closed) got = room::closed;
    if (now == wait_state::stopped) got = room::stopped;
    if (now != wait_state::waits || peer_.peer_has_ended()) break;
    static_cast<void>(co_await runtime::select(told_.receive(), runtime::after(between_looks)));
  }
  if (got == room::taken) actual_ += more;
  co_return got;
}

void memory_holder::stop_waiting() noexcept {
  must_not_wait_ = true;
  if (all_.waiting_ == 0) return;
  const lock held(all_.lock_);
  end_wait(wait_state::stopped);
}

void memory_holder::show(std::shared_ptr<const shared_text> text) {
  all_.note_rise();
  const lock held(all_.lock_);
  all_.note_size(text.get(), text->size());  // here, because a session counts it itself while it makes it
  shown_ = std::move(text);
}

void memory_holder::hide() noexcept {
  std::shared_ptr<const shared_text> last;
  {
    const lock held(all_.lock_);
    last.swap(shown_);
  }
  if (last == nullptr) return;
  last.reset();
  all_.wake();
}

std::size_t memory_holder::charge() const noexcept {
  std::size_t sum = counted_.load(seam::relaxed);
  sum -= std::min(sum, kept_.load(seam::relaxed));
  if (shown_ == nullptr) return sum;
  // The session has the text, too.
  const auto readers = static_cast<std::size_t>(std::max<long>(shown_.use_count() / 2, 1));
  return sum + shown_->size() / readers + 1;
}

void memory_holder::end_wait(wait_state how) noexcept {
  if (wait_ != wait_state::waits) return;
  wait_ = how;
  if (all_.large_waiter_ == &*place_) all_.large_waiter_ = nullptr;
  all_.waiters_.erase(place_);
  --all_.waiting_;
  static_cast<void>(told_.try_send('\0'));
}

}  // namespace foliot::program
