// What the clients of the load generator say to a server, and how they find the replies in the bytes that it sends.
//
// A protocol is one class: beanstalk_protocol, http_protocol. It writes the commands that the workloads need and knows
// where a reply ends, and has no socket and no loop; load_generator has these, for all protocols.
//
// Thread safety: immutable, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::program::bench {

enum class reply_kind : std::uint8_t {
  inserted,
  replaced,  ///< the job that had the key
  reserved,
  deleted,
  released,
  buried,
  touched,
  kicked,
  used,      ///< USING
  watching,  ///< WATCHING
  signed_in,
  found,
  ok,  ///< with a body: what was asked for, or the outcomes of a batch that has succeeded as a whole
  not_found,
  deadline_soon,
  timed_out,
  other,  ///< an error, or a reply that is none of these: its line says which
};

struct reply {
  reply_kind kind = reply_kind::other;
  /// The id of a job, or a count; of beanstalk's `OK`, the length of the body; or 0.
  std::uint64_t number = 0;
  std::string_view line{};         ///< the first one, without its end
  std::string_view body{};         ///< of RESERVED, FOUND and OK; of every response of HTTP
  std::string_view reservation{};  ///< of a job that was reserved by HTTP: its token
};

/// A reply, and the bytes that it takes. Its texts lie in these.
struct found_reply {
  reply what{};
  std::size_t length = 0;
};

/// Whole commands; each gets one reply.
struct commands {
  std::string bytes{};
  std::size_t count = 1;
};

/// A command with which a client begins, and the reply that lets it go on.
struct opening {
  std::string bytes{};
  reply_kind wanted = reply_kind::ok;
};

/// A job that replaces the one with its key.
struct keyed_put {
  std::string key{};
  std::uint64_t delay = 0;  ///< seconds
};

/// A job that becomes due later. Protocols take the due time or the delay, as they know it.
struct delayed_put {
  std::uint64_t number = 0;  ///< another one for each job of a tube
  std::int64_t due = 0;      ///< milliseconds since 1970
  std::uint64_t delay = 0;   ///< seconds, from now until then
  std::string_view body{};
};

class client_protocol {
 public:
  client_protocol() noexcept = default;
  client_protocol(const client_protocol&) = delete;
  client_protocol& operator=(const client_protocol&) = delete;
  virtual ~client_protocol() = default;

  /// The reply at the beginning of these bytes; nothing until more bytes come. O(the length of its head).
  [[nodiscard]] virtual std::optional<found_reply> find_reply(std::string_view bytes) const = 0;

  /// What stands in commands for the number of the client that sends them, eight digits, where the server tells clients
  /// apart by it; empty: nothing does.
  [[nodiscard]] virtual std::string_view client_number() const noexcept { return {}; }

  /// What a client sends first: its access token, where it shows that once, and what makes the tube its own.
  [[nodiscard]] virtual std::vector<opening> enter(std::string_view tube) const = 0;
  /// Puts a job whose body has so many bytes: `inserted`.
  [[nodiscard]] virtual commands put(std::string_view tube, std::size_t body) const = 0;
  /// So many such jobs at once, in as few commands as the protocol allows: `inserted` each, or `ok` for all.
  [[nodiscard]] virtual commands put_many(std::string_view tube, std::size_t jobs, std::size_t body) const = 0;
  /// Puts a job that is due later: `inserted`.
  [[nodiscard]] virtual commands put_delayed(std::string_view tube, const delayed_put& job) const = 0;
  /// Puts a job in the place of the one with its key: `inserted` or `replaced`.
  [[nodiscard]] virtual commands replace(std::string_view tube, const keyed_put& job, std::size_t body) const = 0;
  /// Many of them at once: likewise for each, or `ok` for all.
  [[nodiscard]] virtual commands replace_many(std::string_view tube, const std::vector<keyed_put>& jobs,
                                              std::size_t body) const = 0;
  /// Waits for a job, for as long as the protocol lets it: `reserved`.
  [[nodiscard]] virtual commands reserve(std::string_view tube) const = 0;
  /// Ends the job that was reserved: `deleted`.
  [[nodiscard]] virtual commands finish(const reply& reserved) const = 0;
};

}  // namespace foliot::program::bench
