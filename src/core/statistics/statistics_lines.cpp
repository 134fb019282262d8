#include "statistics_lines.hpp"

namespace foliot::detail {

void append_line(std::string& to, std::string_view name, std::uint64_t number) {
  to.append(name).append(" ").append(std::to_string(number)).append("\n");
}

void append_line(std::string& to, std::string_view name, const histogram& values) {
  to.append(name).append(" ").append(std::to_string(values.sum_nanoseconds()));
  to.append(" ").append(std::to_string(values.max().count()));
  for (std::size_t i = 0; i < histogram::buckets; ++i) {
    if (values.count_in(i) == 0) continue;
    to.append(" ").append(std::to_string(i)).append(":").append(std::to_string(values.count_in(i)));
  }
  to += '\n';
}

void append_escaped(std::string& to, std::string_view text, std::string_view also) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\' && !also.contains(c)) {
      to += c;
    } else {
      to.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
}

bool line_reader::read_escaped(std::string& text, char end) {
  const std::size_t length = left_.find(end);
  if (length == std::string_view::npos) return false;
  const std::string_view escaped = left_.substr(0, length);
  for (std::size_t i = 0; i < length; ++i) {
    if (escaped[i] != '\\') {
      if (escaped[i] == '\n') return false;
      text += escaped[i];
      continue;
    }
    unsigned char byte = 0;
    const char* const digits = escaped.data() + i + 2;
    if (i + 4 > length || escaped[i + 1] != 'x') return false;
    if (const auto [stop, error] = std::from_chars(digits, digits + 2, byte, 16); stop != digits + 2) return false;
    text += static_cast<char>(byte);
    i += 3;
  }
  left_.remove_prefix(length + 1);
  return true;
}

std::string excerpt(std::string_view line) {
  constexpr std::size_t longest = 60;
  std::string text = "'";
  append_escaped(text, line.substr(0, longest), "");
  return text + (line.size() > longest ? "'..." : "'");
}

std::string wrong_beginning(std::string_view text, std::string_view family) {
  if (text.starts_with(family) && text.substr(family.size()).starts_with(' ')) {
    return "these statistics are of another version of foliot";
  }
  return "the text does not begin with '" + std::string(family) + "'";
}

std::string malformed(std::string_view text, std::string_view left) {
  if (!text.ends_with("\nend\n")) return "the statistics are cut short";
  return "the statistics have a malformed line: " + excerpt(left.substr(0, left.find('\n')));
}

}  // namespace foliot::detail
