#include "target_runner.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <list>
#include <new>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/seam/random.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/wait_group.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "attempt_notes.hpp"
#include "server/http/job_headers.hpp"
#include "server/http/json.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

using webhooks::delivery_answer;
using webhooks::delivery_request;
using webhooks::delivery_turn;
using webhooks::outcome;
using webhooks::target_turns;
using webhooks::target_url;

/// So many bytes of an answer are shown.
constexpr std::size_t most_shown_of_answer = 256;
/// A record of a target that is gone is written again at once after another change so often.
constexpr int most_writes_of_gone = 20;
constexpr std::size_t least_known = 10;
/// How often a target looks whether there is memory for its next delivery.
constexpr duration between_looks_at_memory = std::chrono::milliseconds(20);
/// So many jobs of a target are reserved together, and so many bytes of them, while there are many.
constexpr std::size_t most_taken_at_once = 64;
constexpr std::uint64_t most_bytes_taken_at_once = std::uint64_t{1} << 20U;
/// How often a target that is hindered looks whether it still is.
constexpr duration between_looks_at_hindrance = std::chrono::milliseconds(500);

jobs::utc_time wall_time_now() { return std::chrono::floor<jobs::milliseconds>(runtime::wall_now()); }

jobs::milliseconds in_milliseconds(duration length) {
  return std::chrono::ceil<jobs::milliseconds>(length.to_chrono());
}

std::optional<jobs::utc_time> wall_time_of(instant when, instant now) {
  if (when <= now) return std::nullopt;
  return wall_time_now() + in_milliseconds(when - now);
}

webhooks::target_limits target_limits_of(const target_plan& plan) {
  webhooks::target_limits limits;
  limits.most_at_once = plan.at_once;
  limits.each_second = plan.each_second;
  limits.burst = plan.burst;
  limits.failures_to_open = plan.failures_to_open;
  limits.first_pause = duration(plan.first_pause);
  limits.longest_pause = duration(plan.longest_pause);
  return limits;
}

/// A name as the value of a header: other bytes than visible ones of ASCII, and `%`, are written as %XX.
std::string header_value(std::string_view name) {
  std::string text;
  for (const char each : name) {
    if (each > ' ' && each < 0x7f && each != '%') {
      text += each;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(each));
    }
  }
  return text;
}

/// Adds a header if it can be one of a delivery: a job may have others.
void add_header(delivery_request& to, std::string_view name, std::string_view value) {
  to.headers.emplace_back(name, value);
  if (webhooks::fault_of(to)) to.headers.pop_back();
}

std::string message_id_of(const jobs::job& job) {
  return fmt::format("msg_{}_{}", job.id, job.made.time_since_epoch().count());
}

/// Takes the body of the job.
delivery_request delivery_request_of(const target_plan& plan, target_url url, jobs::job& job, std::uint32_t attempt) {
  delivery_request made{.url = std::move(url), .id = message_id_of(job), .body = std::move(job.body)};
  const std::string_view type = http::content_type_of(job.fields);
  if (!type.empty()) made.content_type = type;
  if (type.empty() || webhooks::fault_of(made)) made.content_type = plan.content_type;
  made.time_out = duration(plan.time_out_within(job.ttr));
  made.headers.emplace_back("foliot-tube", header_value(job.tube));
  made.headers.emplace_back("foliot-job", fmt::format("{}", job.id));
  if (!job.key.empty()) made.headers.emplace_back("foliot-key", header_value(job.key));
  made.headers.emplace_back("foliot-attempt", fmt::format("{}", attempt));
  for (const auto& [name, value] : plan.headers) add_header(made, name, value);
  for (const auto& [name, value] : http::headers_of(job.fields)) {
    if (!plan.headers.contains(name) && !name.starts_with("foliot-")) add_header(made, name, value);
  }
  return made;
}

void tell_answer(known_delivery& told, const delivery_answer& came) {
  told.outcome = webhooks::name_of(came.what);
  told.status = came.status;
  told.took = in_milliseconds(came.took);
  told.reason = came.reason;
  told.answer = printable(std::string_view(came.body).substr(0, most_shown_of_answer));
  told.address = came.address;
}

/// The sentence for the history of a job, which clients see that may not see the target: it names no host, no address
/// and no place to which a receiver redirects.
std::string reason_for_history(const delivery_answer& came) {
  switch (came.what) {
    case outcome::delivered: return {};
    case outcome::gone:
    case outcome::rejected: return fmt::format("the target answered {}", came.status);
    case outcome::not_sent: return "there was no connection to the target";
    case outcome::unknown: return "no answer came that could be read, or none in time";
    case outcome::forbidden: return "the operator's rules do not allow the target";
  }
  return {};
}

