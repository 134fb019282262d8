// Decides which connections may come in: up to a bound on their number, and where that is asked for up to one for each
// address, and for each access token that clients of beanstalk have shown. A request over HTTP shows its token anew,
// so its connection counts for none.
//
//   access::place mine = door.enter(peer_address);
//   if (!mine) …                                          // refused: door.why_refused(mine.refused_by(), …) says why
//   …
//   keyed_places::place as_holder = door.enter_as(rights.id());
//
// Listeners may share one access: the bounds hold for all of them together. What counts as one address: see
// client_source.hpp. Clients of local sockets have no address, and so no bound by it.
//
// Thread safety: any task. enter() is O(1) without a bound by address, else O(log of the addresses).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/net/address.hpp>

#include "keyed_places.hpp"

namespace foliot::program {

/// How many connections may be in at once.
struct access_limits {
  std::size_t all = 0;
  std::size_t of_address = 0;  ///< from one address; 0: there is no such limit
  std::size_t of_token = 0;    ///< by one access token; 0: there is no such limit
};

/// What a connection was refused by.
enum class access_limit : std::uint8_t { none, all, of_address, of_token };

/// How many connections were refused, since the start.
struct access_refusals {
  std::uint64_t by_all = 0;
  std::uint64_t by_address = 0;
  std::uint64_t by_token = 0;
};

class access {
 public:
  explicit access(access_limits most) noexcept : most_(most), of_address_(most.of_address), of_token_(most.of_token) {}
  /// Lets in at most this many connections at once.
  explicit access(std::size_t most) noexcept : access(access_limits{most, 0, 0}) {}
  access(const access&) = delete;
  access& operator=(const access&) = delete;

  /// A connection among those that are in, until it is destroyed; or none.
  class place {
   public:
    place() noexcept = default;
    place(place&& other) noexcept
        : in_(std::exchange(other.in_, nullptr)),
          of_address_(std::move(other.of_address_)),
          refused_by_(other.refused_by_) {}
    place& operator=(place&&) = delete;
    ~place() {
      if (in_ != nullptr) in_->count_.fetch_sub(1, seam::relaxed);
    }

    [[nodiscard]] explicit operator bool() const noexcept { return in_ != nullptr; }
    [[nodiscard]] access_limit refused_by() const noexcept { return refused_by_; }

   private:
    friend class access;
    explicit place(access_limit why) noexcept : refused_by_(why) {}
    place(access& in, keyed_places::place of_address) noexcept : in_(&in), of_address_(std::move(of_address)) {}

    access* in_ = nullptr;
    keyed_places::place of_address_;
    access_limit refused_by_ = access_limit::none;
  };

  /// A place for one more connection, from there; none if it must be refused. Throws std::bad_alloc.
  [[nodiscard]] place enter(const runtime::address& from = {});
  /// A place for one that is in, and has shown the access token or the certificate with this id; none if it must be
  /// refused. Throws std::bad_alloc.
  [[nodiscard]] keyed_places::place enter_as(std::string_view id);
  /// A place for a request that a named proxy has passed on, as for a connection from that source; none if it must be
  /// refused. Throws std::bad_alloc.
  [[nodiscard]] keyed_places::place enter_behind_proxy(std::string_view source);
  /// Why a connection from there was refused, for the log; `id` is that of its access token.
  [[nodiscard]] std::string why_refused(access_limit by, const runtime::address& from = {},
                                        std::string_view id = {}) const;
  [[nodiscard]] access_refusals refusals() const noexcept;
  [[nodiscard]] const access_limits& limits() const noexcept { return most_; }
  /// How many are in, and how many have come in since the start.
  [[nodiscard]] std::size_t count() const noexcept { return count_.load(seam::relaxed); }
  [[nodiscard]] std::uint64_t come() const noexcept { return come_.load(seam::relaxed); }

 private:
  const access_limits most_;
  keyed_places of_address_;
  keyed_places of_token_;
  seam::atomic<std::size_t> count_{0};  // of the places; orders nothing
  // Order nothing.
  seam::atomic<std::uint64_t> come_{0};
  seam::atomic<std::uint64_t> refused_by_all_{0};
  seam::atomic<std::uint64_t> refused_by_address_{0};
  seam::atomic<std::uint64_t> refused_by_token_{0};
};

}  // namespace foliot::program
