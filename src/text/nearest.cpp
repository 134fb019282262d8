#include "nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace foliot::program {

namespace {

/// Words are not longer: those of a command line that are, are file names.
constexpr std::size_t longest_word = 64;

/// The optimal string alignment distance (Damerau and Levenshtein's, where no part is edited twice).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_above(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool is_same = a[i - 1] == b[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (is_same ? 0 : 1)});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
    std::swap(two_above, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view typed, const std::vector<std::string>& words) {
  if (typed.size() > longest_word) return std::nullopt;
  std::optional<std::string> found;
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string& each : words) {
    const std::size_t far = distance(typed, each);
    if (far >= least || far >= each.size()) continue;  // a word of which nothing is left is another one
    least = far;
    found = each;
  }
  return found;
}

}  // namespace foliot::program
