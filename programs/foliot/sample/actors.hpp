// The clients of the sample, each a small machine with one timer: when that fires, the client asks for
// something and says when it will ask again.
//
// Thread safety: one thread. Lifetime: an actor must not outlive its world, and dies where it is.
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

  /// Asks for what it wants now. Returns how long it will be until it wants something again.
  virtual duration act() = 0;

  void ask(const served_request& request) { home_.serve(who_, request); }

  world& home_;

 private:
  const identity who_;
  timer next_;
};

/// A person with a browser: visits of a few pages, and between them a long absence. Arrives as the
/// curve of the day has it.
class visitor final : public actor {
 public:
  /// On average, the requests of ten visits, and the time from the first to the last of one.
  static constexpr unsigned requests_in_ten_visits = 195;
  static constexpr duration mean_visit = duration(std::chrono::seconds(250));

  /// `absence`: on average, between two visits, at the busiest hour.
  visitor(world& home, identity who, duration absence);

 private:
  duration act() override;
  void arrive() noexcept;
  void open_page();
  void open_chosen_page(std::string_view referer);
  void fetch_part();
  [[nodiscard]] duration time_until_next() noexcept;

  const duration absence_;
  std::uint16_t page_ = 0;  // the rank of the page that it looked at last
  std::uint16_t pages_left_ = 0;
  std::uint8_t part_ = 0;  // of the page's parts, the next one: first site::shared(), then its images
  std::uint8_t parts_end_ = 0;
  bool visiting_ = false;
  bool first_page_ = false;    // of this visit
  bool needs_shared_ = false;  // has not opened a page of the site in this visit
  bool been_here_ = false;     // ever
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

/// A program that asks for the same thing at a fixed beat: a monitor each minute, a feed reader each
/// half hour.
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
