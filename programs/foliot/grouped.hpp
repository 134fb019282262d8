// Whole numbers for people: 1,234,567.
#pragma once

#include <cstdint>
#include <string>

namespace foliot::program {

[[nodiscard]] inline std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, 1, ',');
  return text;
}

}  // namespace foliot::program
