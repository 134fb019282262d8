// Keeps what a server has in its memory out of core dumps: the key of TLS, the password of a database, and jobs.
//
// Thread safety: any thread; the limit is the process's.
#pragma once

namespace foliot::program {

/// From now on a crash of the process leaves no core dump, neither as a file nor for a program that collects them, such
/// as that of systemd. Under a hard limit of 0, which it cannot raise, such a program may still get one. An operator
/// who wants one raises the limit of the running process.
void forbid_core_dumps() noexcept;

}  // namespace foliot::program
