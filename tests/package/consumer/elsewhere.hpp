// Another library of the same somebody: shared where foliot is.
#pragma once

/// How that library sees the calling thread.
const void* this_thread_elsewhere() noexcept;
