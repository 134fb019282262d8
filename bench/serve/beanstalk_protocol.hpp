// The beanstalk protocol, as a client of the load generator speaks it.
//
// Thread safety: immutable, any thread.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

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

// Values in the YAML that a server sends for `stats` and `stats-tube`.

/// The value of this name, without quotes; empty if there is none. Valid as long as the text.
[[nodiscard]] inline std::string_view statistic_in(std::string_view yaml, std::string_view name) {
  const std::string begin = "\n" + std::string(name) + ": ";
  const std::size_t at = yaml.find(begin);
  if (at == std::string_view::npos) return {};
  std::string_view value = yaml.substr(at + begin.size());
  value = value.substr(0, value.find('\n'));
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return quoted ? value.substr(1, value.size() - 2) : value;
}

/// The number of this name; 0 if there is none.
[[nodiscard]] inline std::uint64_t number_in(std::string_view yaml, std::string_view name) {
  const std::string_view value = statistic_in(yaml, name);
  std::uint64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

}  // namespace foliot::program::bench
