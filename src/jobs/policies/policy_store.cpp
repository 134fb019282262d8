#include <foliot/jobs/policy_store.hpp>

#include <utility>

#include <foliot/core/sync/mutex.hpp>

namespace foliot::jobs {

class policy_store::state {
 public:
  mutex guard{lock_rank::object};
  std::shared_ptr<const policy_table> policies;
  std::uint32_t among = 1;
  policy_counters counted;
};

policy_store::policy_store(job_store& inner, store_clocks) : inner_(inner), state_(std::make_unique<state>()) {}
policy_store::~policy_store() = default;

void policy_store::set_policies(std::shared_ptr<const policy_table> policies) noexcept {
  const lock held(state_->guard);
  state_->policies.swap(policies);
}
void policy_store::share(std::uint32_t among) noexcept {
  const lock held(state_->guard);
  state_->among = among;
}
policy_counters policy_store::counters() const noexcept {
  const lock held(state_->guard);
  return state_->counted;
}

execution policy_store::execute(std::span<operation> batch) { return inner_.execute(batch); }
next_change policy_store::next() const noexcept { return inner_.next(); }
check_result policy_store::check() { return inner_.check(); }
void policy_store::close() { inner_.close(); }
store_figures policy_store::figures() const { return inner_.figures(); }
other_nodes* policy_store::others() noexcept { return inner_.others(); }

}  // namespace foliot::jobs
