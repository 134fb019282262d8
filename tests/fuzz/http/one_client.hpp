// One input of the fuzzer of the HTTP parser: how a client's bytes come in pieces, and the bytes. The parser must find
// the events in the pieces that the model finds in the whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <string_view>

#include "server/http/framing.hpp"

namespace foliot::program::http {

/// Runs one input: its first byte is the size of all pieces but the last, or, above 239, lets their sizes vary; the
/// rest are the client's bytes. Where the parser differs from the model, prints the events of both and aborts.
template <class Parser>
void run_one_client(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  std::size_t size = bytes[0];
  const bool varied = size >= 240;
  const std::string_view input(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1);
  const auto next_piece = [&](std::size_t left) {
    if (varied) size = size * 5 % 251;
    return std::clamp<std::size_t>(size, 1, left);
  };
  const texts found = events_in_pieces<Parser>(input, small_limits, next_piece);
  const texts expected = events_by_model(input, small_limits);
  if (found == expected) return;
  std::cerr << "the parser differs from the model; it found:\n";
  for (const std::string& each : found) std::cerr << "  " << each << '\n';
  std::cerr << "the model found:\n";
  for (const std::string& each : expected) std::cerr << "  " << each << '\n';
  std::abort();
}

}  // namespace foliot::program::http
