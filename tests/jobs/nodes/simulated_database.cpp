#include "simulated_database.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <foliot/core/clock.hpp>

#include "jobs/postgresql/primary.hpp"

namespace foliot::jobs::nodes {

namespace {

using namespace std::chrono_literals;
using detail::connect_failure;
using detail::database_failure;
using simulation::choose;

bool one_in(std::uint64_t count) { return choose(count) == 0; }

duration up_to(duration longest) {
  return duration::nanoseconds(static_cast<std::int64_t>(choose(static_cast<std::uint64_t>(longest.count()))));
}

[[noreturn]] void fail_connection() { throw database_failure("", "simulated: the connection was lost"); }

/// A connection of a node to a simulated server.
class simulated_connection final : public detail::node_connection {
 public:
  simulated_connection(simulated_process& by, simulated_database& in, simulated_server& to, detail::timelines& known,
                       detail::reached_server server)
      : by_(by), in_(in), to_(to), known_(known), server_(std::move(server)), here_(to.connect()) {}
  ~simulated_connection() override {
    if (!is_lost_) to_.lose(*here_, duration::zero());
  }

  [[nodiscard]] std::string place() const override { return to_.host() + ":5432/jobs"; }
  [[nodiscard]] bool is_replaced() const override {
    return in_.wrong != flaw::forgets_timelines && known_.is_replaced(server_);
  }

  [[nodiscard]] description prepare(bool, instant deadline) override {
    description found;
    found.origin = to_.recognize(begin(deadline));
    found.process = here_->process;
    commit(deadline);
    return found;
  }
  [[nodiscard]] std::optional<std::int64_t> announce(const announcement& who, const given_time&,
                                                     instant deadline) override {
    const auto made = to_.announce(begin(deadline), who);
    end_call();
    return made;
  }
  [[nodiscard]] detail::batch_plan::outcome execute(std::span<const operation> batch, const detail::batch_frame& frame,
                                                    detail::batch_time& time, instant deadline) override {
    const commit_fate fate = in_.meets_batch ? in_.meets_batch(batch, by_) : commit_fate::arrives;
    backend::transaction& open = begin(deadline);
    fate_ = fate;
    here_->registration = frame.registration;
    detail::batch_plan::outcome got = to_.execute(open, batch, frame, time);
    end_call();
    return got;
  }
  void commit(instant deadline) override {
    stand_still();
    if (fate_ == commit_fate::is_sent_late) simulation::pass_time(duration(2s) + up_to(4s));
    if (by_.is_dead()) lose();
    if (fate_ != commit_fate::arrives && fate_ != commit_fate::is_sent_late) meet_fate();
    if (in_.is_troubled && one_in(20)) {
      const bool has_arrived = one_in(2);
      is_lost_ = true;
      if (has_arrived) {
        to_.lose_in_commit(*here_, one_in(2) ? duration::zero() : up_to(1s));
      } else {
        to_.lose(*here_, one_in(2) ? duration::zero() : up_to(8s));
      }
      fail_connection();
    }
    const bool changes = here_->open != nullptr && here_->open->changes;
    expect_server();
    if (changes && to_.waits_for_standby) {
      is_lost_ = true;
      to_.lose_in_commit(*here_, 1h);
      pass_until(deadline);
      throw database_failure("", "simulated: the server did not answer in time");
    }
    to_.commit(*here_);
    if (!changes || &to_ == &in_.primary()) return;
    ++in_.confirmed_by_old;
    if (knew_that_replaced_) ++in_.confirmed_by_known_old;
  }
  void roll_back(instant deadline) override {
    static_cast<void>(begin(deadline));
    to_.roll_back(*here_);
    end_call();
  }
  [[nodiscard]] bool goes_on_after(const database_failure& failure, instant) noexcept override {
    const bool is_in_order = failure.is_conflict() || failure.is_lack_of_room() || failure.is_refusal();
    if (is_lost_ || !is_in_order || here_->has_ended) return false;
    to_.roll_back(*here_);
    return true;
  }

  [[nodiscard]] bool has_happened(std::int64_t registration, std::int64_t number, std::int64_t,
                                  instant deadline) override {
    const bool has = to_.has_happened(begin(deadline), registration, number);
    end_call();
    return has;
  }
  [[nodiscard]] std::vector<held_reservation> reservations_of(std::int64_t registration, const given_time&,
                                                              instant deadline) override {
    backend::transaction& open = begin(deadline);
    content& data = open.after;
    std::vector<held_reservation> all;
    for (const reservation& each : simulated_server::reservations_of(data, registration)) {
      all.push_back({each, data.jobs.find(each.id)->job.expires - open.now()});
    }
    end_call();
    return all;
  }
  [[nodiscard]] bool close_registration(std::int64_t registration, instant deadline) override {
    to_.close_registration(begin(deadline), registration);
    end_call();
    return false;
  }
  [[nodiscard]] detail::tube_map read_map(instant deadline) override {
    detail::tube_map map = begin(deadline).after.map;
    end_call();
    return map;
  }
  [[nodiscard]] std::optional<std::string> check_jobs(instant) override { return std::nullopt; }
  [[nodiscard]] std::int64_t rotate(instant deadline) override {
    static_cast<void>(begin(deadline));
    end_call();
    return detail::sql_constants::rotation_done;
  }
  void give_up_ballast(instant deadline) override { static_cast<void>(begin(deadline)); }
  void make_tubes_before(const std::set<std::string_view>&, instant deadline) override {
    static_cast<void>(begin(deadline));
  }

