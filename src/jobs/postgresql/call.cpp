#include "call.hpp"

#include <bit>
#include <cstddef>
#include <utility>

namespace foliot::jobs::detail {

namespace {

// PostgreSQL's binary formats: numbers with the most significant byte first, and the types' numbers, which are fixed.

constexpr unsigned type_bytea = 17;
constexpr unsigned type_int8 = 20;
constexpr unsigned type_int8_array = 1016;
constexpr unsigned type_bytea_array = 1001;
/// The length of an element that is NULL.
constexpr std::uint32_t null_length = 0xffffffffU;

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
}
void put_u64(std::string& out, std::uint64_t value) {
  put_u32(out, static_cast<std::uint32_t>(value >> 32));
  put_u32(out, static_cast<std::uint32_t>(value));
}
std::uint32_t get_u32(const char* from) noexcept {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(from[i]);
  return value;
}
std::uint64_t get_u64(const char* from) noexcept { return std::uint64_t{get_u32(from)} << 32 | get_u32(from + 4); }

/// The head of an array of one dimension, before its elements.
std::string array_of(unsigned element, std::size_t count, bool has_nulls) {
  std::string out;
  put_u32(out, count == 0 ? 0 : 1);
  put_u32(out, has_nulls ? 1 : 0);
  put_u32(out, element);
  if (count == 0) return out;
  put_u32(out, static_cast<std::uint32_t>(count));
  put_u32(out, 1);  // the first index
  return out;
}

}  // namespace

call& call::push(unsigned type, std::optional<std::string> value) {
  types_.push_back(type);
  values_.push_back(std::move(value));
  return *this;
}

call& call::add(std::int64_t value) {
  std::string out;
  put_u64(out, static_cast<std::uint64_t>(value));
  return push(type_int8, std::move(out));
}

call& call::add(std::string_view bytes) { return push(type_bytea, std::string(bytes)); }

call& call::add(const sql_integers& values) {
  bool has_nulls = false;
  for (const auto& each : values) has_nulls = has_nulls || !each;
  std::string out = array_of(type_int8, values.size(), has_nulls);
  for (const auto& each : values) {
    put_u32(out, each ? 8 : null_length);
    if (each) put_u64(out, static_cast<std::uint64_t>(*each));
  }
  return push(type_int8_array, std::move(out));
}

call& call::add(const sql_texts& values) {
  std::string out = array_of(type_bytea, values.size(), false);
  for (const std::string_view each : values) {
    put_u32(out, static_cast<std::uint32_t>(each.size()));
    out += each;
  }
  return push(type_bytea_array, std::move(out));
}

call& call::add(const sql_optional_texts& values) {
  bool has_nulls = false;
  for (const auto& each : values) has_nulls = has_nulls || !each;
  std::string out = array_of(type_bytea, values.size(), has_nulls);
  for (const auto& each : values) {
    put_u32(out, each ? static_cast<std::uint32_t>(each->size()) : null_length);
    if (each) out += *each;
  }
  return push(type_bytea_array, std::move(out));
}

call& call::add(const std::optional<std::vector<std::int64_t>>& values) {
  if (!values) return push(type_int8_array, std::nullopt);
  return add(sql_integers(values->begin(), values->end()));
}

call& call::add_null_integer() { return push(type_int8, std::nullopt); }
call& call::add_null_bytes() { return push(type_bytea, std::nullopt); }

namespace {

/// Calls `each` with the bytes of every element of an array of one dimension; with null for an element that is NULL.
/// Before the elements the array has the number of its dimensions, a flag and the type of the elements, then the length
/// and the first index of the dimension; and before the bytes of each element, their number.
template <class Each>
void for_each_element(std::string_view array, Each each) {
  constexpr std::size_t head = 12;
  constexpr std::size_t dimension = 8;
  if (array.size() < head + dimension || get_u32(array.data()) == 0) return;
  const std::uint32_t count = get_u32(array.data() + head);
  const char* at = array.data() + head + dimension;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t length = get_u32(at);
    at += 4;
    if (length == null_length) {
      each(nullptr, std::size_t{0});
    } else {
      each(at, std::size_t{length});
      at += length;
    }
  }
}

}  // namespace

std::string_view reply::bytes(int row, int column) const noexcept {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t reply::integer(int row, int column) const noexcept {
  return static_cast<std::int64_t>(get_u64(PQgetvalue(result_.get(), row, column)));
}

std::vector<std::int64_t> reply::integers(int row, int column) const {
  std::vector<std::int64_t> all;
  for_each_element(bytes(row, column), [&](const char* at, std::size_t) {
    all.push_back(at == nullptr ? null_element : static_cast<std::int64_t>(get_u64(at)));
  });
  return all;
}

std::vector<std::string> reply::texts(int row, int column) const {
  std::vector<std::string> all;
  for_each_element(bytes(row, column), [&](const char* at, std::size_t length) {
    all.emplace_back(at == nullptr ? "" : std::string(at, length));
  });
  return all;
}

}  // namespace foliot::jobs::detail