/// Counts bytes while it lives.
class counted_bytes {
 public:
  counted_bytes(seam::atomic<std::size_t>& in, std::size_t bytes) noexcept : in_(in), bytes_(bytes) {
    in_.fetch_add(bytes_, seam::relaxed);
  }
  counted_bytes(const counted_bytes&) = delete;
  counted_bytes& operator=(const counted_bytes&) = delete;
  ~counted_bytes() { in_.fetch_sub(bytes_, seam::relaxed); }

 private:
  seam::atomic<std::size_t>& in_;
  const std::size_t bytes_;
};

}  // namespace

/// A target that this node has. What its record says may change; the rest is of one tube.
class target_runner::target {
 public:
  using record_ptr = std::shared_ptr<const followed_record>;
  using turns_ptr = std::shared_ptr<target_turns>;

  target(webhooks::shared_room& room, const target_record& now)
      : tube(now.tube), room_(room), record_(followed(now)), turns_(turns_for(*record_)) {}

  [[nodiscard]] record_ptr record() const {
    const lock held(lock_);
    return record_;
  }
  /// Turns of the present URL.
  [[nodiscard]] turns_ptr turns() const {
    const lock held(lock_);
    return turns_;
  }
  /// By one task at a time. What is known of another URL does not count: deliveries that are under way to it end by the
  /// turns of before.
  void follow(const target_record& now) {
    const record_ptr next = followed(now);
    const bool is_other = next->plan.url != record()->plan.url;
    const turns_ptr fresh = is_other ? turns_for(*next) : nullptr;
    turns_ptr before = turns();
    {
      const lock held(lock_);
      record_ = next;
      if (is_other) turns_ = fresh;
    }
    if (is_other) {
      before->disable();
    } else {
      before->set_limits(target_limits_of(next->plan));
    }
  }
  /// The record cannot be read: nothing is delivered.
  void stop_following() {
    auto none = std::make_shared<followed_record>(*record());
    none->is_enabled = false;
    const lock held(lock_);
    record_ = std::move(none);
  }
  /// Brings the turns in line with the record.
  void align() {
    bool may_deliver = false;
    turns_ptr now;
    {
      const lock held(lock_);
      if (gone_ != nullptr && !is_of_present(*gone_)) gone_ = nullptr;
      may_deliver = record_->is_enabled && gone_ == nullptr;
      now = turns_;
    }
    if (may_deliver && now->state().disabled) now->enable();
    if (!may_deliver) now->disable();
  }
  /// A delivery by this record was answered with 410. False: the target has another URL now, or was enabled since.
  bool set_gone(record_ptr by) {
    turns_ptr now;
    {
      const lock held(lock_);
      if (!is_of_present(*by)) return false;
      gone_ = std::move(by);
      now = turns_;
    }
    now->disable();
    return true;
  }
  /// By which record the target is gone; null: it is not, or its record says so by now.
  [[nodiscard]] record_ptr gone() const {
    const lock held(lock_);
    return gone_;
  }
  void forget_gone() {
    {
      const lock held(lock_);
      if (gone_ == nullptr) return;
      gone_ = nullptr;
    }
    align();
  }
  [[nodiscard]] std::shared_ptr<const checked_plan> checked() const {
    const lock held(lock_);
    return checked_;
  }
  /// Returns whether there is another hindrance than before.
  bool set_checked(std::shared_ptr<const checked_plan> now) {
    const lock held(lock_);
    const bool is_other = now->hindrance != (checked_ == nullptr ? std::string_view() : checked_->hindrance);
    checked_ = std::move(now);
    return is_other;
  }
  /// A try by hand, which is of no job, is not counted.
  void note(known_delivery one, std::size_t most) {
    const lock held(lock_);
    if (one.job != 0) {
      if (one.outcome == webhooks::name_of(outcome::delivered)) {
        ++delivered_;
      } else {
        ++failed_;
      }
    }
    if (one.job_outcome == "buried") ++buried_;
    last_.push_front(std::move(one));
    while (last_.size() > most) last_.pop_back();
  }
  [[nodiscard]] std::vector<known_delivery> last() const {
    const lock held(lock_);
    return {last_.begin(), last_.end()};
  }
  [[nodiscard]] delivery_state state() const {
    const webhooks::gate_state gate = turns()->state();
    const instant now = runtime::now();
    delivery_state shown;
    if (gate.state == webhooks::circuit::open) shown.circuit = "open";
    if (gate.state == webhooks::circuit::half_open) shown.circuit = "half_open";
    shown.under_way = under_way.count();
    shown.failures = gate.failures;
    if (gate.state == webhooks::circuit::open) shown.closed_until = wall_time_of(gate.closed_until, now);
    shown.held_until = wall_time_of(gate.held_until, now);
    const lock held(lock_);
    shown.is_gone = gone_ != nullptr;
    if (checked_ != nullptr) shown.hindrance = checked_->hindrance;
    shown.delivered = delivered_;
    shown.failed = failed_;
    shown.buried = buried_;
    return shown;
  }

