// The memory in which connections keep bytes until they are sent or executed: one bound for the whole server.
//
// What counts: replies that are not written, half bodies, puts that are not answered, bytes that wait behind a reserve,
// and the bodies that a command is about to get. Each connection may have `allowance` besides, which is not counted.
// Text that several connections send (shared_text) counts once.
//
//   memory_holder memory(all, peer);                     // one for each connection
//   if (!memory.take(bytes)) {                           // there is no room at once
//     const room got = co_await memory.wait(bytes);
//     if (got != room::taken) …                          // the client has gone, or the connection is closed
//   }
//   …                                                    // use the memory
//   memory.holds(what_it_is_now);                        // the rest is given back
//
// Room is given first to the connections that hold least, and among equal ones in the order in which they began to
// wait; so a connection that holds nothing and wants much is not overtaken for ever. Nor is one that holds something:
// after `longest_overtaking` no later connection gets room before it. A connection that holds more than half of the
// bound may get room before all others, because they wait for its memory. There is room for bytes if all that is held
// stays within the bound; or if the others hold at most half of the bound, so that a single reply that is larger than
// the bound gets through; or, while one connection holds more than half of the bound, if all others hold at most half
// of it. So at most half of the bound and what one connection needs is held, where that is more.
//
// While connections wait, the server looks four times a second whether it must close some. For all that have waited
// longer than `patience` it closes stalled connections: those with a client that makes no progress, the largest first.
// If their memory is not enough for the first waiter, it also closes connections that wait themselves, in two cases: if
// the connections with progress hold less than the first waiter needs; or if that has waited longer than
// `longest_overtaking`, and they hold at most half of the bound. It does so for as many further waiters as there were
// stalled connections, since the connections that get the room probably stall as well. A connection that waits for the
// store is not closed.
//
// Memory that a connection keeps until its end, such as its watched tubes, counts as well, but is no reason to close
// the connection. Instead keep() limits it, for all connections together.
//
// Thread safety: any task; a memory_holder belongs to one task. The lock is taken only to wait, to wake, and at the
// beginning and the end of a connection. Complexity: take(), keep() and holds() are O(1); a wait begins in O(those that
// it overtakes); a look for connections to close is O(n log n), at most four times a second.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/task.hpp>

#include "byte_stream.hpp"

namespace foliot::program {

class memory_holder;
class held_memory;

/// How a wait for room has ended.
enum class room : std::uint8_t {
  taken,    ///< the bytes count as held by the connection
  left,     ///< the client has closed its side
  stopped,  ///< stop_waiting() was called
  closed,   ///< the connection is closed, because it held too much
};

/// A piece of a text that several connections send. Counts while it lives.
class counted_text {
 public:
  counted_text(held_memory& in, std::string text) noexcept;
  counted_text(const counted_text&) = delete;
  counted_text& operator=(const counted_text&) = delete;
  ~counted_text();

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  held_memory& in_;
  const std::string text_;
};
using shared_piece = std::shared_ptr<const counted_text>;

/// A text that does not change, in pieces that other texts may share.
class shared_text {
 public:
  /// `entries`: what the text is a list of, for its readers.
  shared_text(held_memory& in, std::vector<shared_piece> pieces, std::size_t entries) noexcept;
  shared_text(const shared_text&) = delete;
  shared_text& operator=(const shared_text&) = delete;
  ~shared_text();

