// Clients of a server, many in one thread, and a function that is called for each reply. What they speak is a
// client_protocol; their connections are in plain or under TLS.
//
//   load_generator clients(place, 64);
//   for (std::size_t each = 0; each < clients.size(); ++each) clients.send(each, "use x\r\n");
//   while (clients.awaited() > 0) clients.turn([&](std::size_t client, const reply& got) { … });
//
// The sockets do not block. Commands wait in the client's buffer until its replies of this turn have been handled, so
// that they leave in as few writes as a client library with pipelines would make. One turn is one wait of epoll,
// then one read for each socket that is readable.
//
// Thread safety: none, one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/duration.hpp>

#include "bench/owners.hpp"
#include "client_protocol.hpp"
#include "client_socket.hpp"
#include "server_place.hpp"

namespace foliot::program::bench {

/// The replies of a server, found in the bytes that it sends. It copies no body: the load generator must cost little,
/// and the same for every server. Thread safety: none, one thread.
class reply_scanner {
 public:
  /// The protocol must outlive it.
  explicit reply_scanner(const client_protocol& of) noexcept : protocol_(&of) {}

  /// Room for at least `least` bytes, to read into; then call added(). Invalidates the last reply.
  [[nodiscard]] std::span<char> room(std::size_t least) {
    if (begin_ == end_) begin_ = end_ = 0;
    if (bytes_.size() - end_ < least && begin_ > 0) {
      std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
      end_ -= std::exchange(begin_, 0);
    }
    if (bytes_.size() - end_ < least) bytes_.resize(std::max(end_ + least, 2 * bytes_.size()));
    return std::span(bytes_).subspan(end_);
  }
  /// Some bytes were written to the beginning of that room.
  void added(std::size_t length) noexcept { end_ += length; }
  /// Copies the bytes into the room. Invalidates the last reply.
  void append(std::string_view bytes) {
    std::ranges::copy(bytes, room(bytes.size()).begin());
    added(bytes.size());
  }

  /// The next complete reply, or nothing until more bytes come. Its texts are valid until the next call of room() or
  /// append().
  [[nodiscard]] std::optional<reply> next() {
    const std::optional<found_reply> found = protocol_->find_reply({bytes_.data() + begin_, end_ - begin_});
    if (!found) return std::nullopt;
    begin_ += found->length;
    return found->what;
  }

 private:
  const client_protocol* protocol_;
  std::vector<char> bytes_;
  std::size_t begin_ = 0;  // of what next() has not returned
  std::size_t end_ = 0;
};

class load_generator {
 public:
  /// Connects that many clients; they are numbered from 0. Throws failure.
  load_generator(const server_place& server, std::size_t clients) : load_generator(std::vector{server}, clients) {}
  /// Of several servers, which speak the same protocol: client i is one of servers[i % servers.size()]. At least one.
  load_generator(std::vector<server_place> servers, std::size_t clients);
  ~load_generator();  // out of line, where `events` is complete
  load_generator(const load_generator&) = delete;
  load_generator& operator=(const load_generator&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return clients_.size(); }
  [[nodiscard]] const client_protocol& protocol() const noexcept { return servers_.front().protocol(); }

  /// The client sends these bytes at the end of this turn, or at the beginning of the next one. They are `commands`
  /// whole commands, each of which gets one reply.
  void send(std::size_t client, std::string_view bytes, std::size_t commands = 1) {
    const std::size_t begin = clients_[client].unsent.size();
    clients_[client].unsent += bytes;
    if (!client_number_.empty()) write_number(client, begin);
    clients_[client].awaited += commands;
    awaited_ += commands;
    if (!clients_[client].has_more) note_more(client);
  }
  void send(std::size_t client, const commands& what) { send(client, what.bytes, what.count); }
  /// How many replies have not come yet: of all clients, and of one.
  [[nodiscard]] std::size_t awaited() const noexcept { return awaited_; }
  [[nodiscard]] std::size_t awaited(std::size_t client) const noexcept { return clients_[client].awaited; }

