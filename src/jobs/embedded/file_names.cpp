#include "file_names.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace foliot::jobs::detail {
namespace {

/// A number that no database reaches, because each of its files takes one.
constexpr std::uint64_t too_high = std::uint64_t{1} << 62;
/// RocksDB writes a number with this many digits, and with more only if it needs them.
constexpr std::size_t least_digits = 6;

struct pattern {
  std::string_view before;
  std::string_view behind;
  file_kind kind;
};
constexpr std::array patterns{
    pattern{"", ".log", file_kind::log},       pattern{"MANIFEST-", "", file_kind::manifest},
    pattern{"", ".sst", file_kind::table},     pattern{"", ".ldb", file_kind::table},
    pattern{"", ".blob", file_kind::table},    pattern{"", ".dbtmp", file_kind::other},
    pattern{"OPTIONS-", "", file_kind::other}, pattern{"OPTIONS-", ".dbtmp", file_kind::other},
    pattern{"METADB-", "", file_kind::other},
};

bool is_digit(char byte) noexcept { return byte >= '0' && byte <= '9'; }

}  // namespace

std::optional<numbered_name> read_name(std::string_view name) noexcept {
  for (const auto& [before, behind, kind] : patterns) {
    if (!name.starts_with(before) || !name.ends_with(behind) || name.size() <= before.size() + behind.size()) continue;
    const std::string_view digits = name.substr(before.size(), name.size() - before.size() - behind.size());
    if (!std::ranges::all_of(digits, is_digit)) continue;
    numbered_name read{kind};
    for (const char digit : digits) {
      const auto value = static_cast<std::uint64_t>(digit - '0');
      read.number = read.number <= too_high / 10 ? read.number * 10 + value : too_high;  // never beyond 64 bits
    }
    read.is_misread = read.number >= too_high || digits.size() < least_digits ||
                      (digits.size() > least_digits && digits.front() == '0');
    return read;
  }
  return std::nullopt;
}

}  // namespace foliot::jobs::detail
