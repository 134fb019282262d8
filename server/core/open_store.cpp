#include "open_store.hpp"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/memory_store.hpp>
#if defined(FOLIOT_HAS_EMBEDDED_STORE)
#include <foliot/jobs/embedded_store.hpp>
#endif
#if defined(FOLIOT_HAS_POSTGRESQL_STORE)
#include <foliot/core/seam/random.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#endif

#include "process_end.hpp"
#include "session_name.hpp"
#include "side_by_side.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

#if defined(FOLIOT_HAS_EMBEDDED_STORE)
/// Whether a store was made in the folder. RocksDB keeps the file CURRENT in each of its databases, beside its logs and
/// tables; opening a store from which it is missing says so.
bool has_store(const std::string& folder) {
  std::error_code failed;
  if (std::filesystem::exists(folder + "/CURRENT", failed)) return true;
  for (std::filesystem::directory_iterator each(folder, failed), end; !failed && each != end; each.increment(failed)) {
    const std::filesystem::path kind = each->path().extension();
    if (kind == ".log" || kind == ".sst") return true;
  }
  return false;
}

/// From so many jobs on, a check takes longer than a user waits without a sign of life.
constexpr std::uint64_t jobs_of_a_long_check = 500'000;

std::unique_ptr<jobs::job_store> open_folder(const serve_options& options, const server_log& log) {
  jobs::embedded_options how;
  how.folder = options.folder;
  how.salvage = options.salvage;
  how.warn = [&log](std::string_view sentence) { log.warning(sentence); };
  if (options.max_jobs != 0) how.most_jobs = options.max_jobs;
  if (options.sync_every) {
    how.sync_every = std::chrono::ceil<jobs::milliseconds>(std::chrono::nanoseconds(options.sync_every->count()));
  }
  log.info(fmt::format("open the jobs in {}", options.folder));  // which takes long if there are many
  try {
    const memory_needed here;
    auto store = std::make_unique<jobs::embedded_store>(how);
    if (options.sync_every) {
      log.warning(fmt::format("jobs are in {}; a crash of the machine loses what was acknowledged in the last {}",
                              options.folder, to_string(*options.sync_every)));
    } else {
      log.info(fmt::format("jobs are in {}; what is acknowledged has been synced", options.folder));
    }
    return store;
  } catch (const jobs::store_failure& error) {
    throw failure(error.what());
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    end_process(refused_thread);
  }
}
#else
std::unique_ptr<jobs::job_store> open_folder(const serve_options&, const server_log&) {
  throw failure("this program was built without RocksDB and can keep jobs in memory only: add --memory");
}
#endif

#if defined(FOLIOT_HAS_POSTGRESQL_STORE)
static_assert(longest_node + std::string_view(" (session 32)").size() <= 200 && most_sessions < 100,
              "the store takes names of 200 bytes");

std::unique_ptr<jobs::job_store> open_session(const serve_options& options, const server_log& log, std::size_t index) {
  jobs::postgresql_options how;
  how.database = options.database;
  how.node = session_name(options.node, index);
  how.node_timeout = std::chrono::ceil<jobs::milliseconds>(std::chrono::nanoseconds(options.node_timeout.count()));
  const std::string label = options.sessions == 1 ? "" : fmt::format("session {}: ", index + 1);
  how.warn = [&log, label](std::string_view sentence) { log.warning(label + std::string(sentence)); };
  auto store = std::make_unique<jobs::postgresql_store>(how);
  if (index == 0) {
    log.info(fmt::format("jobs are in the database {}, for all its nodes; this one is '{}', with {} session{}",
                         store->place(), options.node, options.sessions, options.sessions == 1 ? "" : "s"));
    log.info("what is acknowledged has been committed, also by those standbys that the database is set to wait for");
  }
  return store;
}

/// Opens the first session before the others, so that an error of the database is reported once.
std::vector<std::unique_ptr<jobs::job_store>> open_database(const serve_options& options, const server_log& log) {
  std::vector<std::unique_ptr<jobs::job_store>> all(options.sessions);
  try {
    all.front() = open_session(options, log, 0);
  } catch (const jobs::store_failure& error) {
    throw failure(error.what());
  }
  side_by_side(options.sessions - 1, [&](std::size_t i) {
    try {
      all[i + 1] = open_session(options, log, i + 1);
    } catch (const jobs::store_failure& error) {
      throw failure(fmt::format("{}; this was session {}: if the database allows too few connections, lower --sessions",
                                error.what(), i + 2));
    }
  });
  return all;
}

/// Opens the store as a node that serves nobody. Its name is its own: a node of the same name would lose its jobs.
std::unique_ptr<jobs::postgresql_store> visit_database(const std::string& database, std::string_view purpose) {
  jobs::postgresql_options how;
  how.database = database;
  how.node = fmt::format("{} {:016x}", purpose, random_stream::entropy());
  return std::make_unique<jobs::postgresql_store>(how);
}
#else
constexpr const char* without_database = "this program was built without libpq, which --store needs";