  const std::string tube;
  runtime::wait_group under_way;  // deliveries
  std::stop_source gives_up;      // of those, at the end
  runtime::task_mutex one_try;    // by hand
  runtime::join_handle<> taking;  // of the task that looks

 private:
  static record_ptr followed(const target_record& of) {
    return std::make_shared<const followed_record>(of.plan.value(), of.state.is_enabled, of.state.since);
  }
  [[nodiscard]] turns_ptr turns_for(const followed_record& by) const {
    return std::make_shared<target_turns>(target_limits_of(by.plan), room_);
  }
  [[nodiscard]] bool is_of_present(const followed_record& by) const FOLIOT_REQUIRES(lock_) {
    return record_->is_enabled && record_->since == by.since && record_->plan.url == by.plan.url;
  }

  webhooks::shared_room& room_;
  mutable mutex lock_{lock_rank::object};  // held while no other one is taken
  record_ptr record_ FOLIOT_GUARDED_BY(lock_);
  turns_ptr turns_ FOLIOT_GUARDED_BY(lock_);
  record_ptr gone_ FOLIOT_GUARDED_BY(lock_);
  std::shared_ptr<const checked_plan> checked_ FOLIOT_GUARDED_BY(lock_);
  std::deque<known_delivery> last_ FOLIOT_GUARDED_BY(lock_);
  std::uint64_t delivered_ FOLIOT_GUARDED_BY(lock_) = 0;
  std::uint64_t failed_ FOLIOT_GUARDED_BY(lock_) = 0;
  std::uint64_t buried_ FOLIOT_GUARDED_BY(lock_) = 0;
};

target_runner::target_runner(jobs::broker& by, server_jobs& known, webhooks::address_rules rules,
                             webhooks::engine_options how, const secret_file* secrets, const server_log& log)
    : by_(by), known_(known), secrets_(secrets), log_(log), engine_(std::move(how), std::move(rules)) {}

target_runner::~target_runner() = default;

// ---------------------------------------------------------------- what requests ask

std::optional<target_fault> target_runner::fault_of(const target_plan& plan) const {
  const webhooks::address_rules rules = engine_.rules();
  const auto url = target_url::parse(plan.url, rules.urls());
  if (!url) return target_fault{"/url", url.error()};
  if (const auto allowed = rules.vet_target(*url); !allowed)
    return target_fault{"/url", fmt::format("{}; the operator allows targets by --webhook-allow", allowed.error()),
                        true};
  if (secrets_ == nullptr)
    return target_fault{"/secret", "this server has no secrets: the operator names their file by --webhook-secrets",
                        true};
  if (!secrets_->find(plan.secret))
    return target_fault{"/secret",
                        fmt::format("there is no secret '{}' in the file of --webhook-secrets", printable(plan.secret)),
                        true};
  delivery_request sample{.url = *url, .id = "msg", .body = {}, .content_type = plan.content_type};
  if (auto fault = webhooks::fault_of(sample)) return target_fault{"/content_type", std::move(*fault)};
  for (const auto& [name, value] : plan.headers) sample.headers.emplace_back(name, value);
  if (auto fault = webhooks::fault_of(sample)) return target_fault{"/headers", std::move(*fault)};
  return std::nullopt;
}

std::shared_ptr<const target_runner::checked_plan> target_runner::check(target& of) const {
  const std::uint64_t version = secrets_ == nullptr ? 0 : secrets_->version();
  std::shared_ptr<const followed_record> by = of.record();
  std::shared_ptr<const checked_plan> before = of.checked();
  if (before != nullptr && before->by == by && before->version_of_secrets == version) return before;
  const target_plan& plan = by->plan;
  auto made = std::make_shared<checked_plan>();
  made->version_of_secrets = version;
  if (const std::optional<target_fault> fault = fault_of(plan)) {
    made->hindrance = fault->detail;
  } else {
    made->url = *target_url::parse(plan.url, engine_.rules().urls());
    made->secrets = secrets_->find(plan.secret);
    if (made->secrets == nullptr) made->hindrance = "its secret has just been removed";
  }
  made->by = std::move(by);
  if (of.set_checked(made) && !made->hindrance.empty())
    log_.warning(fmt::format("the target of tube {} delivers nothing: {}", printable(of.tube), made->hindrance));
  return made;
}

