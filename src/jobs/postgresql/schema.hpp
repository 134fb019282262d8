// The schema of the store in its database: sql/*.sql, which are part of the library.
#pragma once

#include <string>
#include <string_view>

#include <foliot/jobs/postgresql_store.hpp>

namespace foliot::jobs::detail {

/// The tables of version 1.
[[nodiscard]] std::string_view schema_tables() noexcept;
/// The functions, which every migration makes anew.
[[nodiscard]] std::string_view schema_functions() noexcept;

/// As postgresql_store::migrate().
postgresql_store::migration migrate_schema(const std::string& database);

}  // namespace foliot::jobs::detail
