// Adds the contestants, each group of them from a file of its own, with all that they offer. A library that was not
// installed when the program was configured has no function.
#pragma once

#include "../roster.hpp"

namespace foliot::program::bench {

void add_queues(roster& to);
void add_floors(roster& to);
void add_multimap(roster& to);
void add_priority_queue(roster& to);
void add_libuv(roster& to);
void add_libev(roster& to);
void add_libevent(roster& to);
void add_asio(roster& to);
void add_services(roster& to);
void add_runtimes(roster& to);
void add_system_calls(roster& to);
void add_other_languages(roster& to);

}  // namespace foliot::program::bench
