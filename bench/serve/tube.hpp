// The tube that a workload has for itself.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <foliot/runtime/net/address.hpp>

#include "load_generator.hpp"

namespace foliot::program::bench {

/// The client uses the tube, and watches it alone. Throws failure.
void enter_tube(load_generator& clients, std::size_t client, const std::string& tube);

/// Throws failure if the tube has jobs: they are another program's.
void check_empty(const runtime::address& server, const std::string& tube);

/// Deletes all jobs of the tube, those that are delayed, buried or reserved by connections that have ended included.
/// Throws failure, also if another client holds some of them for a minute.
void empty_tube(const runtime::address& server, const std::string& tube);

}  // namespace foliot::program::bench
