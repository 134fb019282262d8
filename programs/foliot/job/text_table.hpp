// A table for people. Its cells are names, keys and bodies, which clients have chosen: so escape sequences and other
// characters that a terminal would obey are escaped (text/printable.hpp), and a column is as wide as its cells look.
//
//   text_table table({{"ID", true}, {"TUBE"}});
//   table.add({"17", "mail"});
//   print(table.text());
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::program::terminal {

/// The columns that a terminal needs for a text that printable() has made: two for a wide character of East Asia and
/// most pictures, none for a combining one.
[[nodiscard]] std::size_t shown_width(std::string_view text) noexcept;

/// The text, made safe for a terminal, and cut to so many columns: then "…" stands at its end. Precondition: width > 0.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

class text_table {
 public:
  struct column {
    std::string head;
    bool is_right = false;  ///< numbers
    std::size_t most = 48;  ///< what is wider is cut
  };

  explicit text_table(std::vector<column> columns) : columns_(std::move(columns)) {}

  /// Adds a row, with a cell for each column.
  void add(const std::vector<std::string>& cells);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  /// The heads and the rows, with two blanks between columns and none at the ends of lines. A column without any text
  /// is left out.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace foliot::program::terminal
