// The order in which the addresses of a host are tried (RFC 8305, section 4).
//
// Thread safety: a pure function.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <foliot/core/seam/socket_address.hpp>
#include <foliot/runtime/net/address.hpp>

namespace foliot::runtime::detail {

/// The addresses with those of the first one's family and the others in turn, each kind in its order: a machine without
/// a way to one family then waits for one attempt, not for all of that family.
inline std::vector<address> interleaved(const std::vector<address>& all) {
  const auto is_of_first = [&](const address& each) { return each.system().family() == all.front().system().family(); };
  std::vector<address> first;
  std::vector<address> others;
  for (const address& each : all) (is_of_first(each) ? first : others).push_back(each);
  std::vector<address> order;
  for (std::size_t i = 0; i < std::max(first.size(), others.size()); ++i) {
    if (i < first.size()) order.push_back(first[i]);
    if (i < others.size()) order.push_back(others[i]);
  }
  return order;
}

}  // namespace foliot::runtime::detail
