// The registration of a node with its database, as the node knows it: its number there, the numbers of its batches, and
// its heartbeats.
//
// The database gives the number when the node announces itself. It ends the registration, and the node's reservations
// with it, if the node is silent for its timeout. Then the node announces itself again, and says which number it had.
// Batches are numbered within a registration: by its number a batch whose commit was not answered is looked up. With a
// heartbeat the database forgets the numbers that nobody will ask for.
//
// No connection, no clock. One thread at a time.
#pragma once

#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::jobs::detail {

class node_registration {
 public:
  /// Whether the node is announced.
  [[nodiscard]] bool is_there() const noexcept { return number_ != 0; }
  /// Its number in the database; 0: the node is not announced.
  [[nodiscard]] std::int64_t number() const noexcept { return number_; }
  /// The number of the present registration, or of the last one; 0: there was none.
  [[nodiscard]] std::int64_t last_number() const noexcept { return last_number_; }
  /// The database has given this number.
  void begin(std::int64_t number) noexcept {
    number_ = number;
    last_number_ = number;
    batches_ = 0;
    forgotten_below_ = 0;
  }
  /// The database has ended it.
  void end() noexcept { number_ = 0; }

  /// The number of the next batch.
  [[nodiscard]] std::int64_t next_batch() noexcept { return ++batches_; }

  /// The numbers of batches below this one are forgotten.
  [[nodiscard]] std::int64_t forgotten_below() const noexcept { return forgotten_below_; }
  /// When the next heartbeat is due; never(): none has been planned.
  [[nodiscard]] instant next_heartbeat() const noexcept { return next_heartbeat_; }
  /// Heartbeats begin now, unless they have begun.
  void begin_heartbeats(instant now) noexcept {
    if (next_heartbeat_.is_never()) next_heartbeat_ = now;
  }
  /// A batch with a heartbeat was committed: the next one is due at `next`.
  void note_heartbeat(std::int64_t forgotten_below, instant next) noexcept {
    forgotten_below_ = forgotten_below;
    next_heartbeat_ = next;
  }

 private:
  std::int64_t number_ = 0;
  std::int64_t last_number_ = 0;
  std::int64_t batches_ = 0;
  std::int64_t forgotten_below_ = 0;
  instant next_heartbeat_ = instant::never();
};

}  // namespace foliot::jobs::detail
