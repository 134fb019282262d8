// NATS JetStream's protocol, as a client of the load generator speaks it.
//
// A tube is a stream whose messages a consumer takes out, as workers take jobs: a ready job is a message of the subject
// TUBE.ready, a delayed one a message of TUBE.later.NUMBER with a schedule (`@at`), which the server then publishes
// to TUBE.ready. Its clients ask the consumer for one message, and have the server confirm that they have taken it.
//
// Thread safety: immutable, any thread.
#pragma once

#include <string>

#include "client_protocol.hpp"

namespace foliot::program::bench {

class nats_protocol final : public client_protocol {
 public:
  /// A publication that was stored is `inserted`, a message `reserved` with the subject of its acknowledgement, and an
  /// acknowledgement that was confirmed `deleted`. What the server says of itself is skipped; of the reply to PING it
  /// is the body.
  [[nodiscard]] std::optional<found_reply> find_reply(std::string_view bytes) const override;
  [[nodiscard]] std::string_view client_number() const noexcept override { return number; }

  /// Connects, and makes the stream and its consumer, where they are not there yet.
  [[nodiscard]] std::vector<opening> enter(std::string_view tube) const override;
  /// The first of these: nothing of JetStream.
  [[nodiscard]] opening sign_in() const;
  /// Asks JetStream about itself: `ok`.
  [[nodiscard]] commands ask_about_itself() const;
  [[nodiscard]] commands put(std::string_view tube, std::size_t body) const override;
  /// A publication for each, which leave together.
  [[nodiscard]] commands put_many(std::string_view tube, std::size_t jobs, std::size_t body) const override;
  [[nodiscard]] commands put_delayed(std::string_view tube, const delayed_put& job) const override;
  /// A schedule replaces the one of the same subject: `inserted`.
  [[nodiscard]] commands replace(std::string_view tube, const keyed_put& job, std::size_t body) const override;
  [[nodiscard]] commands replace_many(std::string_view tube, const std::vector<keyed_put>& jobs,
                                      std::size_t body) const override;
  [[nodiscard]] commands reserve(std::string_view tube) const override;
  [[nodiscard]] commands finish(const reply& reserved) const override;

 private:
  /// As long as a number of eight digits, and in no name of a tube.
  static constexpr std::string_view number = "<client>";
};

}  // namespace foliot::program::bench