  [[nodiscard]] bool ends_process(const std::string& process, bool terminates, instant) override {
    expect_server();
    return to_.ends(process, terminates);
  }
  [[nodiscard]] bool waits_for_standby(const std::string& process, instant) override {
    expect_server();
    return to_.waits_for_standby && to_.is_committing(process);
  }

 private:
  static void pass_until(instant deadline) {
    const duration left = deadline - monotonic_clock::instance().now();
    if (left > duration::zero()) simulation::pass_time(left);
  }

  void stand_still() {
    if (const duration stop = by_.take_stop(); stop > duration::zero()) simulation::pass_time(stop);
  }

  /// The connection is lost, one way or the other.
  [[noreturn]] void meet_fate() {
    is_lost_ = true;
    switch (fate_) {
      case commit_fate::is_lost: to_.lose(*here_, one_in(2) ? duration::zero() : up_to(8s)); break;
      case commit_fate::goes_down:
        to_.lose_in_commit(*here_, 1h);
        if (&to_ == &in_.primary()) in_.go_down(up_to(3s), one_in(2));
        break;
      case commit_fate::fails_over:
        to_.lose_in_commit(*here_, 1h);
        if (&to_ == &in_.primary()) in_.fail_over(0, old_primary::is_down);
        break;
      case commit_fate::ends_with_node:
      case commit_fate::loses_answer:
      case commit_fate::is_sent_late:
      case commit_fate::arrives: to_.lose_in_commit(*here_, one_in(2) ? duration::zero() : up_to(1s));
    }
    if (fate_ == commit_fate::ends_with_node) by_.die();
    fail_connection();
  }

  void lose() {
    is_lost_ = true;
    // Where nothing but a process fails, its machine closes its connections: the others do not wait for what it has
    // locked.
    const bool is_noticed = !in_.is_troubled || one_in(2);
    to_.lose(*here_, is_noticed ? duration::zero() : up_to(8s));
    fail_connection();
  }

  void expect_server() {
    if (is_lost_) fail_connection();
    to_.advance();
    if (to_.is_up && !here_->has_ended) return;
    is_lost_ = true;
    fail_connection();
  }

  /// A call begins: its statements are on their way to the server.
  backend::transaction& begin(instant deadline) {
    if (here_->open == nullptr) {
      knew_that_replaced_ = known_.is_replaced(server_);
      fate_ = commit_fate::arrives;
    }
    stand_still();
    if (by_.is_dead()) lose();
    expect_server();
    if (in_.is_troubled) {
      if (one_in(40)) lose();
      if (one_in(10)) simulation::pass_time(1ns + up_to(one_in(10) ? duration(1s) : duration(5ms)));
      if (one_in(40)) {
        static_cast<void>(to_.acquire(*here_, deadline));
        throw database_failure(one_in(2) ? "55P03" : "40P01", "simulated: a conflict");
      }
    }
    return to_.acquire(*here_, deadline);
  }
  /// Its answers are on their way back.
  void end_call() {
    if (!in_.is_troubled) return;
    if (one_in(40)) lose();
    if (one_in(20)) simulation::pass_time(1ns + up_to(5ms));
  }

