#include "primary.hpp"

#include <chrono>
#include <string>

#include <foliot/core/clock.hpp>

namespace foliot::jobs::detail {

namespace {

/// How long one connection may take.
constexpr duration connect_patience = std::chrono::seconds(2);

/// Returns the identifier of the cluster, and its timeline: the name of the present file of the write-ahead log begins
/// with it.
constexpr const char* look =
    "SELECT system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()";

primary_connection connect(const target::arguments& with, const target& to, const exchange_step& at_step) {
  const instant deadline = monotonic_clock::instance().now() + connect_patience;
  primary_connection made;
  made.over = std::make_unique<database_connection>(with.keywords(), with.values(), deadline, at_step);
  const reply found =
      made.over->execute_text("SET search_path = pg_catalog; " + std::string(no_time_limits) + look, deadline);
  made.server.database = to.to_string();
  made.server.cluster = found.bytes(0, 0);
  made.server.place = made.over->place();
  made.server.timeline = std::stoll(std::string(found.bytes(0, 1)), nullptr, 16);
  return made;
}

}  // namespace

primary_connection connect_to_primary(target& to, const exchange_step& at_step,
                                      const std::function<void(std::string_view)>& warn) {
  const auto over_libpq = [&](const target::arguments& with) { return connect(with, to, at_step); };
  return primary_search<database_connection, decltype(over_libpq)>(to, timelines::of_process(), warn, over_libpq)
      .find();
}

}  // namespace foliot::jobs::detail
