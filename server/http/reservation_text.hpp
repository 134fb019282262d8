// Reservation tokens as clients show them: 17-5f3a9c0e11d2b847-2, the job's id, the opening of the store in hexadecimal
// digits, and the attempt.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <foliot/jobs/job.hpp>

namespace foliot::program::http {

[[nodiscard]] std::string text_of(const jobs::reservation& token);
/// Nothing if the text is not exactly that of a token.
[[nodiscard]] std::optional<jobs::reservation> parse_reservation(std::string_view text);

}  // namespace foliot::program::http
