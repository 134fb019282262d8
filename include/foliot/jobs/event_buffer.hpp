// What happens to the jobs of a program, for readers that look on: a bounded buffer of events that brokers fill, and
// readers with places in it.
//
//   jobs::event_buffer events;
//   jobs::broker broker(store, {}, &events);
//   …
//   jobs::event_reader reader(events, [](std::string_view tube) { return tube == "mail"; });
//   for (;;) {
//     const jobs::event_reader::taken got = reader.take(100);
//     if (got.missed > 0) …                               // so many events of its tubes were left out
//     for (const jobs::event_record& each : got.events) …
//     if (got.events.empty()) co_await reader.more();
//   }
//
// Best effort. An event tells what a batch of one of the brokers has done: what other nodes do is not told, nor what a
// batch has done whose outcome is in doubt. A reader that is slow loses the oldest events that it has not taken, and
// learns how many. What is told is true, but may be out of date when it is read.
//
// A reader that comes again within `lingering` goes on where it was, if the buffer still has the next event. Without a
// reader for so long nothing is kept, and the brokers spend nothing on it: a relaxed load for each batch.
//
// Invariants: the numbers of the events in the buffer have no gaps; no reader's next number is below the first one.
//
// Thread safety: any thread of the runtime; a reader is used by one task at a time. The lock is held for a copy of the
// events that come or are taken. Memory: most_events and most_bytes, and nothing for a reader. Complexity: an event
// costs O(readers); take() looks at no more than most_looked_at events.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/runtime/channel.hpp>

namespace foliot::jobs {

/// Something that has happened to a job, or to jobs of a tube.
struct event_record {
  /// What has happened.
  enum class kind : std::uint8_t {
    put,       ///< a job is there
    due,       ///< jobs of the tube have become ready, or its pause has ended: which ones is not known
    reserved,  ///< a worker has the job
    ended,     ///< the job is there no more
  };
  /// Why a job has ended.
  enum class reason : std::uint8_t {
    none,
    finished,   ///< by its worker
    cancelled,  ///< by a client, while no worker had it
    replaced,   ///< by a job with its key: its id is not known
    cleared,    ///< with others of its tube: `count` of them
  };

  kind what = kind::put;
  reason why = reason::none;
  job_id id = 0;            ///< 0: not known, or of several
  std::uint64_t count = 1;  ///< of the jobs; of `due` not known, and 1
  std::string tube;
  std::string key = {};  ///< empty: it has none, or it is not known
  utc_time at{};         ///< when the batch was over in which it happened

  friend bool operator==(const event_record&, const event_record&) = default;
};

/// A place among the events: behind the one with this number.
struct event_place {
  std::uint64_t series = 0;  ///< another one: the events since then were not kept, or are of another program
  std::uint64_t number = 0;

  friend bool operator==(const event_place&, const event_place&) noexcept = default;
};

class event_reader;

/// Neither copied nor moved. Must outlive its readers and the brokers that have it.
class FOLIOT_EXPORT event_buffer {
 public:
  /// Events in the buffer, at the most, and the bytes of their names.
  static constexpr std::size_t most_events = 4096;
  static constexpr std::size_t most_bytes = std::size_t{1} << 20;
  /// Events that one take() looks at, at the most.
  static constexpr std::size_t most_looked_at = 512;
  /// For so long after the last reader has gone events are kept for one that comes again.
  static constexpr duration lingering = duration::nanoseconds(60'000'000'000);

  /// An empty one, without a reader.
  event_buffer();
  ~event_buffer();
  event_buffer(const event_buffer&) = delete;
  event_buffer& operator=(const event_buffer&) = delete;

  /// Whether anybody wants to know.
  [[nodiscard]] bool is_wanted() const noexcept { return wanted_.load(seam::relaxed); }
  /// Adds events, which are moved from. Those for which there is no memory count as left out.
  void add(std::span<event_record> some) noexcept;
  /// So many events are not told, because what they are about is not known.
  void leave_out(std::uint64_t count) noexcept;
  /// How many readers there are.
  [[nodiscard]] std::size_t readers() const noexcept;

 private:
  friend class event_reader;

  void enter(event_reader& one, const std::optional<event_place>& after);
  void leave(event_reader& one) noexcept;
  /// Forgets the events if nobody has come for them in time. Returns whether that is so.
  bool forget_if_unread(instant now) noexcept FOLIOT_REQUIRES(lock_);
  /// Drops the oldest event. Readers that have not taken it have missed it.
  void drop_first() noexcept FOLIOT_REQUIRES(lock_);
  void note_missed(std::uint64_t count) noexcept FOLIOT_REQUIRES(lock_);
  /// The number of the first event that is kept, or of the next one if none is.
  [[nodiscard]] std::uint64_t first() const noexcept FOLIOT_REQUIRES(lock_) { return last_ + 1 - kept_.size(); }

  /// Written under the lock. Relaxed, since it publishes nothing: a batch that has begun before a reader came may be
  /// told or not.
  seam::atomic<bool> wanted_{false};
  mutable mutex lock_{lock_rank::context};  // held while readers are woken
  std::deque<event_record> kept_ FOLIOT_GUARDED_BY(lock_);
  std::size_t bytes_ FOLIOT_GUARDED_BY(lock_) = 0;     // of the names in kept_
  std::uint64_t series_ FOLIOT_GUARDED_BY(lock_) = 0;  // 0: nothing is kept
  std::uint64_t last_ FOLIOT_GUARDED_BY(lock_) = 0;    // the number of the last event
  instant unread_since_ FOLIOT_GUARDED_BY(lock_) = instant::never();
  std::vector<event_reader*> readers_ FOLIOT_GUARDED_BY(lock_);
};

/// Neither copied nor moved.
class FOLIOT_EXPORT event_reader {
 public:
  /// How many events a reader has missed.
  enum class missing : std::uint8_t {
    exactly,  ///< `missed`; 0: none
    at_most,  ///< `missed`: some of them may be of tubes that it does not see
    unknown,  ///< some, or none
  };
  /// What take() has brought.
  struct taken {
    std::vector<event_record> events;  ///< in their order
    std::vector<std::uint64_t> numbers;
    missing how_many = missing::exactly;
    std::uint64_t missed = 0;  ///< before these events
    event_place place;         ///< behind them, and behind all that the reader does not see
  };

  /// Sees the events of the tubes for which `sees` is true, from now on, or from behind this place on. `sees` is called
  /// by any thread, under a lock: it must neither wait nor throw. Throws std::bad_alloc, and std::system_error where
  /// the system has no random numbers.
  event_reader(event_buffer& of, std::function<bool(std::string_view)> sees,
               const std::optional<event_place>& after = std::nullopt);
  ~event_reader();
  event_reader(const event_reader&) = delete;
  event_reader& operator=(const event_reader&) = delete;

  /// The next events, up to `most`; none if there are none at present. Throws std::bad_alloc, and then some are lost.
  [[nodiscard]] taken take(std::size_t most);
  /// Await the result, or make it a case of a select: there may be more to take.
  [[nodiscard]] auto more() const noexcept { return told_.receive(); }

 private:
  friend class event_buffer;

  event_buffer& buffer_;
  const std::function<bool(std::string_view)> sees_;
  runtime::channel<char> told_{1};
  // Under the lock of event_buffer.
  std::uint64_t next_ = 0;  // the number of the first event that it has not looked at
  missing how_many_ = missing::exactly;
  std::uint64_t missed_ = 0;  // since the last take()
};

}  // namespace foliot::jobs
