// PostgreSQL's binary formats: numbers with the most significant byte first, and the types' numbers, which are fixed.
#pragma once

#include <cstdint>
#include <string>

namespace foliot::jobs::detail {

inline constexpr unsigned type_bytea = 17;
inline constexpr unsigned type_int8 = 20;
inline constexpr unsigned type_int8_array = 1016;
inline constexpr unsigned type_bytea_array = 1001;
/// The length of an element that is NULL.
inline constexpr std::uint32_t null_length = 0xffffffffU;

inline void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
}
inline void put_u64(std::string& out, std::uint64_t value) {
  put_u32(out, static_cast<std::uint32_t>(value >> 32));
  put_u32(out, static_cast<std::uint32_t>(value));
}
[[nodiscard]] inline std::uint32_t get_u32(const char* from) noexcept {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(from[i]);
  return value;
}
[[nodiscard]] inline std::uint64_t get_u64(const char* from) noexcept {
  return std::uint64_t{get_u32(from)} << 32 | get_u32(from + 4);
}

}  // namespace foliot::jobs::detail