void target_runner::expect(const std::string& tube) {
  known_.expect();
  known_.delivered().add(tube);
}

void target_runner::wake() noexcept {
  try {
    static_cast<void>(wakes_.try_send(woken{}));
  } catch (const std::bad_alloc&) {
    // keep_on() looks now and then.
  }
}

task<> target_runner::apply() {
  wake();  // also for the targets that are new
  try {
    auto looking = look();
    co_await looking;
  } catch (const runtime::cancelled&) {
    throw;
  } catch (const std::exception&) {
    // The task of keep_on() tries it again.
  }
}

void target_runner::enable(const std::string& tube) {
  if (const target_ptr one = find(tube)) one->forget_gone();
}

void target_runner::note(target& of, known_delivery one) const {
  const std::size_t targets = std::max<std::size_t>(targets_now_.load(seam::relaxed), 1);
  of.note(std::move(one), std::clamp(most_known_of_all / targets, least_known, most_known));
}

std::vector<target_runner::target_ptr> target_runner::all_targets() const {
  std::vector<target_ptr> all;
  const lock held(lock_);
  for (const auto& [tube, one] : targets_) all.push_back(one);
  return all;
}

target_runner::target_ptr target_runner::find(const std::string& tube) const {
  const lock held(lock_);
  const auto found = targets_.find(tube);
  return found == targets_.end() ? nullptr : found->second;
}

std::optional<delivery_state> target_runner::state_of(const std::string& tube) const {
  const target_ptr one = find(tube);
  if (one == nullptr) return std::nullopt;
  static_cast<void>(check(*one));  // a secret may just have been removed
  return one->state();
}

std::vector<known_delivery> target_runner::last_of(const std::string& tube) const {
  const target_ptr one = find(tube);
  return one == nullptr ? std::vector<known_delivery>() : one->last();
}

delivery_figures target_runner::figures() const {
  const webhooks::engine_metrics seen = engine_.metrics();
  delivery_figures all;
  all.delivered = seen.delivered;
  all.rejected = seen.rejected;
  all.gone = seen.gone;
  all.not_sent = seen.not_sent;
  all.unknown = seen.unknown;
  all.forbidden = seen.forbidden;
  all.under_way = seen.under_way;
  for (const target_ptr& one : all_targets()) {
    const delivery_state state = one->state();
    ++all.targets;
    if (one->turns()->state().disabled) ++all.disabled;
    if (!state.hindrance.empty()) ++all.hindered;
    if (state.circuit != "closed") ++all.open_circuits;
  }
  return all;
}

task<known_delivery> target_runner::try_out(std::string tube, target_plan plan) {
  known_delivery told;
  told.at = wall_time_now();
  told.attempt = 1;
  told.message = fmt::format("test_{:016x}", random_stream::entropy());
  told.job_outcome = "none";
  if (const std::optional<target_fault> fault = fault_of(plan)) {
    told.outcome = webhooks::name_of(outcome::forbidden);
    told.reason = fault->detail;
    co_return told;
  }
  http::ordered_json body = http::ordered_json::object();
  body["type"] = "foliot.test";
  body["tube"] = tube;
  body["timestamp"] = told.at.time_since_epoch().count() / 1000;
  delivery_request request{.url = *target_url::parse(plan.url, engine_.rules().urls()),
                           .id = told.message,
                           .body = http::json_text(body),
                           .content_type = "application/json"};
  request.headers.emplace_back("foliot-tube", header_value(tube));
  for (const auto& [name, value] : plan.headers) add_header(request, name, value);
  request.secrets = secrets_->find(plan.secret);
  if (request.secrets == nullptr) {  // the file was read again in between
    told.outcome = webhooks::name_of(outcome::forbidden);
    told.reason = "its secret has just been removed";
    co_return told;
  }
  request.time_out = duration(plan.time_out);
  const target_ptr one = find(tube);
  runtime::task_lock first;  // tries wait for one another
  if (one != nullptr) first = co_await one->one_try.lock();
  // A gate of its own: the try says nothing about the target's, and does not wait for it.
  const auto turns = std::make_shared<target_turns>(webhooks::target_limits{}, engine_.room());
  auto entering = target_turns::enter(turns);
  std::optional<delivery_turn> turn = co_await entering;
  if (!is_tried_out_.exchange(true, seam::relaxed)) wake();  // this node may not know of the target yet
  auto delivering = engine_.deliver(std::move(request), std::move(*turn));
  const delivery_answer came = co_await delivering;
  tell_answer(told, came);
  if (one != nullptr) note(*one, told);
  co_return told;
}

