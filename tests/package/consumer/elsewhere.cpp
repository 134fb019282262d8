#include "elsewhere.hpp"

#include <foliot/core/seam/sync.hpp>

const void* this_thread_elsewhere() noexcept { return &foliot::seam::this_thread(); }
