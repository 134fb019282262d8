// The keys of the embedded store's column families, and the entries of its indexes. All numbers are big-endian, so that
// the order of the bytes is the order of the numbers.
//
//   family    key                      value
//   meta      "version"                the format's number (opening.hpp)
//             "opening"                the number of the latest opening
//             "ids"                    the first id that may be new
//             't', tube                the tube's row (tube.hpp)
//             'k', digest of 32 bytes  an operation that happens once: the digest of its request, 32 bytes; its end,
//                                      8 bytes; 'p' for a put, 'a' for a put_all; for each put 1 byte of its answer's
//                                      kind, and the id of the job
//             'e', end, digest         nothing             the end of each of these
//   jobs      id                       the job's record (record.hpp)
//   bodies    id                       a body that is too long for the record
//   due       tube, due, id            priority            every delayed job
//   ready     tube, priority, id       nothing             every ready and every reserved job
//   buried    tube, sequence           id                  every buried job
//   keys      tube, key                id                  every job with a key
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/jobs/job.hpp>

namespace foliot::jobs::detail {

/// By which keys name a tube, in place of its name. While the store is open, each new tube has a higher number.
using tube_number = std::uint64_t;
inline constexpr std::size_t tube_size = sizeof(tube_number);

/// The column families, in the order in which they are opened.
enum class family : std::uint8_t { meta, jobs, bodies, due, ready, buried, keys };
inline constexpr std::size_t families = 7;

template <std::unsigned_integral Number>
constexpr char* write_big(char* to, Number number) noexcept {
  for (std::size_t byte = sizeof(Number); byte-- > 0;) *to++ = static_cast<char>(number >> (8 * byte));
  return to;
}

template <std::unsigned_integral Number>
constexpr Number read_big(const char* from) noexcept {
  std::uint64_t number = 0;
  for (std::size_t byte = 0; byte < sizeof(Number); ++byte)
    number = number << 8 | static_cast<unsigned char>(from[byte]);
  return static_cast<Number>(number);
}

/// Maps signed numbers to unsigned ones in the same order.
constexpr std::uint64_t ordered(std::int64_t number) noexcept {
  return static_cast<std::uint64_t>(number) ^ (std::uint64_t{1} << 63);
}
constexpr std::int64_t from_ordered(std::uint64_t number) noexcept {
  return static_cast<std::int64_t>(number ^ (std::uint64_t{1} << 63));
}

template <std::size_t Size>
std::string_view view(const std::array<char, Size>& key) noexcept {
  return {key.data(), Size};
}

template <std::unsigned_integral Number>
std::array<char, sizeof(Number)> number_key(Number number) noexcept {
  std::array<char, sizeof(Number)> key;
  write_big(key.data(), number);
  return key;
}

/// A ready job as its index has it: the first in order is claimed first.
struct ready_entry {
  jobs::priority priority = 0;
  job_id id = 0;

  static constexpr family home = family::ready;
  static constexpr std::size_t key_size = tube_size + 12;

  [[nodiscard]] std::array<char, key_size> key(tube_number tube) const noexcept {
    std::array<char, key_size> bytes;
    write_big(write_big(write_big(bytes.data(), tube), priority), id);
    return bytes;
  }
  static ready_entry read(std::string_view key, std::string_view /*value*/) noexcept {
    return {read_big<std::uint32_t>(key.data() + tube_size), read_big<std::uint64_t>(key.data() + tube_size + 4)};
  }
  friend constexpr auto operator<=>(const ready_entry&, const ready_entry&) noexcept = default;
};

/// A delayed job as its index has it: the first in order is due first.
struct due_entry {
  std::int64_t due = 0;  ///< milliseconds since 1970
  job_id id = 0;
  jobs::priority priority = 0;  ///< no part of the key: an id is there once

  static constexpr family home = family::due;
  static constexpr std::size_t key_size = tube_size + 16;

  [[nodiscard]] std::array<char, key_size> key(tube_number tube) const noexcept {
    std::array<char, key_size> bytes;
    write_big(write_big(write_big(bytes.data(), tube), ordered(due)), id);
    return bytes;
  }
  [[nodiscard]] std::array<char, 4> value() const noexcept { return number_key(priority); }
  static due_entry read(std::string_view key, std::string_view value) noexcept {
    return {from_ordered(read_big<std::uint64_t>(key.data() + tube_size)),
            read_big<std::uint64_t>(key.data() + tube_size + 8), read_big<std::uint32_t>(value.data())};
  }
  friend constexpr auto operator<=>(const due_entry&, const due_entry&) noexcept = default;
};

inline std::array<char, tube_size + 8> buried_key(tube_number tube, std::uint64_t sequence) noexcept {
  std::array<char, tube_size + 8> key;
  write_big(write_big(key.data(), tube), sequence);
  return key;
}

inline std::string name_key(tube_number tube, std::string_view name) {
  std::string key(view(number_key(tube)));
  key += name;
  return key;
}

inline std::array<char, 1 + tube_size> row_key(tube_number tube) noexcept {
  std::array<char, 1 + tube_size> key{'t'};
  write_big(key.data() + 1, tube);
  return key;
}

}  // namespace foliot::jobs::detail
