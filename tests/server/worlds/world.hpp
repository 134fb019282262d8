// A simulated world: the whole server (sessions of both protocols, connections, broker) over a store whose disk is
// simulated, and clients that speak beanstalk or HTTP, work, wait, stall, send in pieces and disappear. All in one
// thread, on virtual time, by one seed. The server is started, crashes or ends, and is started again over what its disk
// has kept. In some worlds it has two nodes, which share the store as those over a database do, and are started and end
// together.
//
// The sockets are local ones of the system: what one side has written has arrived when all tasks wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/store_clocks.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/task.hpp>

#include "client_world.hpp"
#include "jobs/conformance/conformance.hpp"
#include "server/http/service.hpp"

namespace foliot::program::worlds {

using simulated_disk = jobs::conformance::store_under_test;

/// What is left of a world.
struct outcome {
  history seen;
  std::vector<std::string> breaches;  ///< of the checker, and of the store's invariants
  std::size_t nodes = 1;
};

/// Makes what answers over HTTP in the place of the server's own, which it may ask: for canaries.
using service_maker = std::function<std::unique_ptr<http::service>(http::service&)>;

/// The world of this seed.
[[nodiscard]] outcome play(std::uint64_t seed, simulated_disk& disk, const service_maker& make = nullptr);

/// Where a node listens.
struct node_addresses {
  runtime::address beanstalk;
  runtime::address http;
};

/// The world of one server.
class world final : public client_world {
 public:
  explicit world(std::uint64_t seed);

  [[nodiscard]] instant time_now() const override { return time.now(); }
  [[nodiscard]] jobs::utc_time utc() const override { return jobs::store_clocks{&wall, &time}.utc(); }
  /// The server ends or has crashed: from now on the end of a connection surprises nobody.
  void end_server();

  // What this seed brings besides crashes.
  bool has_clock_steps = false;  ///< the wall clock is set
  bool is_narrow = false;        ///< the server reads and writes in small pieces
  std::size_t nodes = 1;         ///< of the server, over one store
  std::size_t http_in_ten = 0;   ///< so many connections of ten speak HTTP

  virtual_clock time;
  jobs::virtual_wall_clock wall{time};
  std::vector<node_addresses> addresses;
  bool has_crashed = false;  ///< nothing that the server still sends is read
};

/// Lives until the server ends.
[[nodiscard]] task<> client_life(world& in);

}  // namespace foliot::program::worlds
