// A simulated world: the whole server (sessions of both protocols, connections, broker) over a store whose disk is
// simulated, and clients that speak beanstalk or HTTP, work, wait, stall, send in pieces and disappear. All in one
// thread, on virtual time, by one seed. The server is started, crashes or ends, and is started again over what its disk
// has kept. In some worlds it has two nodes, which share the store as those over a database do, and are started and end
// together.
//
// The sockets are local ones of the system: what one side has written has arrived when all tasks wait.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/store_clocks.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/task.hpp>

#include "history.hpp"
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

/// A reservation of which some client has the token.
struct known_reservation {
  std::string token;
  jobs::job_id job = 0;
};

/// What the clients of a world share.
class world {
 public:
  explicit world(std::uint64_t seed);

  [[nodiscard]] std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  [[nodiscard]] bool one_in(std::size_t count) { return below(count) == 0; }
  [[nodiscard]] moment now() { return {++seen.order, time.now()}; }
  [[nodiscard]] jobs::utc_time utc() const { return jobs::store_clocks{&wall, &time}.utc(); }
  /// A connection has ended, by either side.
  void end_connection(std::size_t number);
  /// The server ends or has crashed: from now on the end of a connection surprises nobody.
  void end_server();

  // What this seed brings besides crashes.
  bool has_stalls = false;       ///< some batches of the store take time
  bool has_clock_steps = false;  ///< the wall clock is set
  bool has_pauses = false;       ///< clients pause tubes
  bool has_clears = false;       ///< clients clear tubes
  bool is_narrow = false;        ///< the server reads and writes in small pieces
  std::size_t nodes = 1;         ///< of the server, over one store
  std::size_t http_in_ten = 0;   ///< so many connections of ten speak HTTP

  /// So late is no job due in a world: those that clients put for this time stay delayed, one behind the other.
  static constexpr jobs::utc_time far = std::chrono::sys_days(std::chrono::year(2027) / 1 / 1);

  static constexpr std::array<const char*, 3> tubes{"default", "mail", "calls"};

  virtual_clock time;
  jobs::virtual_wall_clock wall{time};
  std::vector<node_addresses> addresses;
  history seen;
  bool is_over = false;      ///< the server ends, has failed, or has crashed
  bool has_drained = false;  ///< it takes no new jobs
  bool has_crashed = false;  ///< nothing that the server still sends is read
  std::size_t connections = 0;
  std::size_t bodies = 0;
  std::map<jobs::job_id, jobs::milliseconds> ttrs;     ///< of the jobs whose puts were acknowledged
  instant next_end;                                    ///< of a short reservation: at that time clients ask for its job
  jobs::job_id ending_job = 0;                         ///< the job of that reservation
  std::string ending_token;                            ///< its token, if it is over HTTP
  std::vector<known_reservation> reservations;         ///< over HTTP, the latest last; some of them have ended
  std::map<jobs::job_id, jobs::job_version> versions;  ///< that a look has shown last
  std::map<std::pair<std::string, std::string>, jobs::job_version> versions_of_keys;  ///< by tube and key
  std::vector<jobs::job_id> known;  ///< jobs of which some client has heard, the latest last

 private:
  std::mt19937_64 random_;
};

/// Lives until the server ends.
[[nodiscard]] task<> client_life(world& in);

}  // namespace foliot::program::worlds
