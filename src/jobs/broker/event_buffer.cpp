#include <foliot/jobs/event_buffer.hpp>

#include <algorithm>
#include <utility>

#include <foliot/core/seam/random.hpp>
#include <foliot/runtime/run.hpp>

namespace foliot::jobs {

namespace {

std::size_t bytes_of(const event_record& one) noexcept { return one.tube.size() + one.key.size(); }

}  // namespace

event_buffer::event_buffer() = default;
event_buffer::~event_buffer() { FOLIOT_ASSERT(readers() == 0, "the readers of events must go before the events"); }

std::size_t event_buffer::readers() const noexcept {
  const lock held(lock_);
  return readers_.size();
}

void event_buffer::enter(event_reader& one, const std::optional<event_place>& after) {
  const std::uint64_t fresh = std::max<std::uint64_t>(random_stream::entropy(), 1);
  const instant now = runtime::now();
  const lock held(lock_);
  readers_.reserve(readers_.size() + 1);
  static_cast<void>(forget_if_unread(now));
  if (series_ == 0) series_ = fresh;
  one.next_ = last_ + 1;
  if (after && (after->series != series_ || after->number > last_)) {
    one.how_many_ = event_reader::missing::unknown;
  } else if (after) {
    one.next_ = std::max(after->number + 1, first());
    one.missed_ = one.next_ - after->number - 1;
    if (one.missed_ > 0) one.how_many_ = event_reader::missing::at_most;
  }
  readers_.push_back(&one);
  unread_since_ = instant::never();
  wanted_.store(true, seam::relaxed);
}

void event_buffer::leave(event_reader& one) noexcept {
  const instant now = runtime::now();
  const lock held(lock_);
  std::erase(readers_, &one);
  if (readers_.empty()) unread_since_ = now;
}

bool event_buffer::forget_if_unread(instant now) noexcept {
  if (unread_since_ == instant::never() || now - unread_since_ < lingering) return false;
  std::deque<event_record>().swap(kept_);
  bytes_ = 0;
  series_ = last_ = 0;
  unread_since_ = instant::never();
  wanted_.store(false, seam::relaxed);
  return true;
}

void event_buffer::add(std::span<event_record> some) noexcept {
  const instant now = runtime::now();
  const lock held(lock_);
  if (series_ == 0 || forget_if_unread(now)) return;
  for (event_record& each : some) {
    const std::size_t bytes = bytes_of(each);
    while (!kept_.empty() && (kept_.size() >= most_events || bytes_ + bytes > most_bytes)) drop_first();
    try {
      kept_.push_back(std::move(each));
    } catch (...) {
      note_missed(1);
      continue;
    }
    bytes_ += bytes;
    ++last_;
  }
  for (event_reader* const each : readers_) static_cast<void>(each->told_.try_send('m'));
}

void event_buffer::leave_out(std::uint64_t count) noexcept {
  const lock held(lock_);
  note_missed(count);
}

void event_buffer::note_missed(std::uint64_t count) noexcept {
  for (event_reader* const each : readers_) {
    each->missed_ += count;
    if (each->how_many_ == event_reader::missing::exactly) each->how_many_ = event_reader::missing::at_most;
  }
}

void event_buffer::drop_first() noexcept {
  const event_record& oldest = kept_.front();
  const std::uint64_t number = first();
  for (event_reader* const each : readers_) {
    if (each->next_ > number) continue;
    each->next_ = number + 1;
    if (each->sees_(oldest.tube)) ++each->missed_;
  }
  bytes_ -= bytes_of(oldest);
  kept_.pop_front();
}

event_reader::event_reader(event_buffer& of, std::function<bool(std::string_view)> sees,
                           const std::optional<event_place>& after)
    : buffer_(of), sees_(std::move(sees)) {
  buffer_.enter(*this, after);
}

event_reader::~event_reader() { buffer_.leave(*this); }

event_reader::taken event_reader::take(std::size_t most) {
  taken got;
  got.events.reserve(most);
  got.numbers.reserve(most);
  const lock held(buffer_.lock_);
  got.how_many = std::exchange(how_many_, missing::exactly);
  got.missed = std::exchange(missed_, 0);
  std::uint64_t looked_at = 0;
  while (next_ <= buffer_.last_ && got.events.size() < most && looked_at < event_buffer::most_looked_at) {
    const event_record& each = buffer_.kept_[next_ - buffer_.first()];
    if (sees_(each.tube)) {
      got.events.push_back(each);
      got.numbers.push_back(next_);
    }
    ++next_;
    ++looked_at;
  }
  // It may come again at once for the rest.
  if (next_ <= buffer_.last_) static_cast<void>(told_.try_send('m'));
  got.place = event_place{buffer_.series_, next_ - 1};
  return got;
}

}  // namespace foliot::jobs
