// What options accept as numbers. CLI11's own conversion accepts -1 and numbers that are too large for an unsigned one,
// and reads 010 as 8: it receives only numbers that it reads correctly.
//
//   line->add_option("--lines", lines)->transform(whole_number(1, most_lines));
//   line->add_option("--max-memory", bytes)->transform(size_in_bytes());
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

/// Accepts a whole number and perhaps a unit, such as 64MB: KB, K, KiB and Ki are 1024 bytes, in any case of letters.
class size_in_bytes : public CLI::Validator {
 public:
  size_in_bytes();
};

}  // namespace foliot::program
