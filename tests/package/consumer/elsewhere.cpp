#include "elsewhere.hpp"

#include <foliot/core/seam/sync.hpp>

const void* this_thread_elsewhere() noexcept { return &foliot::seam::this_thread(); }

foliot::task<> count_elsewhere(foliot::runtime::send_end<int> to, int until) {
  for (int i = 1; i <= until; ++i) co_await to.send(i);
  to.close();
}