  [[nodiscard]] const std::vector<shared_piece>& pieces() const noexcept { return pieces_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t entries() const noexcept { return entries_; }

 private:
  [[nodiscard]] std::size_t own_bytes() const noexcept { return pieces_.capacity() * sizeof(shared_piece); }

  held_memory& in_;
  const std::vector<shared_piece> pieces_;
  std::size_t size_ = 0;
  const std::size_t entries_;
};

class held_memory {
 public:
  /// Bytes of each connection that are not counted.
  static constexpr std::size_t allowance = 8192;
  /// A client makes progress if it sends or takes so many bytes in a patience, and so large a part of what is held for
  /// it.
  static constexpr std::size_t least_progress = 16'384;
  static constexpr std::size_t least_part = 128;
  static constexpr duration patience = duration::nanoseconds(1'000'000'000);
  /// For so long after the beginning of a wait, those that hold less get room before it.
  static constexpr duration longest_overtaking = duration::nanoseconds(5'000'000'000);
  /// Bytes that each connection may keep, whatever the others keep.
  static constexpr std::size_t kept_allowance = 4096;

  /// What was held at the most counts as much from here on, and what is held as little below a quarter of that.
  static constexpr std::size_t much = std::size_t{32} << 20;

  /// `warn` gets a sentence for each time that connections were closed. `has_fallen` is called when little is held
  /// after much was; it must not throw.
  explicit held_memory(std::size_t most, std::function<void(const std::string&)> warn = nullptr,
                       std::function<void()> has_fallen = nullptr)
      : most_(most), warn_(std::move(warn)), has_fallen_(std::move(has_fallen)) {}
  held_memory(const held_memory&) = delete;
  held_memory& operator=(const held_memory&) = delete;

  [[nodiscard]] std::size_t most() const noexcept { return most_; }
  /// All that is counted.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.load(seam::relaxed); }
  /// Whether more is held than room is given for; beside one connection that holds more than half of the bound.
  [[nodiscard]] bool is_full() const noexcept {
    const std::size_t all = bytes();
    const std::size_t large = large_.load(seam::relaxed);
    return large == 0 ? all > most_ : all - std::min(large, all) > most_ / 2;
  }
  /// How many connections wait for room.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.load(seam::relaxed); }
  /// How many connections were closed, since the start.
  [[nodiscard]] std::uint64_t closed() const noexcept { return closed_.load(seam::relaxed); }
  /// Gives the room that there is to connections that wait. Call it after shared text has ended.
  void wake() noexcept;

 private:
  friend class memory_holder;
  friend class counted_text;
  friend class shared_text;
  struct candidate;
  struct candidates;

  /// A connection that waits for room.
  struct waiter {
    memory_holder& who;
    std::size_t own;    // bytes that it holds
    std::size_t bytes;  // bytes that it waits for
    instant since;
  };

  /// Whether there is room for `more` bytes of a connection that holds `own`, while all hold `all`. `large`: as large_.
  [[nodiscard]] bool fits(std::size_t all, std::size_t own, std::size_t more, std::size_t large) const noexcept {
    const std::size_t half = most_ / 2;
    return more <= most_ - std::min(all, most_) || all - std::min(own, all) <= half ||
           (large > 0 && more <= half - std::min(all - std::min(large, all), half));
  }
  /// Ends the waits at the front for which there is room, and that of large_waiter_ if there is.
  void give_room() noexcept FOLIOT_REQUIRES(lock_);
  /// Ends this wait if there is room, and returns whether there was.
  bool give_room_to(const waiter& one) noexcept FOLIOT_REQUIRES(lock_);
  /// Notes which connections have made progress since the last look, once for each patience.
  void look(instant now) noexcept FOLIOT_REQUIRES(lock_);
  /// Closes the connections that choose() names, unless none waits, or the last look was less than a quarter of a
  /// second ago. Returns how many it has closed.
  std::size_t shed(instant now) noexcept FOLIOT_REQUIRES(lock_);
  /// The connections that must be closed so that the waiting ones get room.
  [[nodiscard]] std::vector<memory_holder*> choose(instant now) const FOLIOT_REQUIRES(lock_);
  [[nodiscard]] candidates all_candidates(instant now) const FOLIOT_REQUIRES(lock_);
  void close(memory_holder& one) noexcept FOLIOT_REQUIRES(lock_);
  /// `one`, a memory_holder or a shared_text, holds `size` bytes. Notes it as the largest if that is more than half of
  /// the bound, and none is noted. Call it after bytes_ has grown, and before it shrinks.
  void note_size(const void* one, std::size_t size) noexcept;
  /// The bytes that are held, and the allowances of all connections.
  [[nodiscard]] std::size_t weight() const noexcept { return bytes() + connections_.load(seam::relaxed) * allowance; }
  void note_rise() noexcept {
    const std::size_t now = weight();
    if (now > highest_.load(seam::relaxed)) highest_.store(now, seam::relaxed);
  }
  void note_fall() noexcept;

  const std::size_t most_;
  const std::function<void(const std::string&)> warn_;
  const std::function<void()> has_fallen_;
  // Sequentially consistent together with waiting_. A connection that begins to wait is counted before it reads the
  // bytes; a connection that gives back bytes reads the count afterwards. So one of the two sees the other.
  seam::atomic<std::size_t> bytes_{0};
  seam::atomic<std::size_t> waiting_{0};
  seam::atomic<std::uint64_t> closed_{0};
  // The holder or text with more than half of the bound, and its bytes; null and 0: there is none. Sequentially
  // consistent: large_ is set after bytes_ has grown and cleared before it shrinks, and bytes_ is read before it.
  seam::atomic<const void*> largest_{nullptr};
  seam::atomic<std::size_t> large_{0};
  seam::atomic<std::size_t> kept_{0};  // kept by all connections beyond kept_allowance; part of bytes_. Orders nothing.
  // These order nothing. A rise of highest_ that is lost only means that has_fallen_ is not called for it.
  seam::atomic<std::size_t> connections_{0};
  seam::atomic<std::size_t> highest_{0};  // weight since the last call
  // Of a rank before that of objects: while it is held, connections are closed and waits are ended, which lock objects.
  mutable mutex lock_{lock_rank::context};
  std::unordered_set<memory_holder*> holders_ FOLIOT_GUARDED_BY(lock_);
  // First those that have waited longer than longest_overtaking; then by the bytes that they hold, then by their
  // arrival.
  std::list<waiter> waiters_ FOLIOT_GUARDED_BY(lock_);
  // The waiter that holds more than half of the bound; null: none does.
  const waiter* large_waiter_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  instant last_look_ FOLIOT_GUARDED_BY(lock_) = instant::earliest();
  instant last_shed_ FOLIOT_GUARDED_BY(lock_) = instant::earliest();  // the last call that looked at all connections
};

/// The memory of one connection, which its task takes and gives back.
class memory_holder {
 public:
  /// `peer`, which is closed to make room, must outlive this object.
  memory_holder(held_memory& all, byte_stream& peer);
  memory_holder(const memory_holder&) = delete;
  memory_holder& operator=(const memory_holder&) = delete;
  ~memory_holder();

  /// Counts `more` bytes as held, if there is room at once and no connection waits.
  [[nodiscard]] bool take(std::size_t more) noexcept;
  /// Waits for room. The client may close its side meanwhile.
  [[nodiscard]] task<room> wait(std::size_t more);
  /// Ends a wait of this connection, and every wait that begins before allow_waiting(). Any task.
  void stop_waiting() noexcept;
  void allow_waiting() noexcept { must_not_wait_ = false; }
  /// Sets what the connection holds from now on, besides what it keeps.
  void holds(std::size_t bytes) noexcept {
    actual_ = bytes;
    // Also for the same number: a wait that the client has left may have been given room meanwhile.
    count(counted(bytes + kept_.load(seam::relaxed)));
  }
  /// Sets what the connection keeps from now on; it counts from the next holds() on. Returns false, and changes
  /// nothing, if the connections would keep more than a quarter of the bound, besides kept_allowance of each.
  [[nodiscard]] bool keep(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t held() const noexcept { return actual_; }

  /// The client has sent or taken this many bytes: it makes progress.
  void moved(std::size_t bytes) noexcept {
    moved_.store(moved_.load(seam::relaxed) + bytes, seam::relaxed);  // one writer; it orders nothing
  }
  /// Whether the connection waits for its client, and not for the store.
  void waits_for_client(bool does) noexcept { waits_for_client_.store(does, seam::relaxed); }  // it orders nothing
  /// The text that the connection sends, until hide().
  void show(std::shared_ptr<const shared_text> text);
  void hide() noexcept;
  /// Whether the connection was closed because it held too much: its stream is closed.
  [[nodiscard]] bool is_closed() const noexcept { return closed_.load(seam::relaxed); }  // the close orders it

 private:
  friend class held_memory;
  enum class wait_state : std::uint8_t { none, waits, taken, closed, stopped };

  /// The bytes that count: rounded up to steps, so that few changes touch the counters that all connections share.
  [[nodiscard]] static std::size_t counted(std::size_t bytes) noexcept {
    constexpr std::size_t step = 4096;
    return bytes <= held_memory::allowance ? 0 : (bytes - held_memory::allowance + step - 1) / step * step;
  }
  void count(std::size_t now) noexcept;
  [[nodiscard]] static std::size_t beyond_allowance(std::size_t kept) noexcept {
    return kept - std::min(kept, held_memory::kept_allowance);
  }
  /// What would be freed if the connection were closed, without what it keeps. Of shared text it is its readers' equal
  /// part.
  [[nodiscard]] std::size_t charge() const noexcept FOLIOT_REQUIRES(all_.lock_);
  [[nodiscard]] bool has_moved(std::size_t charged) const noexcept FOLIOT_REQUIRES(all_.lock_) {
    const std::size_t least = std::max(held_memory::least_progress, charged / held_memory::least_part);
    return moved_.load(seam::relaxed) - moved_before_ >= least;
  }
  /// Ends a wait, if there is one.
  void end_wait(wait_state how) noexcept FOLIOT_REQUIRES(all_.lock_);

  held_memory& all_;
  byte_stream& peer_;
  std::size_t actual_ = 0;
  // Written by the connection's task, or, while that waits for room, by the thread that gives the room, under the lock.
  seam::atomic<std::size_t> counted_{0};
  seam::atomic<std::size_t> kept_{0};  // written by the connection's task; orders nothing
  seam::atomic<std::size_t> moved_{0};
  seam::atomic<bool> waits_for_client_{true};
  seam::atomic<bool> closed_{false};
  // Sequentially consistent: a wait is counted before it looks here, and stop_waiting() looks for waits after it.
  seam::atomic<bool> must_not_wait_{false};
  runtime::channel<char> told_;  // gets a value when the wait has ended
  wait_state wait_ FOLIOT_GUARDED_BY(all_.lock_) = wait_state::none;
  std::list<held_memory::waiter>::iterator place_ FOLIOT_GUARDED_BY(all_.lock_);  // while it waits
  std::shared_ptr<const shared_text> shown_ FOLIOT_GUARDED_BY(all_.lock_);
  // For look(), which notes the progress of the connection.
  std::size_t moved_before_ FOLIOT_GUARDED_BY(all_.lock_) = 0;
  bool was_charged_ FOLIOT_GUARDED_BY(all_.lock_) = false;
  bool is_stalled_ FOLIOT_GUARDED_BY(all_.lock_) = false;
};

}  // namespace foliot::program
