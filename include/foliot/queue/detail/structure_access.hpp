// Who may look into a queue, beside its own check(): the pictures of `foliot explain`
// (programs/foliot/explain/structure_access.hpp). Here it is only declared, so that a queue has a friend and pays
// nothing for it: no member, no call, no instruction.
#pragma once

#include <foliot/core/language.hpp>

namespace foliot::detail {

struct structure_access;

}  // namespace foliot::detail
