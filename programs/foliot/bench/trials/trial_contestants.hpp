// Everybody who can take part in trials. Each of these functions has a file of its own, in threads/,
// sleeps/, idle/, own/ or foreign/; the libraries that were not installed when the program was configured have
// none.
#pragma once

#include <vector>

#include "trial.hpp"

namespace foliot::program::bench {

void add_shared_services(std::vector<trial_contestant>& to);
void add_shared_runtimes(std::vector<trial_contestant>& to);
void add_shared_multimap(std::vector<trial_contestant>& to);
void add_shared_libevent(std::vector<trial_contestant>& to);
void add_shared_asio(std::vector<trial_contestant>& to);
void add_service_sleeps(std::vector<trial_contestant>& to);
void add_system_sleeps(std::vector<trial_contestant>& to);
void add_libuv_sleeps(std::vector<trial_contestant>& to);
void add_libev_sleeps(std::vector<trial_contestant>& to);
void add_libevent_sleeps(std::vector<trial_contestant>& to);
void add_asio_sleeps(std::vector<trial_contestant>& to);
void add_idle_services(std::vector<trial_contestant>& to);
void add_runtimes(std::vector<trial_contestant>& to);
void add_runtime_sleeps(std::vector<trial_contestant>& to);
void add_idle_runtime(std::vector<trial_contestant>& to);
void add_foreign_peers(std::vector<trial_contestant>& to);

}  // namespace foliot::program::bench
