// The beanstalk protocol, as a client of the load generator speaks it.
//
// Thread safety: immutable, any thread.
#pragma once

#include <string>

#include "client_protocol.hpp"

namespace foliot::program::bench {

class beanstalk_protocol final : public client_protocol {
 public:
  /// With an access token its clients sign in.
  explicit beanstalk_protocol(std::string token = {}) : token_(std::move(token)) {}

  /// It looks for ends of lines and compares first words, and copies no body.
  [[nodiscard]] std::optional<found_reply> find_reply(std::string_view bytes) const override;
  [[nodiscard]] std::vector<opening> enter(std::string_view tube) const override;
  [[nodiscard]] commands put(std::string_view tube, std::size_t body) const override;
  /// A command for each, which leave together.
  [[nodiscard]] commands put_many(std::string_view tube, std::size_t jobs, std::size_t body) const override;
  [[nodiscard]] commands put_delayed(std::string_view tube, const delayed_put& job) const override;
  /// Needs foliot's `x-put`, as the next one does.
  [[nodiscard]] commands replace(std::string_view tube, const keyed_put& job, std::size_t body) const override;
  [[nodiscard]] commands replace_many(std::string_view tube, const std::vector<keyed_put>& jobs,
                                      std::size_t body) const override;
  [[nodiscard]] commands reserve(std::string_view tube) const override;
  [[nodiscard]] commands finish(const reply& reserved) const override;

  /// What signs a client in; empty without a token.
  [[nodiscard]] std::vector<opening> sign_in() const;

 private:
  const std::string token_;
};

/// Of clients without a token.
[[nodiscard]] const client_protocol& plain_beanstalk() noexcept;

}  // namespace foliot::program::bench
