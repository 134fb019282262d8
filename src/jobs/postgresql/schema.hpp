// The schema of the store in its database: its text, which the build takes from sql/*.sql, the migration that makes it
// or brings it up to date, and the check of its version. schema_history.hpp has the versions.
//
// Any thread; a connection is used by one thread at a time.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/postgresql_store.hpp>

namespace foliot::jobs::detail {

class database_connection;

/// The tables of version 1.
[[nodiscard]] std::string_view schema_tables() noexcept;
/// The step from version 1 to version 2.
[[nodiscard]] std::string_view schema_step_2() noexcept;
/// The step to version 5. Versions 3 and 4 have the tables of version 2.
[[nodiscard]] std::string_view schema_step_5() noexcept;
/// The step to version 6.
[[nodiscard]] std::string_view schema_step_6() noexcept;
/// The functions, which every migration makes anew, file by file: a compiler need not take a literal of them all.
[[nodiscard]] std::span<const std::string_view> schema_functions() noexcept;
/// The query for the rights that the role of a node lacks: one text, empty if none.
[[nodiscard]] std::string_view query_of_missing_rights() noexcept;

/// Throws store_failure if the schema in this database is older than the program needs, or admits only newer programs.
void expect_admitted(database_connection& over, instant deadline);

/// As postgresql_store::migrate().
postgresql_store::migration migrate_schema(const std::string& database);

}  // namespace foliot::jobs::detail
