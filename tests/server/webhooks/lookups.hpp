// The look-ups of names in this program, as a test says: getaddrinfo() is replaced. A name that no test has set is
// looked up by the system.
#pragma once

#include <string>
#include <vector>

namespace foliot::program::webhooks::test {

/// From now on the name leads to these addresses; an empty list means that there is no such host.
void set_lookup(const std::string& name, std::vector<std::string> addresses);
/// From now on a look-up of the name waits until release_lookups().
void block_lookup(const std::string& name);
/// Waits until a look-up of a blocked name has begun.
void await_blocked_lookup();
/// All look-ups that wait go on, and find nothing.
void release_lookups();
/// How often a name was looked up.
[[nodiscard]] std::size_t count_lookups(const std::string& name);

}  // namespace foliot::program::webhooks::test
