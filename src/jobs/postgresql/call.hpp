// One call of an SQL function: its statement, its arguments and its reply, in libpq's binary format.
//
//   call one(statement::finish);
//   one.add(ids).add(openings);
//
// The statements are prepared by their names, once for each connection (database_connection.hpp). O(bytes) for each
// argument.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

namespace foliot::jobs::detail {

/// A statement of the store: its name, for a connection that has prepared it, and its text.
struct sql_statement {
  const char* name;
  const char* text;
};

using sql_integers = std::vector<std::optional<std::int64_t>>;
using sql_texts = std::vector<std::string_view>;
using sql_optional_texts = std::vector<std::optional<std::string_view>>;

class call {
 public:
  explicit call(const sql_statement& what) : what_(&what) {}

  call& add(std::int64_t value);
  call& add(std::string_view bytes);
  call& add(const sql_integers& values);
  call& add(const sql_texts& values);
  call& add(const sql_optional_texts& values);
  call& add(const std::optional<std::vector<std::int64_t>>& values);
  call& add_null_integer();
  call& add_null_bytes();

  [[nodiscard]] const sql_statement& what() const noexcept { return *what_; }
  [[nodiscard]] int count() const noexcept { return static_cast<int>(types_.size()); }
  [[nodiscard]] const unsigned* types() const noexcept { return types_.data(); }
  /// The value of this argument; none: NULL.
  [[nodiscard]] const std::optional<std::string>& value(int i) const { return values_[static_cast<std::size_t>(i)]; }

 private:
  call& push(unsigned type, std::optional<std::string> value);

  const sql_statement* what_;
  std::vector<unsigned> types_;
  std::vector<std::optional<std::string>> values_;
};

/// The result of a statement in libpq's binary format: rows of numbers, bytes and arrays of them.
///
/// Precondition of all accessors: the row and the column are there, and have this type. Move-only.
class reply {
 public:
  explicit reply(PGresult* result) noexcept : result_(result) {}

  [[nodiscard]] PGresult* get() const noexcept { return result_.get(); }
  [[nodiscard]] int rows() const noexcept { return PQntuples(result_.get()); }
  [[nodiscard]] bool is_null(int row, int column) const noexcept {
    return PQgetisnull(result_.get(), row, column) != 0;
  }
  [[nodiscard]] std::int64_t integer(int row, int column) const noexcept;
  [[nodiscard]] std::string_view bytes(int row, int column) const noexcept;
  /// Empty if the array is NULL. An element that is NULL is `null_element`.
  [[nodiscard]] std::vector<std::int64_t> integers(int row, int column) const;
  [[nodiscard]] std::vector<std::string> texts(int row, int column) const;

  static constexpr std::int64_t null_element = INT64_MIN;

 private:
  struct cleared {
    void operator()(PGresult* each) const noexcept { PQclear(each); }
  };
  std::unique_ptr<PGresult, cleared> result_;
};

}  // namespace foliot::jobs::detail
