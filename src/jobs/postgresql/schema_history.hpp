// The versions of the schema, and which programs each one admits.
//
// A program knows one version. It works over a schema of this version, and over a newer one that still admits it: so
// nodes of two versions share a database while an upgrade replaces them one by one. For that, the calls of an older
// admitted program mean the same over a newer version: a function may get more arguments, at the end and with defaults;
// one whose result has other columns gets a new name (sql/earlier_programs.sql).
#pragma once

#include <span>
#include <string_view>

namespace foliot::jobs::detail {

struct schema_step {
  int to;  ///< brings the tables from the version before to this one
  std::string_view statements;
};

struct schema_history {
  int version;                         ///< of this program, and of the schema that it makes
  int oldest_program;                  ///< the version of the oldest programs that may use that schema
  std::span<const schema_step> steps;  ///< from version 1 on, in their order
};

/// In a file of its own, so that a test can link a program of another version.
[[nodiscard]] schema_history history_of_schema() noexcept;

}  // namespace foliot::jobs::detail
