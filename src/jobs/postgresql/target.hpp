// Where a store connects to: the connection string of its user, with what the store needs of each connection. There may
// be several hosts; each connection begins with the next one, so that a host which does not answer delays a
// connection once only. Hosts, ports and target_session_attrs that the string does not name are those of the service
// file and of the environment, as with libpq, except `any`; they are read once.
//
// Nothing that is shown to people has a piece of the password, also if it was not escaped. Thread safety: one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foliot::jobs::detail {

class target {
 public:
  using options = std::vector<std::pair<std::string, std::string>>;

  /// Throws store_failure, which says why, if libpq does not understand the string, or if a host, a port or the name of
  /// the database may be a piece of a password. Reads the service file, and connects to nothing.
  explicit target(const std::string& database);

  /// The arguments of PQconnectStartParams().
  class arguments {
   public:
    explicit arguments(options given);
    [[nodiscard]] const char* const* keywords() const noexcept { return keywords_.data(); }
    [[nodiscard]] const char* const* values() const noexcept { return values_.data(); }

   private:
    options options_;
    std::vector<const char*> keywords_;
    std::vector<const char*> values_;
  };

  /// The arguments of the next connection. Copies them: O(n) for the length of the string.
  [[nodiscard]] arguments next();
  /// The arguments of a connection to this host alone. Precondition: it is below hosts(). O(n) as next().
  [[nodiscard]] arguments only(std::size_t host) const;
  /// The next connection begins behind this host.
  void go_on_behind(std::size_t host) noexcept { first_ = (host + 1) % hosts_; }
  /// How many hosts there are: so many connections, one after the other, begin with each host once.
  [[nodiscard]] std::size_t hosts() const noexcept { return hosts_; }
  /// "db1:5432,db2:5432/jobs": what a person needs to recognise it, without a password.
  [[nodiscard]] const std::string& to_string() const noexcept { return text_; }

 private:
  [[nodiscard]] std::string value(std::string_view keyword) const;
  /// Adds the hosts and the ports that libpq would take from elsewhere than the string.
  void add_hosts(const options& resolved);
  void describe(const std::string& name);
  /// The arguments, after change(parts) was called for the list of hosts, of addresses and of ports.
  template <typename Change>
  [[nodiscard]] arguments with_hosts(const Change& change) const;

  options options_;
  std::size_t hosts_ = 1;
  std::size_t first_ = 0;  // the host that the next connection tries first
  std::string text_;
};

}  // namespace foliot::jobs::detail
