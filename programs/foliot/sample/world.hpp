// What the clients of the sample have in common: the clock, the timers, the random numbers, the site, and the log.
//
// Thread safety: none, one thread.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/random.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/service/timer_service.hpp>

#include "identity.hpp"
#include "sample.hpp"
#include "site.hpp"

namespace foliot::program {

/// A request with its answer.
struct served_request {
  std::string_view method = "GET";
  std::string_view path;
  int status = 200;
  std::uint64_t size = 0;  ///< 0 for no body, which is logged as `-`
  std::string_view referer = "-";
};

/// Writes a request as a server logs it, in Combined Log Format. It keeps the text of the latest second.
class access_line_writer {
 public:
  /// Appends the line of a request by `who`, received at `time`.
  void append(std::string& to, const identity& who, instant time, const served_request& request);

 private:
  std::int64_t second_ = 0;
  std::string second_text_;  // empty until a second has been written
};

class world {
 public:
  world(const traffic_options& options, line_sink sink);

  [[nodiscard]] random_stream& random() noexcept { return random_; }
  [[nodiscard]] timer_service& timers() noexcept { return timers_; }
  [[nodiscard]] const site& pages() const noexcept { return pages_; }

  /// The client makes a request now. Its line is written now, or later if the request is a slow one.
  void serve(const identity& who, const served_request& request);

  /// True with the probability that the present hour has; always in the busiest one.
  [[nodiscard]] bool busy_enough() noexcept;
  /// The mean of that probability over the whole day.
  [[nodiscard]] static unsigned mean_busy_permille() noexcept;

  /// Moves time on until all lines are written. Throws what the sink throws.
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
