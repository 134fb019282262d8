// Another library of the same somebody: shared where foliot is, with hidden visibility, and compiled with
// FOLIOT_ASSERTIONS, whatever the program is compiled with.
#pragma once

#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/task.hpp>

/// How that library sees the calling thread.
[[gnu::visibility("default")]] const void* this_thread_elsewhere() noexcept;

/// Throws what foliot throws at a closed channel, or else in a task that was asked to stop.
[[gnu::visibility("default")]] void throw_elsewhere(bool closed);

/// Sends 1, 2, … up to `until`, and closes the channel.
[[gnu::visibility("default")]] foliot::task<> count_elsewhere(foliot::runtime::send_end<int> to, int until);
