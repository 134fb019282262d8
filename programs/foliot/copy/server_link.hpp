// A connection to a beanstalk server, as its client: requests in groups, replies in their order.
//
// Thread safety: none; one task at a time. Everything throws failure when the connection ends, when the server sends
// something else than replies, or when it has sent nothing for a minute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/task.hpp>

#include "copy/reply.hpp"
#include "failure.hpp"

namespace foliot::program::copying {

/// What a server says of itself.
struct server_facts {
  bool is_foliot = false;       ///< it knows the commands that begin with `x-`
  bool can_reserve_job = true;  ///< beanstalkd before 1.12 cannot
  std::string instance;         ///< a random number of its process; empty if it tells none
  std::uint64_t max_job_size = 0;
};

class server_link {
 public:
  /// Not yet connected. Errors name the server by its address.
  explicit server_link(runtime::address at) : at_(at), name_(at.to_string()) {}

  /// Connects to the server.
  task<> connect();
  /// Sends `requests`, and returns the `count` replies that they get. It reads no reply before it has sent all, and a
  /// server does not read while it cannot write, so either the requests or the replies must fit into the buffers of the
  /// sockets: at most some 50 kB.
  task<std::vector<server_reply>> exchange(std::string requests, std::size_t count);
  /// Sends one request, and returns its reply.
  task<server_reply> ask(std::string request);
  /// Asks the server what it is.
  task<server_facts> learn();
  /// Sends `quit` and waits until the server has closed the connection: it has given back the reservations then.
  task<> quit();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// For a reply that the request cannot have.
  [[nodiscard]] failure unexpected(const std::string& request, const server_reply& reply) const;

 private:
  task<bool> read_more();

  runtime::address at_;
  std::string name_;
  runtime::stream peer_;
  reply_reader replies_;
  std::vector<char> buffer_;
};

}  // namespace foliot::program::copying
