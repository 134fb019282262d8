// A client of the HTTP interface of a server, over libcurl: one request at a time, over a connection that is kept.
//
//   api_client server({.server = "localhost:11380"});
//   const api_answer shown = server.ask({.path = "/v1/jobs/17"});
//
// Nothing but the server is spoken to: no proxy that the environment names, and no place to which an answer redirects.
// While a foliot::program::interruptible lives, a signal ends a request: it throws interrupted.
//
// An access token is sent in the clear to this machine alone, unless the user has said `--insecure`.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/jobs/job.hpp>

#include "job/server_address.hpp"
#include "text/failure.hpp"

namespace foliot::program::terminal {

using names_and_values = std::vector<std::pair<std::string, std::string>>;

struct api_request {
  std::string method = "GET";
  std::string path;
  names_and_values query = {};
  names_and_values fields = {};
  std::optional<std::string> body = std::nullopt;
  std::string content_type = {};
  bool waits = false;  ///< the answer may take as long as it likes
};

struct api_answer {
  long status = 0;
  std::string content_type;
  std::string retry_after;
  std::string body;
  jobs::utc_time now;  ///< by the server's clock, cut to seconds; by this machine's if the server has not said

  [[nodiscard]] bool is_success() const noexcept { return status >= 200 && status < 300; }
};

/// There was no answer, and there may be one later.
class no_answer : public failure {
 public:
  using failure::failure;
};

class api_client {
 public:
  /// Connects to nothing yet. Throws failure if the options cannot be used.
  explicit api_client(const access_options& options);
  ~api_client();
  api_client(const api_client&) = delete;
  api_client& operator=(const api_client&) = delete;

  /// The answer, whatever its status. Throws failure if there is none, with what the user can do: no_answer where it
  /// may be of use to try again.
  [[nodiscard]] api_answer ask(const api_request& what);
  /// The same for an answer that does not end: `take` gets the pieces of a stream of events, whose status is 200, and
  /// returns whether to go on. Returns without the body when that has ended, and of another answer with this status as
  /// soon as it is seen; throws failure as ask() does, also where the answer is cut off. `take` must not throw.
  [[nodiscard]] api_answer stream(const api_request& what, const std::function<bool(std::string_view)>& take);

  [[nodiscard]] const server_address& at() const noexcept { return at_; }
  /// Whether requests show an access token.
  [[nodiscard]] bool has_token() const noexcept { return !token_.empty(); }

 private:
  struct transfer;

  void prepare(const api_request& what, transfer& into);
  void prepare_tls();
  [[nodiscard]] api_answer perform(const api_request& what, transfer& into);

  access_options options_;
  server_address at_;
  std::string token_;
  std::unique_ptr<void, void (*)(void*)> curl_;
};

/// Whether this is the content type of a stream of events.
[[nodiscard]] bool is_event_stream(std::string_view type) noexcept;

/// The text as a part of a path or a query.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace foliot::program::terminal
