#include <foliot/runtime/detail/timed_scope.hpp>

#include "scheduler.hpp"

namespace foliot::runtime::detail {

timed_scope::~timed_scope() {
  stop_timer(*this);
  if (late_) owner_.late().remove(*this);
}

timer_entry::then timed_scope::end_scope(timer_entry& self, ready_list& ready) noexcept {
  auto& mine = static_cast<timed_scope&>(self);
  if (mine.owner_.virtual_time() != nullptr) {
    mine.owner_.late().add(mine);
  } else {
    mine.scope_.expire(ready);
  }
  return then::nothing;
}

}  // namespace foliot::runtime::detail
