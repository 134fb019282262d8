#include "job/text_table.hpp"

#include <algorithm>
#include <cstdint>

#include "text/printable.hpp"

namespace foliot::program::terminal {

namespace {

struct range {
  std::uint32_t first;
  std::uint32_t last;
};

// The blocks, not each character: a table that is a column off is still read.
constexpr range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
                          {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
                          {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
constexpr range narrow[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x64b, 0x65f},   {0x1ab0, 0x1aff},
                            {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

template <std::size_t Count>
bool is_in(std::uint32_t code, const range (&ranges)[Count]) noexcept {
  return std::ranges::any_of(ranges, [code](range each) { return code >= each.first && code <= each.last; });
}

std::size_t width_of(std::uint32_t code) noexcept {
  if (code < 0x300) return 1;
  if (is_in(code, narrow)) return 0;
  return is_in(code, wide) ? 2 : 1;
}

/// The size in bytes of the first character. Precondition: the text is UTF-8, and not empty.
std::size_t size_of_first(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text.front());
  return std::min<std::size_t>(text.size(), lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1);
}

std::uint32_t code_of(std::string_view character) noexcept {
  auto code = static_cast<std::uint32_t>(static_cast<unsigned char>(character.front()));
  if (character.size() > 1) code &= 0x7fU >> character.size();
  for (const char each : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(each) & 0x3fU);
  return code;
}

}  // namespace

std::size_t shown_width(std::string_view text) noexcept {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::string_view first = text.substr(0, size_of_first(text));
    width += width_of(code_of(first));
    text.remove_prefix(first.size());
  }
  return width;
}

std::string shortened(std::string_view text, std::size_t width) {
  // No character takes more than four bytes, and combining ones should not be endless.
  const std::string_view looked_at = text.substr(0, 8 * width + 64);
  const std::string shown = printable(looked_at);
  if (looked_at.size() == text.size() && shown_width(shown) <= width) return shown;
  std::string_view left = shown;
  std::size_t used = 1;  // of "…"
  std::string cut;
  while (!left.empty()) {
    const std::string_view first = left.substr(0, size_of_first(left));
    used += width_of(code_of(first));
    if (used > width) break;
    cut += first;
    left.remove_prefix(first.size());
  }
  return cut + "…";
}

void text_table::add(const std::vector<std::string>& cells) {
  std::vector<std::string> row;
  row.reserve(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) row.push_back(shortened(cells.at(i), columns_[i].most));
  rows_.push_back(std::move(row));
}

std::string text_table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = 0;
    for (const auto& row : rows_) width = std::max(width, shown_width(row[i]));
    widths.push_back(width == 0 && !rows_.empty() ? 0 : std::max(width, columns_[i].head.size()));
  }
  std::string all;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::string& cell = cell_of(i);
      const std::string blanks(widths[i] - shown_width(cell), ' ');
      line += columns_[i].is_right ? blanks + cell : cell + blanks;
      line += "  ";
    }
    line.resize(line.find_last_not_of(' ') + 1);
    all += line + "\n";
  };
  add_line([&](std::size_t i) -> const std::string& { return columns_[i].head; });
  for (const auto& row : rows_) add_line([&](std::size_t i) -> const std::string& { return row[i]; });
  return all;
}

}  // namespace foliot::program::terminal
