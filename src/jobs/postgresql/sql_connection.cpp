#include "sql_connection.hpp"

#include <chrono>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/jobs/job_store.hpp>

#include "notification_listener.hpp"
#include "primary.hpp"
#include "schema.hpp"
#include "schema_history.hpp"
#include "sql_constants.hpp"
#include "statements.hpp"

namespace foliot::jobs::detail {

namespace {

/// Every statement of the store is short, and knows its indexes: the planner must not think otherwise of a table that
/// was empty when it looked. No batch waits long for a lock, which an application may hold as long as it likes. A
/// server ends by itself what a node that was stopped or cut off has left open.
constexpr const char* settings =
    "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; "
    "SET enable_sort = off; SET jit = off; SET plan_cache_mode = force_generic_plan; "
    "SET client_min_messages = warning; SET default_transaction_isolation = 'read committed'; "
    "SET lock_timeout = '250ms'; SET idle_in_transaction_session_timeout = '2s'; SET client_connection_check_interval "
    "= '1s'; "
    "SET tcp_user_timeout = '10s'; "
    "SELECT EXISTS (SELECT FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace "
    "WHERE s.nspname = 'foliot' AND p.proname = 'schema_version'), current_setting('fsync'), "
    "(SELECT format('pid = %s AND extract(epoch FROM backend_start) = %s', pid, extract(epoch FROM backend_start)) "
    "FROM pg_stat_activity WHERE pid = pg_backend_pid())";

std::string_view text_of(const reply& from, int column) { return from.bytes(0, column); }

class sql_connection final : public node_connection {
 public:
  explicit sql_connection(primary_connection made) : over_(std::move(made.over)), server_(std::move(made.server)) {}

  [[nodiscard]] std::string place() const override { return over_->place(); }
  [[nodiscard]] bool is_replaced() const override { return timelines::of_process().is_replaced(server_); }

  [[nodiscard]] description prepare(bool is_first, instant deadline) override {
    const reply about = over_->execute_text(std::string(durable_commits) + settings, deadline);
    if (text_of(about, 0) != "t") {
      throw store_failure("the database " + place() +
                          " has no schema of foliot: make it with postgresql_store::migrate(), or `foliot serve "
                          "--migrate`");
    }
    expect_rights(is_first, deadline);
    expect_admitted(*over_, deadline);
    description found;
    found.process = text_of(about, 2);
    found.is_durable = text_of(about, 1) == "on";
    found.origin = text_of(over_->execute_text("SELECT foliot.recognize()", deadline), 0);
    return found;
  }
  [[nodiscard]] std::optional<std::int64_t> announce(const announcement& who, const given_time& time,
                                                     instant deadline) override {
    call what(statements::announce);
    what.add(who.node).add(who.process).add(who.timeout.count()).add(who.before).add(time);
    // Since the connection was made, a migration may have ended.
    std::vector<call> calls{call(statements::admit), std::move(what)};
    calls.front().add(history_of_schema().version);
    const auto replies = over_->run(calls, deadline);
    if (replies.back().is_null(0, 0)) return std::nullopt;
    return replies.back().integer(0, 0);
  }
  [[nodiscard]] batch_plan::outcome execute(std::span<const operation> batch, const batch_frame& frame,
                                            batch_time& time, instant deadline) override {
    const batch_plan plan(batch, frame);
    const std::vector<reply> replies = over_->run(plan.calls(), deadline);
    return plan.read(replies, time);
  }
  void commit(instant deadline) override { over_->commit(deadline); }
  void roll_back(instant deadline) override { over_->roll_back(deadline); }
  [[nodiscard]] bool goes_on_after(const database_failure& failure, instant deadline) noexcept override {
    return over_->goes_on_after(failure, deadline);
  }

