// Decides by the head of a request whether it may come in, and with which rights: before its body is read, and before
// any memory is taken for it.
//
// The files of the page for people need no rights: they have no data (server/page/page_files.hpp).
//
// With a file of access tokens each other request must show one in `Authorization: Bearer TOKEN`. A client whose
// certificate has an entry in the file need not; if it shows a token, that counts alone, and a wrong one is refused.
// /health and /ready, without a body, need none, and a wrong one is no failure there.
//
// Without such a file a request has all rights, as every program on the machine has them. But some requests come from
// elsewhere, and what they need, a token, nobody can have; so they are refused:
//   - those that a proxy has passed on, and says so: by Forwarded, X-Forwarded-…, X-Real-IP, Via, or by another of the
//     fields that request_access.cpp lists. A proxy on the same machine makes the whole network loopback. The
//     certificate of a connection is that of the proxy then, and does not count;
//   - all that a named proxy sends (named_proxies.hpp), whatever it says;
//   - those to a name of the server that is not one of loopback (`--host`);
//   - those that come from this machine, and were sent to an address of another one.
//
// A client that shows nothing gets 401. One that shows something wrong gets it as well, and 429 after ten times in a
// minute from its address. Those of the same address that show a token of the file come in nevertheless.
//
// Thread safety: any task. Cost: a digest and a search, see authority.hpp.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/runtime/net/address.hpp>

#include "browser_rules.hpp"
#include "front_check.hpp"
#include "message.hpp"
#include "problem.hpp"
#include "server/access/authority.hpp"
#include "server/access/authorized_client.hpp"
#include "server/access/digest.hpp"
#include "server/access/rights.hpp"
#include "server/access/watched_tokens.hpp"
#include "server/core/server_log.hpp"

namespace foliot::program::http {

/// The access token in the value of an Authorization: what comes behind `Bearer` and blanks; nothing if the value has
/// another form.
[[nodiscard]] inline std::optional<std::string_view> bearer_in(std::string_view value) noexcept {
  constexpr std::string_view scheme = "bearer ";
  if (!equal_in_any_case(value.substr(0, scheme.size()), scheme)) return std::nullopt;
  value.remove_prefix(scheme.size());
  while (value.starts_with(' ')) value.remove_prefix(1);
  return value;
}

/// Who sends a request: the other end of the connection, or who is behind a named proxy there.
struct http_peer {
  runtime::address from;
  std::optional<sha256_digest> certificate;  ///< which the client has proved to own
  bool behind_proxy = false;                 ///< the connection is a named proxy's
  bool is_unknown = false;                   ///< that proxy names its client by no address, so `from` is its own
};

/// The rights with which a request has come in.
struct admission {
  std::shared_ptr<const rights> given;
  authority* by = nullptr;  ///< by which they end; null: they never do
};

class request_access {
 public:
  /// `rules` know the names of the server. Without `tokens`, and then without `log`, there is no file. All must outlive
  /// it.
  explicit request_access(const browser_rules& rules, watched_tokens* tokens = nullptr, const server_log* log = nullptr)
      : rules_(rules), tokens_(tokens), log_(log) {}

  /// Its rights, or the answer to a request that is refused. Throws std::bad_alloc.
  [[nodiscard]] std::expected<admission, response> admit(const request& head, const http_peer& from) const;
  /// The rights of a request that needs none.
  [[nodiscard]] const std::shared_ptr<const rights>& nothing() const noexcept { return nothing_; }
  [[nodiscard]] bool has_tokens() const noexcept { return tokens_ != nullptr; }
  /// Whether the file of tokens that was read last was right.
  [[nodiscard]] bool is_good() const noexcept { return tokens_ == nullptr || tokens_->is_good(); }

 private:
  /// Whether the request comes from elsewhere than its connection.
  [[nodiscard]] bool comes_from_elsewhere(const request& head, const http_peer& from) const;
  /// The rights of a request that needs none: what it shows, or nothing.
  [[nodiscard]] admission admit_probe(const request& head, const http_peer& from) const;
  /// By the value of its Authorization.
  [[nodiscard]] std::expected<admission, response> admit_by(std::string_view shown, const http_peer& from) const;
  /// The answer to a client that has shown something wrong. `warning`: a line for the log; empty: none.
  [[nodiscard]] response refuse_shown(std::string_view detail, const http_peer& from,
                                      const std::string& warning = {}) const;

  const browser_rules& rules_;
  watched_tokens* const tokens_;
  const server_log* const log_;
  const std::shared_ptr<const rights> everything_ = rights::everything();
  const std::shared_ptr<const rights> nothing_ =
      std::make_shared<const rights>("", "", scope_set(), std::vector<std::string>(), instant::never());
};

/// Whether a request is for a file of the page at `/`, and has no body.
[[nodiscard]] bool is_for_page(const request& head) noexcept;

/// The problem of an operation that its rights do not allow: 403, or 401 if they have ended.
[[nodiscard]] problem problem_of(const access_refused& why);
/// The answer to a request of such an operation. If the rights have ended, so does the connection.
[[nodiscard]] response respond_to(const access_refused& why);

}  // namespace foliot::program::http