std::vector<std::unique_ptr<jobs::job_store>> open_database(const serve_options&, const server_log&) {
  throw failure(without_database);
}
#endif

std::unique_ptr<jobs::job_store> open_memory(const serve_options& options, const server_log& log) {
  log.warning("jobs are in memory: they end with this process");
  jobs::memory_bounds bounds;
  if (options.max_jobs != 0) bounds.jobs = options.max_jobs;
  if (options.max_memory != 0) bounds.bytes = options.max_memory;
  return std::make_unique<jobs::memory_store>(jobs::store_clocks{}, bounds);
}

}  // namespace

std::vector<std::unique_ptr<jobs::job_store>> open_stores(const serve_options& options, const server_log& log) {
  if (!options.database.empty()) return open_database(options, log);
  std::vector<std::unique_ptr<jobs::job_store>> one;
  one.push_back(options.folder.empty() ? open_memory(options, log) : open_folder(options, log));
  return one;
}

std::string back_up_store([[maybe_unused]] jobs::job_store& store, [[maybe_unused]] const serve_options& options) {
#if defined(FOLIOT_HAS_EMBEDDED_STORE)
  if (auto* const on_disk = dynamic_cast<jobs::embedded_store*>(&store)) {
    std::string time;
    append_log_milliseconds(time, wall_clock::instance().now());
    std::erase(time, ':');  // which means another machine to some programs
    const std::string name = options.folder + "/backups/" + time;
    try {
      const memory_needed here;
      on_disk->back_up(name);
    } catch (const jobs::store_failure& error) {
      throw failure(error.what());
    }
    return name;
  }
#endif
  if (!options.database.empty()) {
    throw failure("cannot make a backup: the jobs are in a database, which has its own (pg_basebackup, pg_dump)");
  }
  throw failure("cannot make a backup: the jobs are in memory");
}

void check_store([[maybe_unused]] const std::string& folder) {
#if defined(FOLIOT_HAS_EMBEDDED_STORE)
  if (!has_store(folder)) {  // opening would make one
    throw failure(fmt::format("there is no job store in '{}': name the folder of a store", folder),
                  exit_code::bad_input);
  }
  std::unique_ptr<jobs::embedded_store> store;
  try {
    jobs::embedded_options how;
    how.folder = folder;
    how.for_check = true;
    store = std::make_unique<jobs::embedded_store>(how);
    const std::uint64_t count = jobs::execute_one(*store, jobs::count_all{}).counts.all();
    if (count >= jobs_of_a_long_check) fmt::print(stderr, "{}: reading {} jobs\n", folder, count);
    if (const auto found = store->check(); !found) {
      throw failure(fmt::format("the store in '{}' is damaged: {}", folder, found.error()), exit_code::bad_input);
    }
  } catch (const jobs::store_failure& error) {
    throw failure(error.what(), exit_code::bad_input);
  }
  fmt::print("{}: no damage found\n", folder);
#else
  throw failure("this program was built without RocksDB, which --check needs");
#endif
}

void check_database([[maybe_unused]] const std::string& database) {
#if defined(FOLIOT_HAS_POSTGRESQL_STORE)
  std::vector<std::string> places;
  try {
    const auto store = visit_database(database, "check");
    if (const auto found = store->check(); !found) {
      throw failure(fmt::format("the store in {} is damaged: {}", store->place(), found.error()), exit_code::bad_input);
    }
    places = store->places();
  } catch (const jobs::store_failure& error) {
    throw failure(error.what(), exit_code::bad_input);
  } catch (const jobs::store_unavailable& error) {
    throw failure(error.what(), exit_code::bad_input);
  }
  for (const std::string& each : places) fmt::print("{}: no damage found\n", each);
#else
  throw failure(without_database);
#endif
}

void migrate_database([[maybe_unused]] const std::string& database) {
#if defined(FOLIOT_HAS_POSTGRESQL_STORE)
  try {
    const auto did = jobs::postgresql_store::migrate(database);
    const std::string place = visit_database(database, "migrate")->place();
    if (did.from == 0) {
      fmt::print("foliot: made the schema, version {}, in {}\n", did.to, place);
    } else if (did.from == did.to) {
      fmt::print("foliot: the schema in {} is up to date, version {}\n", place, did.to);
    } else {
      fmt::print("foliot: brought the schema in {} from version {} to {}\n", place, did.from, did.to);
    }
  } catch (const jobs::store_failure& error) {
    throw failure(error.what());
  }
#else
  throw failure(without_database);
#endif
}

}  // namespace foliot::program