  [[nodiscard]] bool has_happened(std::int64_t registration, std::int64_t number, std::int64_t partition,
                                  instant deadline) override {
    call ask(statements::has_happened);
    return run(ask.add(registration).add(number).add(partition), deadline).integer(0, 0) != 0;
  }
  [[nodiscard]] std::vector<held_reservation> reservations_of(std::int64_t registration, const given_time& time,
                                                              instant deadline) override {
    call what(statements::reservations_of);
    const reply all = run(what.add(registration).add(time), deadline);
    const auto ids = all.integers(0, 0);
    const auto openings = all.integers(0, 1);
    const auto attempts = all.integers(0, 2);
    const auto left = all.integers(0, 3);
    std::vector<held_reservation> held;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      held.push_back({{from_database(ids[i]), from_database(openings[i]), from_database(attempts[i])},
                      duration::nanoseconds(left[i])});
    }
    return held;
  }
  [[nodiscard]] bool close_registration(std::int64_t registration, instant deadline) override {
    call what(statements::close_registration);
    return run(what.add(registration), deadline).integer(0, 0) != 0;
  }
  [[nodiscard]] tube_map read_map(instant deadline) override {
    const std::vector<call> calls{call(statements::read_databases), call(statements::read_places)};
    const auto replies = over_->run(calls, deadline);
    return {replies.front(), replies.back()};
  }
  [[nodiscard]] std::optional<std::string> check_jobs(instant deadline) override {
    const std::vector<call> calls{call(statements::one_snapshot), call(statements::keep_partitions),
                                  call(statements::long_statement), call(statements::check_jobs)};
    const auto replies = over_->run(calls, deadline);
    if (replies.back().is_null(0, 0)) return std::nullopt;
    return std::string(replies.back().bytes(0, 0));
  }
  [[nodiscard]] std::int64_t rotate(instant deadline) override {
    return run(call(statements::rotate), deadline).integer(0, 0);
  }
  void give_up_ballast(instant deadline) override {
    static_cast<void>(run(call(statements::give_up_ballast), deadline));
  }
  void make_tubes_before(const std::set<std::string_view>& tubes, instant deadline) override {
    call what(statements::make_tubes_before);
    static_cast<void>(run(what.add(sql_texts(tubes.begin(), tubes.end())), deadline));
  }

  [[nodiscard]] bool ends_process(const std::string& process, bool terminates, instant deadline) override {
    // A pooler may have given this connection the same process.
    const std::string it = " FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND " + process;
    const std::string look = "SELECT count(*)" + it;
    const std::string end = "SELECT count(pg_terminate_backend(pid))" + it +
                            " AND has_function_privilege('pg_terminate_backend(integer, bigint)', 'EXECUTE')";
    return text_of(over_->execute_text(terminates ? end : look, deadline), 0) == "0";
  }
  [[nodiscard]] bool waits_for_standby(const std::string& process, instant deadline) override {
    const std::string waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND " + process;
    return text_of(over_->execute_text(waits, deadline), 0) != "0";
  }

 private:
  reply run(const call& what, instant deadline) { return std::move(over_->run(std::span(&what, 1), deadline).front()); }
  void expect_rights(bool is_first, instant deadline) {
    const reply found = over_->execute_text(std::string(query_of_missing_rights()), deadline);
    const std::string missing(text_of(found, 0));
    if (missing.empty()) return;
    const std::string role(text_of(over_->execute_text("SELECT current_user", deadline), 0));
    const std::string sentence = "the role '" + role + "' lacks rights in the database " + place() + ": " + missing +
                                 ". Repeat the GRANTs of docs/serve/nodes.md, \"Privileges\"";
    if (is_first) throw store_failure(sentence);
    throw database_failure(std::string(lacks_rights), sentence);
  }

  const std::unique_ptr<database_connection> over_;
  const reached_server server_;
};

}  // namespace

std::unique_ptr<node_connection> sql_access::connect(target& to, const warning& warn) {
  return std::make_unique<sql_connection>(connect_to_primary(to, at_step_, warn));
}

std::unique_ptr<node_listener> sql_access::listen(const std::string& database, duration scan_every) {
  return std::make_unique<notification_listener>(database, scan_every);
}

std::shared_ptr<database_access> sql_access::of_other_databases() { return std::make_shared<sql_access>(); }

}  // namespace foliot::jobs::detail
