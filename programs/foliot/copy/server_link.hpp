// A connection to a beanstalk server, as its client: requests in groups, replies in their order.
//
// Memory: replies are bounded. Of a list or a dictionary there may be 64 KiB unless the caller expects more, and the
// bodies of jobs are dropped as they come once the caller's bound for all of them is reached.
//
// Thread safety: none; one task at a time. Everything throws failure when the connection ends, when the server sends
// something else than replies, or when it has sent nothing for a minute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/client/endpoint.hpp>
#include <foliot/client/reply.hpp>
#include <foliot/runtime/task.hpp>

#include "copy/job_record.hpp"
#include "text/failure.hpp"

namespace foliot::program::copying {

using client::server_reply;

/// What a server says of itself.
struct server_facts {
  bool is_foliot = false;       ///< it knows the commands that begin with `x-`
  bool can_reserve_job = true;  ///< beanstalkd before 1.12 cannot
  std::string instance;         ///< a random number of its process; empty if it tells none
  std::uint64_t max_job_size = 0;
  std::uint64_t most_field_bytes = 0;  ///< of the fields of a job, and of its history; 0: it takes none
};

/// How many bytes of replies a caller of exchange() wants.
struct wanted_replies {
  std::uint64_t of_list = 65'536;  ///< of each dictionary or list; a longer one is a failure
  std::uint64_t of_job = 0;        ///< of the body of each job; a longer one is dropped
  std::uint64_t in_all = 0;        ///< of all bodies; those behind that are dropped
  bool first_in_any_case = true;   ///< the first body of a job is dropped only because of `of_job`
};

class server_link {
 public:
  /// Not yet connected. Errors name the server by its address.
  explicit server_link(client::endpoint at) : at_(std::move(at)) {}

  /// Connects to the server.
  task<> connect();
  /// Sends `requests`, and returns the `count` replies that they get. It reads no reply before it has sent all, and a
  /// server does not read while it cannot write, so either the requests or the replies must fit into the buffers of the
  /// sockets: at most some 50 kB. Throws failure if it gets more replies.
  task<std::vector<server_reply>> exchange(std::string requests, std::size_t count, wanted_replies wanted);
  /// The same for replies without bodies of jobs.
  task<std::vector<server_reply>> exchange(std::string requests, std::size_t count) {
    return exchange(std::move(requests), count, wanted_replies());
  }
  /// Sends one request, and returns its reply, which may be a list of so many bytes.
  task<server_reply> ask(std::string request, std::uint64_t of_list = wanted_replies().of_list);
  /// Asks the server what it is.
  task<server_facts> learn();
  /// Sends `quit` and waits until the server has closed the connection: it has given back the reservations then.
  task<> quit();

  [[nodiscard]] const std::string& name() const noexcept { return at_.name; }
  /// For a reply that the request cannot have.
  [[nodiscard]] failure unexpected(const std::string& request, const server_reply& reply) const;
  /// Throws unless the reply to the request has the word; and, if it has a number, unless that can be a job's id.
  void expect(const server_reply& reply, std::string_view word, const std::string& request) const;
  /// Throws unless the reply to the request says that the connection uses this tube.
  void expect_using(const server_reply& reply, std::string_view tube, const std::string& request) const;
  /// For replies that cannot both be true: `how` says which, as a sentence without its subject.
  [[nodiscard]] failure contradiction(std::string_view how) const;

 private:
  void renew_deadline();
  task<> send(std::string_view text);
  task<bool> read_more();

  client::endpoint at_;
  std::unique_ptr<client::transport> peer_;  // null until connect()
  client::reply_reader replies_;
  std::vector<char> buffer_;
};

}  // namespace foliot::program::copying
