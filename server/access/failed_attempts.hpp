// How often clients of an address may fail to prove who they are: a bounded number of times in a minute. Until the
// minute is over, further failures from there get no answer that costs anything, and no line in the log.
//
// A client that shows the right thing comes in all the same: a secret of 256 random bits cannot be guessed, a look at
// it costs a digest, and behind a proxy, or on one machine, others would pay for a worker that has an old token.
//
//   if (given == nullptr) {
//     switch (attempts.note_failure(peer.peer_address()).deserves) …
//
// The clients of an IPv4 address count together, and so do those of an IPv6 network of 64 bits; all clients of local
// sockets are one. At most `most_addresses` are remembered; then the one that has failed first is forgotten.
//
// Thread safety: any task. O(log of the addresses).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>

#include <foliot/core/annotations.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/net/address.hpp>

namespace foliot::program {

class failed_attempts {
 public:
  static constexpr std::size_t most_failures = 10;
  static constexpr duration window = duration::nanoseconds(60'000'000'000);
  static constexpr std::size_t most_addresses = 10'000;

  /// What a failure deserves.
  enum class verdict : std::uint8_t {
    told,     ///< an answer
    last,     ///< the same; it is the last one that gets an answer
    ignored,  ///< nothing: there were too many
  };
  struct noted {
    verdict deserves;
    duration left;  ///< of the minute, after which failures from there are answered again
  };

  explicit failed_attempts(const clock& time = monotonic_clock::instance()) noexcept : time_(time) {}
  failed_attempts(const failed_attempts&) = delete;
  failed_attempts& operator=(const failed_attempts&) = delete;

  /// A client from there has failed. Throws std::bad_alloc.
  [[nodiscard]] noted note_failure(const runtime::address& from);

 private:
  struct failures {
    std::string from;
    instant first;
    std::size_t count = 0;
  };
  using in_order = std::list<failures>;  // of their first failures

  const clock& time_;
  mutex lock_{lock_rank::object};
  in_order all_ FOLIOT_GUARDED_BY(lock_);
  std::map<std::string, in_order::iterator, std::less<>> by_address_ FOLIOT_GUARDED_BY(lock_);
};

}  // namespace foliot::program