  simulated_process& by_;
  simulated_database& in_;
  simulated_server& to_;
  detail::timelines& known_;
  const detail::reached_server server_;
  const std::shared_ptr<backend> here_;
  commit_fate fate_ = commit_fate::arrives;  // of the open transaction
  bool is_lost_ = false;
  bool knew_that_replaced_ = false;  // when the transaction began
};

std::vector<std::string> hosts_in(const detail::target::arguments& with) {
  for (std::size_t i = 0; with.keywords()[i] != nullptr; ++i) {
    if (std::string_view(with.keywords()[i]) != "host") continue;
    std::vector<std::string> hosts{""};
    for (const char each : std::string_view(with.values()[i])) {
      if (each == ',') {
        hosts.emplace_back();
      } else {
        hosts.back() += each;
      }
    }
    return hosts;
  }
  return {};
}

}  // namespace

simulated_database::simulated_database(std::size_t number, flaw is_wrong) : wrong(is_wrong) {
  for (const char* const which : {"a", "b"}) {
    servers_.push_back(
        std::make_unique<simulated_server>("db" + std::to_string(number) + which, static_cast<job_id>(number), wrong));
  }
  servers_.front()->promote({}, {}, 1);
}

std::string simulated_database::connection_string() const {
  return "host=" + servers_[0]->host() + "," + servers_[1]->host() + " dbname=jobs";
}

simulated_server* simulated_database::find(std::string_view host) {
  const auto found = std::ranges::find(servers_, host, [](const auto& each) { return each->host(); });
  return found == servers_.end() ? nullptr : found->get();
}

void simulated_database::end_old() {
  simulated_server& old = *servers_[1 - primary_];
  old.stop(false);
  if (!replaced_at_) return;
  lost.insert(lost.end(), old.log().begin() + static_cast<std::ptrdiff_t>(*replaced_at_), old.log().end());
  replaced_at_.reset();
}

void simulated_database::fail_over(std::size_t count, old_primary then) {
  end_old();
  simulated_server& old = primary();
  simulated_server& next = *servers_[1 - primary_];
  comes_back_ = instant::never();
  if (then == old_primary::is_down) old.stop(one_in(2));
  if (then == old_primary::goes_on) replaced_at_ = old.log().size();
  content stored = old.stored();
  std::vector<effect> log = old.log();
  if (const auto& before = old.before(); count > 0 && !before.empty()) {
    const auto& [earlier, length] = before[before.size() - std::min(count, before.size())];
    if (wrong != flaw::answers_before_commit) {
      lost.insert(lost.end(), log.begin() + static_cast<std::ptrdiff_t>(length), log.end());
    }
    log.resize(length);
    stored = earlier;
  }
  old.waits_for_standby = then == old_primary::confirms_nothing;
  next.is_up = true;
  next.waits_for_standby = false;
  next.promote(std::move(stored), std::move(log), old.timeline() + 1);
  primary_ = 1 - primary_;
}

void simulated_database::go_down(duration length, bool completes) {
  comes_back_ = monotonic_clock::instance().now() + length;
  primary().stop(completes);
}

void simulated_database::come_back() {
  if (comes_back_ > monotonic_clock::instance().now()) return;
  comes_back_ = instant::never();
  primary().is_up = true;
}

void simulated_database::heal() {
  is_troubled = false;
  for (const auto& each : servers_) each->is_full = false;
  end_old();
  primary().is_up = true;
  interrupt_listeners();
}

void simulated_database::notify(const simulated_listener& from, std::span<const std::string> tubes) {
  for (simulated_listener* const each : std::vector(listeners_)) {
    if (each == &from || drops_notifications || (is_troubled && one_in(3))) continue;
    if (is_troubled && one_in(3)) {
      late_.emplace_back(each, std::vector(tubes.begin(), tubes.end()));
      if (one_in(2)) continue;  // else it comes twice
    }
    each->hear(tubes);
  }
}

void simulated_database::deliver_late() {
  for (const auto& [to, tubes] : std::exchange(late_, {})) {
    if (std::ranges::find(listeners_, to) != listeners_.end()) to->hear(tubes);
  }
}

void simulated_database::interrupt_listeners() {
  for (simulated_listener* const each : std::vector(listeners_)) each->hear_any();
}

news simulated_listener::take_news() {
  wire_.become(readiness::none);
  news taken;
  taken.any_tube = std::exchange(any_tube_, false);
  taken.tubes.assign(tubes_.begin(), tubes_.end());
  tubes_.clear();
  return taken;
}

void simulated_listener::hear(std::span<const std::string> tubes) {
  tubes_.insert(tubes.begin(), tubes.end());
  wire_.become(readiness::readable);
}

void simulated_listener::hear_any() {
  any_tube_ = true;
  wire_.become(readiness::readable);
}

simulated_database& simulated_process::database_with(std::string_view host) const {
  for (const auto& each : all_) {
    if (each->find(host) != nullptr) return *each;
  }
  throw std::logic_error("no database has the host " + std::string(host));
}

std::unique_ptr<detail::node_connection> simulated_process::connect(detail::target& to, const warning& warn) {
  detail::timelines nothing;
  const auto reach = [&](const detail::target::arguments& with) {
    std::vector<std::string> reasons;
    for (const std::string& host : hosts_in(with)) {
      simulated_database& in = database_with(host);
      in.come_back();
      simulated_server& server = *in.find(host);
      if (!server.is_up && one_in(4)) simulation::pass_time(2s);
      if (is_dead_ || (in.is_troubled && one_in(20))) {
        reasons.push_back(host + " cannot be reached");
      } else if (!server.is_up) {
        reasons.push_back(host + " is down");
      } else if (!server.accepts_writes()) {
        reasons.push_back(host + " is read-only");
      } else {
        detail::reached_connection<detail::node_connection> made;
        made.server = {to.to_string(), "cluster of " + in.connection_string(), host, server.timeline()};
        known_.add(made.server);
        made.over = std::make_unique<simulated_connection>(*this, in, server, known_, made.server);
        return made;
      }
    }
    throw connect_failure(std::move(reasons));
  };
  detail::timelines& known = all_.front()->wrong == flaw::forgets_timelines ? nothing : known_;
  return detail::primary_search<detail::node_connection, decltype(reach)>(to, known, warn, reach).find().over;
}

std::unique_ptr<detail::node_listener> simulated_process::listen(const std::string& database, duration scan_every) {
  detail::target to(database);
  const std::vector<std::string> hosts = hosts_in(to.only(0));
  simulated_database& in = database_with(hosts.front());
  return std::make_unique<simulated_listener>(in, in.wrong == flaw::trusts_notifications ? duration(24h) : scan_every);
}

}  // namespace foliot::jobs::nodes
