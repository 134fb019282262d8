#include "number_option.hpp"

#include <charconv>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace foliot::program {

whole_number::whole_number(std::uint64_t least, std::uint64_t most) {
  func_ = [least, most](std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || number < least || number > most) {
      return fmt::format("'{}' is no whole number from {} to {}", text, least, most);
    }
    text = std::to_string(number);
    return std::string();
  };
}

size_text::size_text() {
  func_ = [](std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    const bool is_fraction = stop != end && *stop == '.';
    if (error != std::errc() || is_fraction)
      return fmt::format("'{}' is no size: write a whole number, and perhaps a unit, such as 64MB", text);
    text = std::to_string(number) + std::string(stop, end);
    return std::string();
  };
}

}  // namespace foliot::program
