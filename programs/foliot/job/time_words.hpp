// Times as people say them: "in 3 min", "2 h ago", "now".
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <string_view>

#include <foliot/jobs/job.hpp>

namespace foliot::program::terminal {

/// How far away `then` is, in one unit, rounded to the nearest: s below 90 s, min below 90 min, h below 36 h, days.
/// Less than a second away is "now".
[[nodiscard]] std::string time_words(jobs::utc_time then, jobs::utc_time now);

/// The time by this machine's clock.
[[nodiscard]] jobs::utc_time local_now() noexcept;

/// Sleeps.
void wait_for(jobs::milliseconds length);

}  // namespace foliot::program::terminal
