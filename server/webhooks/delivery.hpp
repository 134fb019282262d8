// A delivery of one message to one target: what is sent, and what came of it. Values.
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/duration.hpp>

#include "signature.hpp"
#include "target_url.hpp"

namespace foliot::program::webhooks {

/// What is sent, by POST.
struct delivery_request {
  target_url url;
  std::string id;  ///< the same for all attempts; see is_message_id()
  std::string body;
  std::string content_type = "application/octet-stream";
  /// More headers. A name must not begin with `webhook-`, nor be one that the delivery itself sends.
  std::vector<std::pair<std::string, std::string>> headers{};
  /// Signs the message; null only where a test or a benchmark says so.
  std::shared_ptr<const signing_secrets> secrets{};
  /// From the look-up of the name to the headers of the answer.
  duration time_out = duration::nanoseconds(15'000'000'000);
};

/// Returns what is wrong with the id and the headers of a request, and what would be right; nothing if all is well.
[[nodiscard]] std::optional<std::string> fault_of(const delivery_request& request);

/// What came of a delivery.
enum class outcome : std::uint8_t {
  delivered,  ///< a final answer of 2xx
  rejected,   ///< another final answer
  gone,       ///< the answer 410: the target wants no more deliveries
  not_sent,   ///< no byte of the request was sent: the look-up, the connect or TLS failed
  unknown,    ///< bytes were sent, and no final answer came: the receiver may have done the work
  forbidden,  ///< the operator's rules do not allow the target, or the address that its name leads to
};

/// The name, as in metrics.
[[nodiscard]] std::string_view name_of(outcome what) noexcept;

struct delivery_answer {
  outcome what = outcome::unknown;
  int status = 0;      ///< of the final answer; 0 without one
  std::string reason;  ///< a sentence for the operator; empty if it was delivered
  std::string body;    ///< the first bytes of the answer's, as they came
  /// What a 429 or 503 asks for, up to the engine's cap.
  std::optional<std::chrono::seconds> retry_after;
  duration took;        ///< from the start to the end
  std::string address;  ///< of the connection; empty without one
  bool reused = false;  ///< whether the connection was there before
};

}  // namespace foliot::program::webhooks
