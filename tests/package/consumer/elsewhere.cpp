#include "elsewhere.hpp"

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel_closed.hpp>

const void* this_thread_elsewhere() noexcept { return &foliot::seam::this_thread(); }

void throw_elsewhere(bool closed) {
  if (closed) throw foliot::runtime::channel_closed("elsewhere");
  throw foliot::runtime::cancelled();
}

foliot::task<> count_elsewhere(foliot::runtime::send_end<int> to, int until) {
  for (int i = 1; i <= until; ++i) co_await to.send(i);
  to.close();
}
