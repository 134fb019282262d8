// The result of a statement in libpq's binary format: rows of numbers, bytes and arrays of them.
//
// Precondition of all accessors: the row and the column are there, and have this type. Move-only.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::jobs::detail {

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