// ---------------------------------------------------------------- the records

task<> target_runner::look() {
  const runtime::task_lock one_at_a_time = co_await looking_.lock();
  for (;;) {
    if (ends_.load(seam::relaxed)) co_return;
    const std::uint64_t version = known_.delivered().version();
    auto looking = look_at_targets(by_, seen_);
    std::vector<seen_target> seen = co_await looking;
    delivered_tubes::names tubes;
    for (const seen_target& each : seen) tubes.insert(each.tube);
    if (!tubes.empty()) known_.expect();
    if (!known_.delivered().replace(std::move(tubes), version)) continue;
    for (target_ptr& one : part_with_ended(seen)) {
      auto ending = end_target(std::move(one));
      co_await ending;
    }
    follow(std::move(seen));
    co_return;
  }
}

std::vector<target_runner::target_ptr> target_runner::part_with_ended(const std::vector<seen_target>& seen) {
  std::erase_if(ended_, [](const target_ptr& one) { return one->under_way.count() == 0; });
  std::vector<target_ptr> ended;
  {
    const lock held(lock_);
    for (auto at = targets_.begin(); at != targets_.end();) {
      const bool is_there = std::ranges::binary_search(seen, at->first, {}, &seen_target::tube);
      if (!is_there) ended.push_back(at->second);
      at = is_there ? std::next(at) : targets_.erase(at);
    }
  }
  ended_.insert(ended_.end(), ended.begin(), ended.end());
  return ended;
}

void target_runner::follow(std::vector<seen_target> seen) {
  targets_now_.store(seen.size(), seam::relaxed);
  for (seen_target& each : seen) {
    if (!each.record) continue;
    const target_record record = *std::exchange(each.record, std::nullopt);
    const target_ptr one = find(each.tube);
    if (!record.plan) {
      log_.warning(fmt::format("the target of tube {}: {}", printable(each.tube), record.fault));
      if (one != nullptr) one->stop_following();
    } else if (one != nullptr) {
      one->follow(record);
    } else {
      auto made = std::make_shared<target>(engine_.room(), record);
      const lock held(lock_);
      targets_.emplace(each.tube, std::move(made));
    }
  }
  seen_ = std::move(seen);
  for (const target_ptr& one : all_targets()) one->align();
}

void target_runner::begin(const target_ptr& one) {
  if (one->taking && one->taking.done()) one->taking = {};
  if (!one->taking) one->taking = runtime::spawn(take_jobs(one), "takes jobs of a webhook");
}

task<> target_runner::end_target(target_ptr one) {
  one->turns()->disable();
  if (!one->taking) co_return;
  one->taking.request_stop();
  try {
    co_await one->taking.join_without_cancellation();
  } catch (const std::exception&) {
    // It was asked to stop.
  }
  one->taking = {};
}

task<bool> target_runner::look_after_targets() {
  const runtime::task_lock one_at_a_time = co_await looking_.lock();
  bool is_soon = false;
  for (const target_ptr& one : all_targets()) {
    begin(one);
    static_cast<void>(check(*one));
    if (one->gone() == nullptr) continue;
    auto writing = write_gone(one);
    static_cast<void>(co_await writing);
    is_soon = true;  // to write it again, or to see what was written
  }
  co_return is_soon;
}

void target_runner::serve_deliveries() {
  // An engine that runs needs descriptors, which most servers have no use for.
  const bool is_needed = targets_now_.load(seam::relaxed) != 0 || is_tried_out_.load(seam::relaxed);
  if (!running_engine_ && !is_needed) return;
  if (running_engine_ && !running_engine_.done()) return;
  if (running_engine_) log_.warning("webhooks", "the task of the deliveries has failed: it begins again");
  running_engine_ = runtime::spawn(engine_.run(), "webhooks' engine");
}

