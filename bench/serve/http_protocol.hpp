// HTTP and JSON (docs/serve/http.md), as a client of the load generator speaks it: each request names its tube, and
// shows its access token.
//
// Thread safety: immutable, any thread.
#pragma once

#include <string>

#include "client_protocol.hpp"

namespace foliot::program::bench {

class http_protocol final : public client_protocol {
 public:
  /// Each request shows the access token, if there is one.
  explicit http_protocol(std::string token = {});

  /// The kind of a response is found by its status and the first bytes of its body.
  [[nodiscard]] std::optional<found_reply> find_reply(std::string_view bytes) const override;
  /// Nothing.
  [[nodiscard]] std::vector<opening> enter(std::string_view tube) const override;
  /// The body of the job is that of the request.
  [[nodiscard]] commands put(std::string_view tube, std::size_t body) const override;
  /// One batch. It has at most 1000 jobs.
  [[nodiscard]] commands put_many(std::string_view tube, std::size_t jobs, std::size_t body) const override;
  [[nodiscard]] commands put_delayed(std::string_view tube, const delayed_put& job) const override;
  [[nodiscard]] commands replace(std::string_view tube, const keyed_put& job, std::size_t body) const override;
  /// One batch.
  [[nodiscard]] commands replace_many(std::string_view tube, const std::vector<keyed_put>& jobs,
                                      std::size_t body) const override;
  /// For an hour, the longest wait.
  [[nodiscard]] commands reserve(std::string_view tube) const override;
  [[nodiscard]] commands finish(const reply& reserved) const override;

  /// A request, for what only HTTP has. Its body is of this type; empty: it has none.
  [[nodiscard]] commands request(std::string_view method, std::string_view target, std::string_view type,
                                 std::string_view body) const;

 private:
  std::string fields_;  // of every request, the end of the request line in front
};

}  // namespace foliot::program::bench
