// What a client may do: an immutable value that connections, requests and the authority share.
//
//   const std::shared_ptr<const rights> mine = rights::everything();
//   if (mine->may(scope::put) && mine->has_tube("mail")) …
//
// Thread safety: a value that never changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/operations.hpp>

#include "digest.hpp"

namespace foliot::program {

/// Kinds of operations. The table of operations says which one each has.
using scope = jobs::operation_scope;

/// All scopes, with the names by which people write them.
struct named_scope {
  scope what;
  std::string_view name;
};
inline constexpr std::array all_scopes{named_scope{scope::put, "put"}, named_scope{scope::reserve, "reserve"},
                                       named_scope{scope::look, "look"}, named_scope{scope::change, "change"},
                                       named_scope{scope::administer, "administer"}};

/// The scope with this name, if there is one.
[[nodiscard]] std::optional<scope> scope_named(std::string_view name) noexcept;

/// A set of scopes.
class scope_set {
 public:
  constexpr scope_set() noexcept = default;
  [[nodiscard]] static constexpr scope_set all() noexcept {
    scope_set every;
    for (const named_scope& each : all_scopes) every.add(each.what);
    return every;
  }

  constexpr void add(scope one) noexcept { bits_ = static_cast<std::uint8_t>(bits_ | bit(one)); }
  [[nodiscard]] constexpr bool has(scope one) const noexcept { return (bits_ & bit(one)) != 0; }
  [[nodiscard]] constexpr bool is_empty() const noexcept { return bits_ == 0; }
  /// Whether it has all of the other set.
  [[nodiscard]] constexpr bool covers(scope_set other) const noexcept { return (bits_ & other.bits_) == other.bits_; }
  friend constexpr bool operator==(scope_set, scope_set) noexcept = default;

 private:
  [[nodiscard]] static constexpr unsigned bit(scope one) noexcept { return 1U << static_cast<unsigned>(one); }

  std::uint8_t bits_ = 0;
};

class rights {
 public:
  /// What a client has where nothing is configured: all scopes, all tubes, for ever. Its id is empty.
  [[nodiscard]] static std::shared_ptr<const rights> everything();

  /// `id` is that of the access token or of the certificate. The prefixes are of names of tubes; an empty one stands
  /// for all tubes. `ends` is a time of the wall clock, or never(). `proof` is the digest of what a client shows.
  rights(std::string id, std::string name, scope_set scopes, std::vector<std::string> prefixes, instant ends,
         const sha256_digest& proof = {});

  /// Of the access token or the certificate, for the log; empty: none was asked for.
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] scope_set scopes() const noexcept { return scopes_; }
  /// In order, none of them the beginning of another one. The only one is empty if all tubes are in.
  [[nodiscard]] const std::vector<std::string>& prefixes() const noexcept { return prefixes_; }
  /// When they end, by the wall clock; from that instant on they are none.
  [[nodiscard]] instant ends() const noexcept { return ends_; }

  /// Of the access token, or the fingerprint of the certificate.
  [[nodiscard]] const sha256_digest& proof() const noexcept { return proof_; }

  [[nodiscard]] bool may(scope one) const noexcept { return scopes_.has(one); }
  [[nodiscard]] bool has_all_tubes() const noexcept { return has_all_tubes_; }
  /// O(log of the prefixes).
  [[nodiscard]] bool has_tube(std::string_view tube) const noexcept {
    return has_all_tubes_ || is_within_a_prefix(tube);
  }
  /// Prefixes, none the beginning of another, of all tubes that these rights include and whose names begin with
  /// `prefix`.
  [[nodiscard]] std::vector<std::string> prefixes_within(std::string_view prefix) const;
  /// Whether these allow all that the others do, apart from when they end.
  [[nodiscard]] bool covers(const rights& others) const noexcept;

 private:
  [[nodiscard]] bool is_within_a_prefix(std::string_view text) const noexcept;

  const std::string id_;
  const std::string name_;
  const scope_set scopes_;
  const std::vector<std::string> prefixes_;
  const bool has_all_tubes_;
  const instant ends_;
  const sha256_digest proof_;
};

}  // namespace foliot::program
