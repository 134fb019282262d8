// Reads `Retry-After`: how long a receiver asks to be left alone (RFC 9110, 10.2.3).
//
//   Retry-After: 120
//   Retry-After: Wed, 21 Oct 2026 07:28:00 GMT         the form that is sent today
//   Retry-After: Wednesday, 21-Oct-26 07:28:00 GMT     RFC 850
//   Retry-After: Wed Oct 21 07:28:00 2026              asctime
//
// Thread safety: a pure function. O(length).
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace foliot::program::webhooks {

/// How long to wait from `now` on, from zero to `longest`; what asks for more gets `longest`, so a receiver that means
/// milliseconds does little harm. Nothing if the text has another form.
[[nodiscard]] std::optional<std::chrono::seconds> parse_retry_after(std::string_view text, std::chrono::sys_seconds now,
                                                                    std::chrono::seconds longest) noexcept;

}  // namespace foliot::program::webhooks