  /// Sends, waits for bytes of the server, at most for `patience` (rounded up to milliseconds), and calls
  /// `on_reply(client, reply)` for each reply; the function may send. Returns whether bytes came or went. Throws
  /// failure if the server closes a connection, sends a reply that no client awaits, or if the user interrupts the
  /// program.
  template <class OnReply>
  bool turn(OnReply&& on_reply, duration patience = longest_silence) {
    const std::size_t ready = wait(patience);
    for (std::size_t i = 0; i < ready; ++i) {
      const std::size_t client = receive(i);
      clients_[client].has_more = true;  // is flushed below
      while (const auto got = next_reply(client)) on_reply(client, *got);
      clients_[client].has_more = false;
      flush_one(client);
    }
    return ready > 0;
  }

  /// Turns until no reply is awaited. Throws failure as turn() does, and if nothing comes for longest_silence.
  template <class OnReply>
  void finish(OnReply&& on_reply) {
    while (awaited_ > 0) {
      if (!turn(on_reply)) throw_silent();
    }
  }
  /// Calls `send_one(client)` `count` times, for the first `clients` clients, each of which then awaits at most
  /// `in_flight` replies, or what one call sends; and `check(reply)` for each reply. The other clients must await
  /// nothing.
  template <class Send, class Check>
  void send_all(std::size_t count, std::size_t clients, std::size_t in_flight, Send send_one, Check check) {
    std::size_t sent = 0;
    for (; sent < std::min(count, clients * in_flight); ++sent) send_one(sent % clients);
    finish([&](std::size_t client, const reply& got) {
      check(got);
      if (sent == count || awaited(client) >= in_flight) return;
      ++sent;
      send_one(client);
    });
  }
  /// Sends the commands of one client, waits, and throws failure unless the reply to each is of this kind. The other
  /// clients must await nothing.
  void expect(std::size_t client, std::string_view commands, std::size_t count, reply_kind kind);

  /// The client uses this tube from now on, and watches it alone. Throws failure.
  void enter(std::size_t client, std::string_view tube) {
    for (const opening& each : protocol().enter(tube)) expect(client, each.bytes, 1, each.wanted);
  }

  /// Throws failure: the server has not answered for longest_silence.
  [[noreturn]] void throw_silent() const;

  /// A server that is silent for so long is broken.
  static constexpr duration longest_silence = std::chrono::seconds(60);

 private:
  struct client_state {
    explicit client_state(const client_protocol& speaks) noexcept : replies(speaks) {}

    client_socket socket{};
    bool has_more = false;        // is in with_more_, or is flushed at the end of the turn
    bool wants_to_write = false;  // epoll reports when the socket takes more
    std::string unsent{};
    std::size_t sent = 0;  // of unsent
    std::size_t awaited = 0;
    reply_scanner replies;
  };
  struct events;

  void note_more(std::size_t client);
  void write_number(std::size_t client, std::size_t begin);
  [[nodiscard]] const server_place& server_of(std::size_t client) const noexcept {
    return servers_[client % servers_.size()];
  }
  [[noreturn]] void throw_closed(std::size_t client) const;
  void flush_one(std::size_t client);
  void watch_writes(std::size_t client, bool wanted);
  [[nodiscard]] std::size_t wait(duration patience);
  [[nodiscard]] std::size_t receive(std::size_t event);
  [[nodiscard]] std::optional<reply> next_reply(std::size_t client);

  const std::vector<server_place> servers_;
  const std::string_view client_number_;  // of the protocol
  owned_descriptor epoll_;
  std::vector<client_state> clients_;
  std::vector<std::size_t> with_more_;
  std::size_t awaited_ = 0;
  std::size_t read_at_once_;
  std::unique_ptr<events> events_;
};

/// Raises this process's limit of open files as far as the system lets it, and returns how many clients of one server
/// fit, at most `wanted`: in this process and in the server, which has the same limit, and over TCP where there are as
/// many ports.
[[nodiscard]] std::size_t clients_that_fit(std::size_t wanted, bool over_tcp);

/// Throws failure: the reply is none that the workload can go on with, such as OUT_OF_MEMORY.
[[noreturn]] void throw_unexpected(const reply& got, std::string_view wanted);

/// Throws failure unless the reply is of this kind.
inline void expect_reply(const reply& got, reply_kind kind, std::string_view wanted) {
  if (got.kind != kind) throw_unexpected(got, wanted);
}

}  // namespace foliot::program::bench
