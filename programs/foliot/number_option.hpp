// What options accept as numbers. CLI11's own conversion accepts -1 and numbers that are too large for an unsigned one,
// and reads 010 as 8: it receives only numbers that it reads correctly.
//
//   line->add_option("--lines", lines)->transform(whole_number(1, most_lines));
//   line->add_option("--max-memory", bytes)->transform(CLI::AsSizeValue(false))->transform(size_text());
//
// Thread safety: plain values.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace foliot::program {

/// Accepts whole numbers in a range, written in decimal.
class whole_number : public CLI::Validator {
 public:
  whole_number(std::uint64_t least, std::uint64_t most);
};

/// Accepts what begins with a whole number, as 64MB does. The last one that is added to an option runs first.
class size_text : public CLI::Validator {
 public:
  size_text();
};

}  // namespace foliot::program
