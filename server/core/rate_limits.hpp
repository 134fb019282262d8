// How many requests may come in a second: by each address, and by each access token. A token bucket for each key: it
// holds up to `burst` requests, and gets one more `each_second` times in a second.
//
//   rate_limits of_address({.each_second = 100, .burst = 200});
//   const duration wait = of_address.take(source, runtime::now());
//   if (wait > duration::zero()) …                        // refuse, and say when: then the next one is there
//
// A request over HTTP is refused, and takes nothing from the bucket then. A client of beanstalk cannot be told to come
// later, so its next command waits: take_ahead() takes a request that is not there yet, in the order of the calls. It
// does not look further ahead than `longest_turn`: clients that give up and come again would take turn behind turn, and
// those that wait would not be served. A client must wait for longer than that.
//
// Memory: a key whose bucket is full again is forgotten, since nothing is lost by that. At most `most_keys` are
// remembered; then the one that has come longest ago is forgotten, and begins anew with a full bucket. So a client with
// millions of addresses takes a bounded memory. It gets a burst for each of them, as it does anyway.
//
// Thread safety: any task. O(log of the keys). A bucket is one instant, when it will be full (the generic cell rate
// algorithm, ITU-T I.371).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::program {

/// How many requests may come.
struct request_rate {
  /// The largest values.
  static constexpr std::uint64_t most = 1'000'000;

  std::uint64_t each_second = 0;  ///< 0: there is no limit
  std::uint64_t burst = 0;        ///< at once, after a silence; 0: as many as in a second
};

class rate_limits {
 public:
  static constexpr std::size_t most_keys = 100'000;
  static constexpr duration longest_turn = duration::nanoseconds(5'000'000'000);

  /// Precondition: no value exceeds request_rate::most.
  explicit rate_limits(request_rate most) noexcept;
  rate_limits(const rate_limits&) = delete;
  rate_limits& operator=(const rate_limits&) = delete;

  [[nodiscard]] bool has_limit() const noexcept { return interval_ > duration::zero(); }
  [[nodiscard]] std::uint64_t each_second() const noexcept { return each_second_; }
  /// Takes a request of the key. Zero: it may be executed. Else nothing was taken, and a request is there after so
  /// long. Throws std::bad_alloc.
  [[nodiscard]] duration take(std::string_view key, instant now);
  /// Takes a request that may not be there yet. Returns how long it has to wait; if that is longer than
  /// `longest_turn`, nothing was taken. Throws std::bad_alloc.
  [[nodiscard]] duration take_ahead(std::string_view key, instant now);

  /// How many requests were refused or had to wait, since the start.
  [[nodiscard]] std::uint64_t held_back() const noexcept { return held_back_.load(seam::relaxed); }
  /// How many keys are remembered.
  [[nodiscard]] std::size_t keys() const;

 private:
  struct bucket;
  using buckets = std::map<std::string, bucket, std::less<>>;
  struct bucket {
    instant full_at;
    std::list<buckets::iterator>::iterator place;  // in by_use_
  };

  duration take_one(std::string_view key, instant now, bool ahead);
  /// The bucket of the key, as the one that was used last.
  bucket& find(std::string_view key, instant now) FOLIOT_REQUIRES(lock_);
  void forget_oldest() noexcept FOLIOT_REQUIRES(lock_);

  const std::uint64_t each_second_;
  const duration interval_;                   // in which a bucket gets one request; zero: there is no limit
  const duration tolerance_;                  // a request is there if the bucket is full within this time
  seam::atomic<std::uint64_t> held_back_{0};  // orders nothing
  mutable mutex lock_{lock_rank::object};
  buckets all_ FOLIOT_GUARDED_BY(lock_);
  std::list<buckets::iterator> by_use_ FOLIOT_GUARDED_BY(lock_);  // the one that was used longest ago first
};

/// The rates of all clients, by both keys. An empty key has no limit.
struct request_rates {
  request_rates(request_rate for_address, request_rate for_token) : of_address(for_address), of_token(for_token) {}

  [[nodiscard]] bool have_limit() const noexcept { return of_address.has_limit() || of_token.has_limit(); }
  /// Takes a request by both keys that may not be there yet. Returns how long it has to wait; if that is longer than
  /// rate_limits::longest_turn, there is no turn for it.
  [[nodiscard]] duration take_ahead(std::string_view address, std::string_view token, instant now);

  rate_limits of_address;
  rate_limits of_token;
};

}  // namespace foliot::program
