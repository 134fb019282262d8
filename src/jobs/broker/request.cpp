#include <foliot/jobs/detail/broker_request.hpp>

#include <utility>
#include <variant>

#include "core.hpp"
#include "jobs/operation_parts.hpp"

namespace foliot::jobs::detail {

broker_request::broker_request(broker_core& core, client_state* by, operation what)
    : core_(core),
      client_(by),
      operation_(std::move(what)),
      token_(token_of(operation_)),
      touches_(std::holds_alternative<touch>(operation_)),
      only_looks_(facts_of(operation_).effect == operation_effect::looks) {
  core_.submit(*this);
}
broker_request::broker_request(broker_core& core, answer known) noexcept
    : core_(core), client_(nullptr), answer_(std::move(known)), state_(state::done) {}
broker_request::~broker_request() { core_.withdraw(*this); }

bool broker_request::await_ready() { return core_.settle(*this); }
void broker_request::begin_wait() noexcept { core_.begin_wait(*this); }
answer broker_request::take() { return core_.take(*this); }

}  // namespace foliot::jobs::detail
