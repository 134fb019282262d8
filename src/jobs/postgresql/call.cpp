#include "call.hpp"

#include <bit>
#include <utility>

#include "wire.hpp"

namespace foliot::jobs::detail {

namespace {

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

}  // namespace foliot::jobs::detail
