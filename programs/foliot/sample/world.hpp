// What the clients of the sample share: the clock, the timers, the dice, the site, and the log that
// their requests are written to.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/random.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/service/timer_service.hpp>

#include "access_line.hpp"
#include "identity.hpp"
#include "site.hpp"
#include "traffic.hpp"

namespace foliot::program {

class world {
 public:
  world(const traffic_options& options, line_sink sink);

  [[nodiscard]] random_stream& random() noexcept { return random_; }
  [[nodiscard]] timer_service& timers() noexcept { return timers_; }
  [[nodiscard]] const site& pages() const noexcept { return pages_; }

  /// The client asks now. Its line is written now, or if the request is a slow one, later.
  void serve(const identity& who, const served_request& request);

  /// True as often as the present hour is busy; always in the busiest one.
  [[nodiscard]] bool busy_enough() noexcept;
  /// How often that is over the whole day.
  [[nodiscard]] static unsigned mean_busy_permille() noexcept;

  /// Moves time on until all lines are written. Throws what the sink threw.
  void run();

 private:
  void write(std::string_view line);

  const traffic_options options_;
  line_sink sink_;
  random_stream random_;
  virtual_clock clock_;
  std::exception_ptr failure_;
  timer_service timers_;
  site pages_;
  access_line_writer lines_;
  std::string line_;
  std::uint64_t written_ = 0;
};

}  // namespace foliot::program
