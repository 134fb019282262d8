// Keeps the pages of other sites out. A page can have the browser of somebody on this machine send requests to a
// loopback address, and can have a name of its own point there (DNS rebinding). So a page must be from here:
//
//   - The host that the request names must be known: an IP address, `localhost` or a name below it, or one of the names
//     that the server was given. A page that comes by rebinding has its own name there.
//   - A request that may change something (any method but GET, HEAD and OPTIONS) must come from the same origin, where
//     a browser says where it comes from: `Sec-Fetch-Site` must be `same-origin` or `none`; without it the host of
//     `Origin` must be that of `Host`. Programs that are no browsers send neither.
//
// There is no CORS: no response allows another site to read it.
//
// Thread safety: after its construction any task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/runtime/net/address.hpp>

#include "message.hpp"
#include "problem.hpp"

namespace foliot::program::http {

class browser_rules {
 public:
  /// `hosts`: the names by which the server is reached, without ports.
  explicit browser_rules(std::vector<std::string> hosts = {}) : hosts_(std::move(hosts)) {}

  /// What a host is whose name or address a client has used.
  enum class host_kind : std::uint8_t {
    unknown,
    loopback,  ///< an address of loopback, `localhost`, or a name below it
    address,   ///< another IP address
    name,      ///< one of the names that the server was given
  };

  /// What is wrong with the head of a request; nothing if it may come in. `asked_for`: the host that the client has
  /// asked for, as a named proxy says, which may have written another `Host`; both must be known then, and the origin
  /// may be that of one of them.
  [[nodiscard]] std::optional<problem> check(const request& head,
                                             const std::optional<std::string>& asked_for = std::nullopt) const;
  /// What a value of `Host` names.
  [[nodiscard]] host_kind kind_of(std::string_view host) const;
  /// Whether it names a host that is known.
  [[nodiscard]] bool knows(std::string_view host) const { return kind_of(host) != host_kind::unknown; }

 private:
  std::vector<std::string> hosts_;
};

/// Whether a method only looks, by its definition.
[[nodiscard]] bool is_safe(std::string_view method) noexcept;
/// Whether only programs of this machine can have that address, or connect to it.
[[nodiscard]] bool is_of_this_machine(const runtime::address& at);

}  // namespace foliot::program::http
