// Names that all have one text_hash: a client that knows the function can choose such names.
//
// In a name of 32 bytes or more the third word meets what the first two were mixed into. Where the two are
// equal, one factor of the next product is zero, and what came before is forgotten.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "text_hash.hpp"

namespace foliot::program {

inline std::vector<std::string> colliding_names(std::size_t count) {
  constexpr std::uint64_t first = 0xa0761d6478bd642f;
  constexpr std::uint64_t second = 0xe7037ed1a0b428db;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    std::string name = fmt::format("{:08x}abcdefgh", i);
    const std::uint64_t mixed = detail::fold_product(detail::load_word<std::uint64_t>(name.data()) ^ second,
                                                     detail::load_word<std::uint64_t>(name.data() + 8) ^ first);
    name += "ABCDEFGH";
    for (int byte = 0; byte < 8; ++byte) name += static_cast<char>(mixed >> 8 * byte);
    names.push_back(name + "tail.example");
  }
  return names;
}

}  // namespace foliot::program
