#include "trace.hpp"

#include <algorithm>
#include <array>

namespace foliot::model {

std::string_view to_string(order o) {
  constexpr std::array<std::string_view, 5> names{"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
  return names[static_cast<std::size_t>(o)];
}

std::string to_string(const site& where) {
  if (where.line() == 0) return "its beginning";
  const std::string_view file = where.file_name();
  return std::string(file.substr(file.find_last_of('/') + 1)) + ":" + std::to_string(where.line());
}

std::string to_string(bits value) {
  if (value < 1'000'000) return std::to_string(value);
  std::string text;
  for (; value != 0; value >>= 4) text.insert(text.begin(), "0123456789abcdef"[value & 15]);
  return "0x" + text;
}

std::string trace::text() const {
  std::size_t threads = 0;
  std::size_t whats = 0;
  for (const line& each : lines_) {
    threads = std::max(threads, each.thread.size());
    whats = std::max(whats, each.what.size());
  }
  std::string result;
  std::size_t number = 0;
  const auto padded = [](std::string text, std::size_t to) {
    text.resize(std::max(text.size(), to), ' ');
    return text;
  };
  for (const line& each : lines_) {
    const std::string count = std::to_string(++number);
    result += std::string(4 - std::min<std::size_t>(4, count.size()), ' ') + count + "  " +
              padded(each.thread, threads) + "  " + padded(each.what, whats) + "  " + each.place;
    result.erase(result.find_last_not_of(' ') + 1);
    result += '\n';
  }
  return result;
}

}  // namespace foliot::model
