#include <foliot/jobs/broker.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/event_buffer.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>

#include "core.hpp"

namespace foliot::jobs {

namespace {

using waits_for_event = runtime::detail::operation_awaiter<detail::event_wait>;

/// Ends a client's wait, also when an exception ends the task that waits.
class wait_scope {
 public:
  wait_scope(detail::broker_core& core, detail::client_state& client, const claim* own, bool lasting)
      : core_(core), client_(client) {
    core_.begin_waiting(client_, own, lasting);
  }
  ~wait_scope() {
    if (!is_over_) core_.cancel_waiting(client_);
  }
  wait_scope(const wait_scope&) = delete;
  wait_scope& operator=(const wait_scope&) = delete;
  /// The wait has ended in order.
  void note_end() noexcept { is_over_ = true; }

 private:
  detail::broker_core& core_;
  detail::client_state& client_;
  bool is_over_ = false;
};

/// What a client does next that waits for a job.
struct wait_step {
  bool is_over = false;
  bool is_deadline_soon = false;
  bool is_unknown = false;  ///< the timeout has ended, and the store has not told whether there is a job
  bool ends = false;        ///< it waits for an event, and for `length` at most
  duration length = duration::zero();
};

/// The step of a client whose timeout ends at `until`.
wait_step wait_step_of(detail::broker_core& core, detail::client_state& client, instant until) {
  const detail::broker_core::outlook seen = core.look(client);
  wait_step next;
  next.is_over = seen.is_served;
  if (next.is_over || !seen.has_to_wait) return next;
  const instant now = runtime::now();
  const bool holds = seen.deadline != instant::never();
  const instant margin = holds ? seen.deadline - deadline_margin : instant::never();
  next.is_deadline_soon = holds && margin <= now;
  next.is_over = next.is_deadline_soon || until <= now;
  next.is_unknown = next.is_over && !next.is_deadline_soon && seen.is_unknown;
  const instant wake = std::min(margin, until);
  next.ends = wake != instant::never();
  if (next.ends) next.length = wake - now;
  return next;
}

/// What `conclude` makes of the end of a wait, of which this was the last step.
template <class Conclude>
auto end_waiting(detail::broker_core& core, detail::client_state& self, wait_scope& scope, const wait_step& last,
                 const Conclude& conclude) {
  std::optional<claimed_job> job = core.end_waiting(self);
  scope.note_end();
  if (!job && last.is_unknown) core.throw_unavailable();
  using enum reserve_answer::kind;
  const auto ended = last.is_deadline_soon ? deadline_soon : timed_out;
  return conclude(job ? reserved : ended, std::move(job));
}

/// Waits for a job of a client. `conclude` makes the result of how the wait has ended, and of the job, if there is one:
/// so the task has no room for a job while it waits.
template <class Result, class Conclude>
task<Result> wait_for_job(detail::broker_core& core, detail::client_state& self, std::optional<duration> timeout,
                          bool lasting, Conclude conclude) {
  const instant until = timeout ? runtime::now() + *timeout : instant::never();
  wait_scope scope(core, self, nullptr, lasting);
  wait_step next;
  for (;;) {
    next = wait_step_of(core, self, until);
    if (next.is_over) break;
    co_await runtime::select(waits_for_event(core.guard(), self.event),
                             runtime::when(next.ends, runtime::after(next.length)));
  }
  co_return end_waiting(core, self, scope, next, conclude);
}

}  // namespace

broker::broker(job_store& store, const broker_limits& limits, event_buffer* events)
    : own_events_(events == nullptr ? std::make_unique<event_buffer>() : nullptr),
      events_(events == nullptr ? own_events_.get() : events),
      core_(std::make_unique<detail::broker_core>(store, limits, *events_)) {}
broker::~broker() = default;

task<> broker::run() { return core_->run(); }
void broker::close() noexcept { core_->close(); }
std::string broker::failure() const { return core_->failure(); }
bool broker::has_other_nodes() const noexcept { return core_->has_other_nodes(); }
event_buffer& broker::events() const noexcept { return *events_; }
broker_counters broker::counters() const noexcept { return core_->counters(); }
job_flow broker::flow() const noexcept { return core_->flow(); }
tube_clients broker::clients_of(std::string_view tube) const { return core_->clients_of(tube); }
std::string broker::holder_of(job_id id, std::uint32_t reserves) const { return core_->holder_of(id, reserves); }
std::vector<std::string> broker::tubes_in_use() const { return core_->tubes_in_use(); }
check_result broker::check() const { return core_->check(); }

runtime::detail::operation_awaiter<detail::event_wait> broker::failed() noexcept {
  return waits_for_event(core_->guard(), core_->failed_event());
}

// Clients.

client::client(broker& with) : core_(with.core_.get()), state_(std::make_unique<detail::client_state>()) {
  core_->enter();
}
client::client(client&& other) noexcept = default;
client& client::operator=(client&& other) noexcept {
  if (this != &other) {
    if (state_ != nullptr) core_->leave(std::move(state_));
    core_ = other.core_;
    state_ = std::move(other.state_);
  }
  return *this;
}
client::~client() {
  if (state_ != nullptr) core_->leave(std::move(state_));
}

void client::set_name(std::string_view name) { core_->set_name(*state_, name); }
void client::use(std::string_view tube) { core_->use(*state_, tube); }
std::size_t client::watch(std::string_view tube) {
  core_->watch(*state_, tube);
  return state_->watched.size();
}
std::size_t client::ignore(std::string_view tube) {
  core_->ignore(*state_, tube);
  return state_->watched.size();
}
const std::string& client::used() const noexcept {
  static const std::string none;
  return state_->used == nullptr ? none : state_->used->name;
}
std::vector<std::string> client::watched() const {
  std::vector<std::string> names;
  for (const auto& each : state_->watched) names.push_back(each->tube.name);
  return names;
}

task<reserve_answer> client::reserve(std::optional<duration> timeout) {
  const auto conclude = [](reserve_answer::kind what, std::optional<claimed_job> job) {
    return reserve_answer{what, std::move(job)};
  };
  return wait_for_job<reserve_answer>(*core_, *state_, timeout, false, conclude);
}

task<> client::reserve_into(std::vector<claimed_job>& into, std::optional<duration> timeout, bool lasting) {
  const auto append = [&into](reserve_answer::kind, std::optional<claimed_job> job) {
    if (job) into.push_back(std::move(*job));
  };
  return wait_for_job<void>(*core_, *state_, timeout, lasting, append);
}

task<claim_answer> client::reserve(jobs::claim what, std::optional<duration> timeout) {
  const instant until = timeout ? runtime::now() + *timeout : instant::never();
  detail::broker_core& core = *core_;
  detail::client_state& self = *state_;
  what.tubes = watched();
  const wait_scope scope(core, self, &what, what.lasting);
  wait_step next;
  for (;;) {
    next = wait_step_of(core, self, until);
    if (next.is_over) break;
    co_await runtime::select(waits_for_event(core.guard(), self.event),
                             runtime::when(next.ends, runtime::after(next.length)));
  }
  claim_answer result = core.end_own_waiting(self);
  if (next.is_unknown && result == claim_answer{}) core.throw_unavailable();
  co_return result;
}

in_flight<claim_job> client::reserve_job(job_id id) { return execute(claim_job{id}); }

template <class Operation>
in_flight<Operation> client::by_holder(job_id id, Operation what) {
  const std::optional<reservation> token = held(id);
  if (!token) return in_flight<Operation>(*core_, holder_answer{holder_answer::kind::not_held});
  what.token = *token;
  return execute(std::move(what));
}

in_flight<finish> client::finish(job_id id) { return by_holder(id, jobs::finish{}); }
in_flight<release> client::release(job_id id, std::optional<priority> urgency, due_at due,
                                   std::optional<job_fields> history) {
  return by_holder(id, jobs::release{{}, urgency, due, std::move(history)});
}
in_flight<bury> client::bury(job_id id, std::optional<priority> urgency, std::optional<job_fields> history) {
  return by_holder(id, jobs::bury{{}, urgency, std::move(history)});
}
in_flight<touch> client::touch(job_id id) { return by_holder(id, jobs::touch{}); }

task<change_answer> client::remove(job_id id) {
  change_answer result;
  result.id = id;
  if (held(id)) {
    const holder_answer ended = co_await finish(id);
    if (ended.what == holder_answer::kind::done) co_return result;
    if (ended.what == holder_answer::kind::no_space) {
      result.what = change_answer::kind::no_space;
      co_return result;
    }
  }
  cancel what;
  what.name = id;
  result = co_await execute(std::move(what));
  co_return result;
}

std::optional<reservation> client::held(job_id id) const { return core_->held(*state_, id); }
bool client::part_with(const reservation& token) noexcept { return core_->part_with(*state_, token); }
std::size_t client::reservations() const noexcept { return core_->reservations(*state_); }
instant client::next_deadline() const noexcept { return core_->next_deadline(*state_); }

}  // namespace foliot::jobs