task<> target_runner::keep_on() {
  while (!ends_.load(seam::relaxed)) {
    bool is_soon = true;  // unless all goes well
    try {
      serve_deliveries();
      auto looking = look();
      co_await looking;
      serve_deliveries();
      auto after = look_after_targets();
      is_soon = co_await after;
    } catch (const jobs::broker_closed&) {
      break;
    } catch (const jobs::store_failure&) {
      break;  // the server ends with it
    } catch (const std::exception&) {
      // The store does not answer, or memory or room in the broker is missing: with the next look.
    }
    if (ends_.load(seam::relaxed)) break;
    const duration usual = by_.has_other_nodes() ? between_looks_with_others : between_looks;
    auto what = co_await runtime::select(wakes_.receive(), runtime::after(is_soon ? after_failure : usual));
    static_cast<void>(what);
  }
  auto ending = end_all();
  co_await ending;
}

task<> target_runner::end_all() {
  ends_.store(true, seam::relaxed);  // no further look
  const runtime::task_lock no_look = co_await looking_.lock();
  std::vector<target_ptr> all = all_targets();
  for (const target_ptr& one : all) {
    if (one->taking) one->taking.request_stop();
  }
  for (const target_ptr& one : all) {
    auto ending = end_target(one);
    co_await ending;
  }
  all.insert(all.end(), ended_.begin(), ended_.end());
  const instant until = runtime::now() + end_of_deliveries;
  for (const target_ptr& one : all) {
    auto ended = one->under_way.wait();
    auto late = runtime::after(std::max(until - runtime::now(), duration::zero()));
    const auto which = co_await runtime::select(ended, late);
    if (which.index() == 1) static_cast<void>(one->gives_up.request_stop());
    co_await one->under_way.wait();
  }
  if (!running_engine_) co_return;
  running_engine_.request_stop();
  try {
    co_await running_engine_.join_without_cancellation();
  } catch (const std::exception&) {
    // It was asked to stop.
  }
}

void target_runner::end() noexcept {
  ends_.store(true, seam::relaxed);
  wake();
}

// ---------------------------------------------------------------- deliveries

task<> target_runner::take_jobs(target_ptr of) {
  while (!ends_.load(seam::relaxed)) {
    bool has_failed = false;
    try {
      if (of->turns()->state().disabled || !check(*of)->hindrance.empty()) {
        co_await runtime::sleep(between_looks_at_hindrance);
        continue;
      }
      jobs::client by(by_);
      by.set_name("webhook");
      by.watch(of->tube);
      bool goes_on = true;
      bool is_busy = false;
      while (goes_on && !ends_.load(seam::relaxed)) {
        auto taking = take_some(of, by, is_busy);
        goes_on = co_await taking;
      }
    } catch (const jobs::broker_closed&) {
      co_return;
    } catch (const jobs::store_failure&) {
      co_return;  // the server ends with it
    } catch (const std::exception&) {
      // The store does not answer, or memory or room in the broker is missing.
      has_failed = true;
    }
    if (has_failed) co_await runtime::sleep(after_failure);
  }
}

task<> target_runner::wait_for_memory(target_ptr of) {
  while (bytes_under_way_.load(seam::relaxed) > most_bytes_under_way && of->under_way.count() > 0) {
    co_await runtime::sleep(between_looks_at_memory);
  }
}

/// A claim is a batch of the store, and over a database a statement: while there are many jobs one of them is for
/// several.
task<bool> target_runner::take_some(target_ptr of, jobs::client& by, bool& is_busy) {
  auto waiting = wait_for_memory(of);
  co_await waiting;
  const std::shared_ptr<target_turns> turns = of->turns();
  auto entering = target_turns::enter(turns);
  std::optional<delivery_turn> first = co_await entering;
  if (!first || !check(*of)->hindrance.empty()) co_return false;
  std::vector<delivery_turn> free;
  free.push_back(*std::move(first));
  const bool has_rate = of->record()->plan.each_second != 0;  // of which turns that are not used would take a part
  while (is_busy && !has_rate && free.size() < most_taken_at_once) {
    std::optional<delivery_turn> more = target_turns::try_enter(turns);
    if (!more) break;
    free.push_back(*std::move(more));
  }
  jobs::claim what{
      .tubes = {of->tube}, .count = static_cast<std::uint32_t>(free.size()), .bytes = most_bytes_taken_at_once};
  const std::optional<duration> no_wait = is_busy ? std::optional(duration::zero()) : std::nullopt;
  std::optional<counted_bytes> asked;  // of all targets that claim at the same time; one that waits has nothing yet
  if (is_busy) asked.emplace(bytes_under_way_, most_bytes_taken_at_once);
  auto reserving = by.reserve(std::move(what), no_wait);
  jobs::claim_answer got = co_await reserving;
  is_busy = !got.jobs.empty();
  asked.reset();
  if (got.what == jobs::claim_answer::kind::no_space) {
    free.clear();  // others may have the places meanwhile
    co_await runtime::sleep(after_failure);
    co_return true;
  }
  // None is lost if memory is missing in between, or the deliveries end: by has the others, and gives them back
  // together.
  for (jobs::claimed_job& each : got.jobs) {
    delivery_turn turn = std::move(free.back());
    free.pop_back();
    // The turns of another URL are not for this one.
    const bool is_good = !ends_.load(seam::relaxed) && turns == of->turns() && turn.is_good(runtime::now()) &&
                         check(*of)->hindrance.empty();
    if (!is_good) co_return false;
    const jobs::reservation token = each.token;
    if (!by.part_with(token)) continue;  // it has ended meanwhile
    if (begin_delivery(of, each, turn)) continue;
    auto giving = give_back(token);
    co_await giving;
  }
  co_return true;
}

