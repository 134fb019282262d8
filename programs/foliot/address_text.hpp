// Addresses of servers as people write them: what runtime::address::parse() takes, or a port alone, on 127.0.0.1.
//
// Thread safety: a pure function.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include <foliot/runtime/net/address.hpp>

namespace foliot::program {

/// The address, or nothing if the text is none.
[[nodiscard]] inline std::optional<runtime::address> parse_address(const std::string& text) {
  const bool is_port =
      !text.empty() && text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const auto at = runtime::address::parse(is_port ? "127.0.0.1:" + text : text);
  return at ? std::optional(*at) : std::nullopt;
}

}  // namespace foliot::program
