// Everybody who can be measured. Each of these functions has a file of its own; the peers that were not
// installed when the program was configured have none, and are told by peer_left_out.
#pragma once

#include <vector>

#include "../contestant.hpp"

namespace foliot::program::bench {

void add_queues(std::vector<contestant>& to);
void add_floors(std::vector<contestant>& to);
void add_multimap(std::vector<contestant>& to);
void add_priority_queue(std::vector<contestant>& to);
void add_libuv(std::vector<contestant>& to);
void add_libev(std::vector<contestant>& to);
void add_libevent(std::vector<contestant>& to);
void add_asio(std::vector<contestant>& to);

}  // namespace foliot::program::bench
