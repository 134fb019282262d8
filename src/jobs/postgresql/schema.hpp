// The schema of the store in its database: sql/*.sql, which are part of the library.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/postgresql_store.hpp>

namespace foliot::jobs::detail {

/// The tables of version 1.
[[nodiscard]] std::string_view schema_tables() noexcept;
/// The step from version 1 to version 2.
[[nodiscard]] std::string_view schema_step_2() noexcept;
/// The functions, which every migration makes anew, file by file: a compiler need not take a literal of them all.
[[nodiscard]] std::span<const std::string_view> schema_functions() noexcept;

class database_connection;

/// Throws store_failure if the schema does not admit this program.
void expect_admitted(database_connection& over, instant deadline);

/// As postgresql_store::migrate().
postgresql_store::migration migrate_schema(const std::string& database);

}  // namespace foliot::jobs::detail
