// The addresses of hosts by their names, and connections to them, without blocking a worker.
//
//   auto peer = co_await connect_to_host("example.org", 443, now() + 10s);
//   if (!peer) …                                   // peer.error().message(): "Name or service not known", …
//
//   const auto all = co_await resolve("example.org", 443);     // the addresses, at least one
//
// The system resolves names (getaddrinfo): /etc/hosts, DNS and what else nsswitch.conf says, in the order of RFC 6724.
// It does so on a thread of blocking() (this_task.hpp), so run_options::blocking_threads is how many names may be
// looked up at once. IP addresses are no names, and take no thread.
//
// Deadlines and `cancelled` end the wait at once. The lookup itself cannot be ended: its thread goes on for as long as
// the system takes, some seconds if no server answers; its answer is thrown away. The end of the runtime waits for it.
// After its deadline nothing is looked up, and a name is not resolved.
// On virtual time a name is looked up at once, on the calling thread, while time stands still.
//
// Errors: those of the system's resolver, such as name_errc::not_found (name_error.hpp); io_errc::deadline_exceeded;
// errc::invalid_argument for a name that is empty or has a zero byte; errc::not_enough_memory; those of the system,
// such as errc::too_many_files_open, where name_errc::not_found would not be known.
//
// Thread safety: any task. Complexity: a thread's time for a lookup.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/net/name_error.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

/// The addresses of a host with this port, in the order in which they should be tried; at least one. `host` is a name,
/// or an IP address as text, an IPv6 address without brackets. Throws `cancelled`, std::logic_error outside of a
/// runtime, std::bad_alloc, and std::system_error if there is no thread.
[[nodiscard]] FOLIOT_EXPORT task<or_error<std::vector<address>>> resolve(std::string host, std::uint16_t port,
                                                                         instant deadline = instant::never());

/// Connects to the first address of the host that answers. The addresses are tried in the order of resolve(), but those
/// of IPv6 and of IPv4 in turn; each one 250 ms after the one before, or at once when that has failed, while the
/// earlier ones are still tried (RFC 8305, "happy eyeballs"). Returns the errors of resolve(); if no address answers,
/// that of the first one that failed. Throws as resolve() does.
[[nodiscard]] FOLIOT_EXPORT task<or_error<stream>> connect_to_host(std::string host, std::uint16_t port,
                                                                   instant deadline = instant::never());

/// The same for addresses that are known, in the order in which they stand there. errc::invalid_argument if there is
/// none.
[[nodiscard]] FOLIOT_EXPORT task<or_error<stream>> connect_to_any(std::vector<address> addresses,
                                                                  instant deadline = instant::never());

}  // namespace foliot::runtime
