// What somebody probably meant who wrote a word that there is not.
//
// Thread safety: a pure function. O(words * length^2).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::program {

/// The word that is nearest to `typed`: fewest characters are left out, added, exchanged for others, or swapped with
/// their neighbour. Nothing if more than a third of the characters of `typed` are wrong, and at least one; of several
/// words, the first.
[[nodiscard]] std::optional<std::string> nearest(std::string_view typed, const std::vector<std::string>& words);

}  // namespace foliot::program
