// The clients of the sample, each a small state machine with one timer: when that fires, the client makes a request and
// decides when it will make the next one.
//
// Thread safety: none, one thread. Lifetime: an actor must not outlive its world, and must not move.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/service/timer.hpp>

#include "identity.hpp"
#include "world.hpp"

namespace foliot::program {

class actor {
 public:
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;
  virtual ~actor() = default;

 protected:
  /// Acts for the first time `first` from now.
  actor(world& home, identity who, duration first);

  /// Makes the request that is due. Returns the time until the next one.
  virtual duration act() = 0;

  void ask(const served_request& request) { home_.serve(who_, request); }

  world& home_;

 private:
  const identity who_;
  timer next_;
};

/// A person with a browser: visits of a few pages, and between them a long absence. Visits begin as often as the curve
/// of the day says.
class visitor final : public actor {
 public:
  /// On average, the requests of ten visits, and the time from the first to the last of one.
  static constexpr unsigned requests_in_ten_visits = 195;
  static constexpr duration mean_visit = duration(std::chrono::seconds(250));

  /// `absence` is the mean time between two visits, at the busiest hour.
  visitor(world& home, identity who, duration absence);

 private:
  duration act() override;
  void arrive() noexcept;
  void open_page();
  void open_chosen_page(std::string_view referer);
  void fetch_part();
  [[nodiscard]] duration time_until_next() noexcept;

  const duration absence_;
  std::uint16_t page_ = 0;  // the rank of the latest page
  std::uint16_t pages_left_ = 0;
  std::uint8_t part_ = 0;  // the next one of the page's parts: first site::shared(), then its images
  std::uint8_t parts_end_ = 0;
  bool visiting_ = false;
  bool first_page_ = false;    // of this visit
  bool needs_shared_ = false;  // no page has been opened in this visit
  bool been_here_ = false;     // in any visit
};

/// A program that reads the whole site, in runs of some hundred pages.
class crawler final : public actor {
 public:
  static constexpr unsigned requests_a_day = 400;

  crawler(world& home, identity who);

 private:
  duration act() override;

  unsigned pages_left_ = 0;
};

/// A program that makes the same request periodically: a monitor each minute, a feed reader each half hour.
class beating_client final : public actor {
 public:
  [[nodiscard]] static constexpr duration beat_of(client_kind kind) noexcept {
    return kind == client_kind::monitor ? std::chrono::minutes(1) : std::chrono::minutes(30);
  }

  beating_client(world& home, identity who);

 private:
  duration act() override;

  const client_kind kind_;
  std::uint32_t beats_ = 0;
};

}  // namespace foliot::program
