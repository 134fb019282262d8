// A hash table of the sessions that are alive, by their client.
//
// Open addressing with linear probing: a slot holds the hash of the client and a pointer, so that a look-up among a
// million sessions costs two cache misses, one for the slot and one for the session. At most half of the slots are
// used; the table grows with the number of sessions, and does not shrink.
//
// Thread safety: none, one thread. find, add and take are O(1) with hashes that an attacker cannot make collide: those
// of keyed_hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/service/timer.hpp>

namespace foliot::program {

struct live_session {
  std::string client;
  std::uint64_t hash = 0;  ///< of the client
  instant start;
  instant last_request;
  std::uint64_t requests = 0;
  timer idle;                     ///< used by the engines that are services
  runtime::callback_timer wakes;  ///< used by the engines that are runtimes
};

class session_table {
 public:
  session_table() : slots_(first_size) {}
  ~session_table();
  session_table(const session_table&) = delete;
  session_table& operator=(const session_table&) = delete;

  /// The client's session, or null. `hash` must be that of `client`, by the same hash function in all calls.
  [[nodiscard]] live_session* find(std::string_view client, std::uint64_t hash) const noexcept {
    std::size_t index = home_of(hash);
    for (; slots_[index].session != nullptr; index = after(index)) {
      if (slots_[index].hash == hash && slots_[index].session->client == client) break;
    }
    return slots_[index].session;
  }

  /// Precondition: the client has no session in the table. Throws std::bad_alloc with nothing changed.
  live_session& add(std::unique_ptr<live_session> session);
  /// Removes the session. Precondition: it is in the table.
  std::unique_ptr<live_session> take(const live_session& session) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct slot {
    std::uint64_t hash = 0;
    live_session* session = nullptr;  // owned; null if the slot is free
  };
  static constexpr std::size_t first_size = 1024;

  [[nodiscard]] std::size_t home_of(std::uint64_t hash) const noexcept { return hash & (slots_.size() - 1); }
  [[nodiscard]] std::size_t after(std::size_t index) const noexcept { return (index + 1) & (slots_.size() - 1); }
  void grow();

  std::vector<slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace foliot::program
