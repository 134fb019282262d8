// What the clients of a simulated world share, whatever serves them: the choices of the seed, the time, the history
// that the checker judges, and what some client has learned. The worlds of one server (world.hpp) and those of nodes
// over a database (tests/server/node_worlds) derive from it.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>

#include "history.hpp"

namespace foliot::program::worlds {

/// A reservation of which some client has the token.
struct known_reservation {
  std::string token;
  jobs::job_id job = 0;
};

/// A request that happens once: any client may send it again.
struct keyed_request {
  std::string text;
  std::vector<event> asked;  ///< as it was sent first
  bool is_atomic = false;
};

class client_world {
 public:
  explicit client_world(std::uint64_t seed) : random_(seed) {}
  client_world(const client_world&) = delete;
  client_world& operator=(const client_world&) = delete;
  virtual ~client_world() = default;

  [[nodiscard]] std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  [[nodiscard]] bool one_in(std::size_t count) { return below(count) == 0; }
  /// The virtual time.
  [[nodiscard]] virtual instant time_now() const = 0;
  /// What the wall clock of the clients shows.
  [[nodiscard]] virtual jobs::utc_time utc() const = 0;
  [[nodiscard]] moment now() {
    const instant time = time_now();
    return {++seen.order, time};
  }
  /// A connection has ended, by either side.
  void end_connection(std::size_t number) {
    const moment at = now();
    seen.connection_ends.emplace(number, at.order);
    for (event& each : seen.events) {
      if (each.connection == number && !each.end && !each.given_up) each.given_up = at;
    }
  }

  // What this seed brings.
  bool has_stalls = false;  ///< some batches of the store take time
  bool has_pauses = false;  ///< clients pause tubes
  bool has_clears = false;  ///< clients clear tubes
  // How long reservations last, over HTTP: some no longer than the first one, and the others for the second one.
  jobs::milliseconds short_ttr{30};
  jobs::milliseconds long_ttr{60'000};

  /// So late is no job due in a world: those that clients put for this time stay delayed, one behind the other.
  static constexpr jobs::utc_time far = std::chrono::sys_days(std::chrono::year(2027) / 1 / 1);

  static constexpr std::array<const char*, 3> tubes{"default", "mail", "calls"};

  history seen;
  bool is_over = false;      ///< the server ends, has failed, or has crashed
  bool has_drained = false;  ///< it takes no new jobs
  std::size_t connections = 0;
  std::size_t bodies = 0;
  std::size_t keys = 0;                                ///< of requests that happen once
  std::size_t groups = 0;                              ///< batches that take all or none
  std::vector<keyed_request> keyed;                    ///< the latest last
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

}  // namespace foliot::program::worlds