bool target_runner::begin_delivery(const target_ptr& of, jobs::claimed_job& got, delivery_turn& turn) {
  try {
    auto delivering = deliver_one(of, std::move(got), std::move(turn), of->under_way.enter());
    static_cast<void>(runtime::spawn(std::move(delivering), of->gives_up.get_token(), "a webhook"));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

task<> target_runner::give_back(jobs::reservation token) {
  try {
    auto abandoning = by_.execute(jobs::abandon{token});
    static_cast<void>(co_await abandoning);
  } catch (const std::exception&) {
    // It is given back when its TTR ends.
  }
}

task<> target_runner::deliver_one(target_ptr of, jobs::claimed_job got, delivery_turn turn,
                                  runtime::wait_group::member counted) {
  const std::shared_ptr<const checked_plan> by = check(*of);
  const counted_bytes under_way(bytes_under_way_, got.job.body.size());
  const instant until = std::min(got.job.expires, runtime::now() + duration(got.job.ttr));
  known_delivery told;
  told.at = wall_time_now();
  told.job = got.job.id;
  told.key = got.job.key;
  told.attempt = attempt_notes::in(got.job.history).failed + 1;
  delivery_answer came;
  came.what = outcome::not_sent;
  bool is_given_up = !by->hindrance.empty();
  if (!is_given_up) {
    try {
      delivery_request request = delivery_request_of(by->by->plan, *by->url, got.job, told.attempt);
      request.secrets = by->secrets;
      told.message = request.id;
      auto delivering = engine_.deliver(std::move(request), std::move(turn));
      came = co_await delivering;
    } catch (const runtime::cancelled&) {
      is_given_up = true;  // the server ends
    } catch (const std::exception& failure) {
      came.reason = failure.what();  // it counts as a try: the next one may end in the same way
    }
  }
  static_cast<void>(counted);
  if (is_given_up) {
    auto giving = give_back(got.token);  // the wait for it is not ended by a stop
    co_await giving;
    co_return;
  }
  try {
    tell_answer(told, came);
    auto settling = settle(of, by->by, got, came, until, told);
    co_await settling;
    note(*of, std::move(told));
  } catch (const std::exception& failure) {
    // The job is delivered again when its reservation has ended.
    log_.warning("webhooks", fmt::format("a delivery of tube {}: {}", printable(of->tube), failure.what()));
  }
}

template <class Operation>
task<jobs::holder_answer::kind> target_runner::end_job(Operation what, instant until) {
  for (;;) {
    try {
      auto ending = by_.execute(what);
      const jobs::holder_answer done = co_await ending;
      co_return done.what;
    } catch (const jobs::store_unavailable&) {
      // Perhaps it has happened: then the token is not held any more.
    } catch (const jobs::broker_full&) {
      // There will be room.
    }
    if (runtime::now() >= until) co_return jobs::holder_answer::kind::not_held;
    co_await runtime::sleep(after_failure);
  }
}

task<> target_runner::settle(target_ptr of, std::shared_ptr<const followed_record> by, const jobs::claimed_job& got,
                             const delivery_answer& came, instant until, known_delivery& told) {
  using kind = jobs::holder_answer::kind;
  if (came.what == outcome::delivered) {
    auto finishing = end_job(jobs::finish{got.token}, until);
    const kind done = co_await finishing;
    told.job_outcome = done == kind::done ? "done" : "lost";
    co_return;
  }
  if (came.what != outcome::gone) {
    auto noting = note_failure(of->record()->plan, got, came, until, told);
    co_await noting;
    co_return;
  }
  // The target wants no more of them: none is lost by that. First the record: else another node might take the job.
  auto disabling = disable_gone(of, std::move(by), until);
  co_await disabling;
  auto releasing = end_job(jobs::release{got.token}, until);
  const kind done = co_await releasing;
  told.job_outcome = done == kind::done ? "kept" : "lost";
}

task<> target_runner::note_failure(const target_plan& plan, const jobs::claimed_job& got, const delivery_answer& came,
                                   instant until, known_delivery& told) {
  using kind = jobs::holder_answer::kind;
  attempt_notes notes = attempt_notes::in(got.job.history);
  notes.note({told.at, told.outcome, told.status, told.took, reason_for_history(came)});
  const jobs::job_fields history = notes.noted_in(got.job.history);
  if (!plan.retries.goes_on_after(notes.failed)) {
    auto burying = end_job(jobs::bury{got.token, std::nullopt, history}, until);
    kind done = co_await burying;
    if (done == kind::no_space) {  // the notes may be what has no room
      auto again = end_job(jobs::bury{got.token, std::nullopt, std::nullopt}, until);
      done = co_await again;
    }
    told.job_outcome = done == kind::done ? "buried" : "lost";
    // Without room for a burial, too, the job must not come again as soon as it can.
    if (done != kind::no_space) co_return;
  }
  jobs::milliseconds delay = plan.retries.delay_after(notes.failed);
  if (came.retry_after) delay = std::max<jobs::milliseconds>(delay, *came.retry_after);
  auto releasing = end_job(jobs::release{got.token, std::nullopt, delay, history}, until);
  kind done = co_await releasing;
  if (done == kind::no_space) {  // the notes may be what has no room
    auto again = end_job(jobs::release{got.token, std::nullopt, delay, std::nullopt}, until);
    done = co_await again;
  }
  told.job_outcome = done == kind::done ? "again" : "lost";
  if (done == kind::done) told.next = wall_time_now() + delay;
}

task<> target_runner::disable_gone(target_ptr of, std::shared_ptr<const followed_record> by, instant until) {
  const bool is_first = of->gone() == nullptr;
  if (!of->set_gone(std::move(by))) {
    wake();  // the answer is about a target of before, whose turns may be those of now
    co_return;
  }
  if (is_first)
    log_.warning(
        fmt::format("the target of tube {} has answered 410, Gone: it is disabled, and its jobs stay. Enable it when "
                    "the receiver is "
                    "back: foliot job webhook TUBE --enable, or POST /v1/tubes/TUBE/webhook/enable",
                    printable(of->tube)));
  const instant last = std::min(until - after_failure * 2, runtime::now() + until_gone_is_written);
  for (;;) {
    auto writing = write_gone(of);
    const bool is_over = co_await writing;
    if (is_over) break;
    if (runtime::now() >= last) {
      log_.warning(
          fmt::format("that cannot be written down yet: it is tried again. Until then the target of tube {} is "
                      "disabled on this node, and after a start it is tried once more",
                      printable(of->tube)));
      break;
    }
    try {
      co_await runtime::sleep(after_failure);
    } catch (const runtime::cancelled&) {
      break;  // the server ends
    }
  }
  wake();
}

task<bool> target_runner::write_gone(target_ptr of) {
  for (int i = 0; i < most_writes_of_gone; ++i) {
    const std::shared_ptr<const followed_record> by = of->gone();
    if (by == nullptr) co_return true;
    try {
      auto looking = by_.execute(jobs::peek{jobs::job_key{std::string(tube_of_targets), of->tube}, true});
      const jobs::peek_answer found = co_await looking;
      // The next look finds what is there instead, and forgets the answer.
      if (!found.job) co_return true;
      target_record record = target_record::in(*found.job, found.version);
      const bool is_same = record.plan && record.plan->url == by->plan.url && record.state.since == by->since;
      if (!is_same || !record.state.is_enabled) co_return true;
      record.state.is_enabled = false;
      record.state.since = wall_time_now();
      record.state.by = "receiver";
      record.state.why = "the target answered 410: it is gone, and wants no more deliveries";
      auto putting = by_.execute(put_of_target(of->tube, *record.plan, record.state, found.version));
      const jobs::put_answer stored = co_await putting;
      if (stored.what == jobs::put_answer::kind::replaced) co_return true;
      if (stored.what == jobs::put_answer::kind::no_space) co_return false;
    } catch (const std::exception&) {
      co_return false;  // the store does not answer, or takes no record of this size any more
    }
  }
  co_return false;
}

}  // namespace foliot::program
