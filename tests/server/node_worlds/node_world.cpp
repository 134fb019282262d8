#include "node_world.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>

#include "foliot_simulation/world.hpp"
#include "jobs/postgresql/tube_map.hpp"
#include "server/core/known_stream.hpp"
#include "server/core/simulated_stream.hpp"
#include "server/worlds/checker.hpp"
#include "server/worlds/http_requests.hpp"

namespace foliot::program::worlds {

namespace {

using namespace std::chrono_literals;
using jobs::nodes::flaw;
using jobs::nodes::node_timeout;
using jobs::nodes::simulated_database;

/// Within this time a node sends a heartbeat, or a batch with one, unless it stands still.
constexpr duration half_timeout = duration(node_timeout) / 2;
/// A node stands still for less than this. Then it goes on with what clients have asked it before.
constexpr duration longest_stop = duration(node_timeout) * 3;
/// While a client goes to another node, its first node stands still for less than this.
constexpr duration longest_hitch = 20ms;
/// The clock of a database is at most so much ahead, or behind.
constexpr duration clock_error = 2s;
/// A reservation does not end later, after the last word of its client, if no clock is wrong.
constexpr jobs::milliseconds longest_ttr = 5s;
/// After this time without troubles each reservation has ended: also one that was touched late by a node that stood
/// still, whose end was computed by another clock, and which the heartbeat of another node ends.
constexpr duration quiet_time = longest_stop + duration(longest_ttr) + clock_error * 2 + half_timeout * 2;
/// How long a client waits for an answer that must come.
constexpr duration patience = 20s;
/// Nobody waits longer for a job.
constexpr jobs::milliseconds longest_wait = 1s;
/// A connection moves so many bytes at once: more than a request has, so that a world is quick. It holds so many that a
/// client and a server that both write do not wait for each other.
constexpr std::size_t bytes_at_once = 700;
constexpr std::size_t most_bytes = 200'000;

duration up_to(client_world& in, duration longest) {
  return duration::nanoseconds(1 + static_cast<std::int64_t>(in.below(static_cast<std::size_t>(longest.count()))));
}

/// How many jobs are reserved, as the databases know.
std::size_t count_held(const node_world& in) {
  std::size_t sum = 0;
  for (const auto& each : in.databases) sum += each->primary().stored().holders.size();
  return sum;
}

/// One connection of a client. Both must outlive it.
class node_visit {
 public:
  node_visit(node_world& in, http_node& to)
      : in_(in), to_(to), peer_(to.connect()), asks_(in, ++in.connections, to.number) {}
  node_visit(const node_visit&) = delete;
  node_visit& operator=(const node_visit&) = delete;
  ~node_visit() { leave(); }

  /// Sends a reserve that happens once, and goes as soon as jobs are reserved, so often before the answer. Returns the
  /// reserve.
  task<keyed_request> reserve_and_go() {
    const std::string request = asks_.reserve_once();
    const keyed_request asked = in_.keyed.back();
    const bool is_sent = co_await write_all(*peer_, request);
    if (!is_sent) end_by_server();
    const std::size_t before = count_held(in_);
    for (std::size_t left = 60; left > 0 && count_held(in_) <= before; --left) {
      const duration pause = in_.one_in(10) ? up_to(in_, 1ms) : duration::zero();
      if (pause > duration::zero()) co_await runtime::sleep(pause);
      co_await runtime::yield();
    }
    to_.process.process->stop_for(up_to(in_, longest_hitch));
    leave();
    co_return asked;
  }

  /// Sends a request of another connection again.
  task<> repeat(const keyed_request& again) {
    const std::string request = asks_.repeat(again);
    const bool is_sent = co_await write_all(*peer_, request);
    if (!is_sent) end_by_server();
    co_await read_answers();
  }

  task<> stay() {
    for (std::size_t left = 1 + in_.below(6); left > 0 && !has_left_; --left) {
      std::string requests;
      const std::size_t count = in_.one_in(4) ? 1 + in_.below(4) : 1;
      for (std::size_t i = 0; i < count && !asks_.is_last(); ++i) requests += asks_.next();
      const bool is_sent = co_await write_all(*peer_, requests);
      if (!is_sent) end_by_server();
      if (is_sent && in_.one_in(10)) leave();  // the answers are lost
      co_await read_answers();
      if (asks_.is_last()) leave();
      const duration pause = in_.one_in(4) ? up_to(in_, in_.trouble_length / 4) : asks_.pause();
      co_await runtime::sleep(pause);
    }
  }

 private:
  task<> read_answers() {
    while (!has_left_ && asks_.front() != nullptr) {
      const bool is_whole = asks_.take_answer(received_);
      if (!is_whole) co_await read_more();
    }
  }

  task<> read_more() {
    const bool waits = asks_.front()->what == verb::reserve;
    const bool is_bored = waits && (asks_.front()->timeout > longest_wait || in_.one_in(2));
    peer_->set_read_deadline(is_bored ? up_to(in_, 1s) : patience);
    std::array<char, 2048> piece{};
    const auto got = co_await peer_->read_some(piece);
    // Nothing comes from a node that has died, although its fibers go on until its connections are ended.
    if (got && *got > 0 && !to_.is_dead()) {
      received_.append(piece.data(), *got);
    } else if (is_bored && !got && got.error() == runtime::io_errc::deadline_exceeded) {
      leave();
    } else {
      end_by_server();
    }
  }

  /// An answer must come, unless the node has died.
  void end_by_server() {
    if (!to_.is_dead() && !in_.is_over) asks_.misses();
    leave();
  }

  void leave() {
    if (has_left_) return;
    has_left_ = true;
    in_.end_connection(asks_.connection());
    peer_->close();
  }

  node_world& in_;
  http_node& to_;
  const std::unique_ptr<byte_stream> peer_;
  http_requests asks_;
  std::string received_;
  bool has_left_ = false;
};

/// The connection of a client breaks before the answer to a reserve, and the client sends the reserve again at another
/// node, maybe before the first one has noticed that it has gone.
task<> move_with_reserve(node_world& in, http_node& from, http_node& to) {
  node_visit first(in, from);
  auto reserving = first.reserve_and_go();
  const keyed_request asked = co_await reserving;
  const duration pause = in.one_in(2) ? duration::zero() : up_to(in, longest_hitch);
  co_await runtime::sleep(pause);
  if (to.is_dead()) co_return;
  node_visit next(in, to);
  auto repeating = next.repeat(asked);
  co_await repeating;
  co_await next.stay();
}

task<> live_as_client(node_world& in) {
  for (std::size_t visits = 3 + in.below(8); visits > 0; --visits) {
    const duration pause = up_to(in, in.one_in(3) ? in.trouble_length / 4 : duration(10ms));
    co_await runtime::sleep(pause);
    http_node& to = in.any_node();
    if (to.is_dead()) continue;
    http_node& other = in.any_node();
    if (other.number != to.number && !other.is_dead() && in.one_in(2)) {
      auto moving = move_with_reserve(in, to, other);
      co_await moving;
      continue;
    }
    node_visit one(in, to);
    co_await one.stay();
  }
}

/// It may take long: the database may be away, or may not have noticed yet that the earlier process has gone.
task<> start_again(node_world& in, std::size_t place) {
  const auto starting = [&in, place] { in.start(place); };
  co_await runtime::blocking(starting);
  in.places[place]->begin();
}

/// Ends the connections of what has died, and starts it again some time later.
task<> look_after(node_world& in) {
  std::set<const http_node*> ended;
  std::set<const http_node*> replaced;
  std::vector<runtime::join_handle<>> starting;
  while (!in.is_over) {
    co_await runtime::sleep(duration(10ms));
    for (std::size_t place = 0; place < in.places.size(); ++place) {
      http_node& it = *in.places[place];
      if (!it.is_dead()) continue;
      if (ended.insert(&it).second) it.disconnect();
      // It takes a second or so; and without troubles no time, so that in the end a node lives.
      const bool is_now = in.restarts > 0 && (in.one_in(100) || !in.has_troubles);
      if (!is_now || !replaced.insert(&it).second) continue;
      --in.restarts;
      starting.push_back(runtime::spawn(start_again(in, place), "starts a node again"));
    }
  }
  for (auto& each : starting) co_await each.join();
}

task<> live_in(node_world& in, const std::function<task<>()>& clients) {
  for (http_node* const each : in.places) each->begin();
  auto looking = runtime::spawn(look_after(in), "looks after nodes");
  auto living = clients();
  co_await living;
  while (in.has_troubles) co_await runtime::sleep(duration(50ms));
  co_await runtime::sleep(quiet_time);
  in.is_over = true;
  in.ends_at = in.time_now();
  co_await looking.join();
  for (const auto& each : in.processes) {
    auto ending = each->end();
    co_await ending;
  }
}

task<> live_as_clients(node_world& in) {
  std::vector<runtime::join_handle<>> clients;
  for (std::size_t i = 2 + in.below(4); i > 0; --i) clients.push_back(runtime::spawn(live_as_client(in), "a client"));
  for (auto& each : clients) co_await each.join();
}

/// Something happens to a node. One lives, or will.
void trouble_node(node_world& in) {
  http_node& one = in.any_node();
  if (one.is_dead()) return;
  const instant now = in.time_now();
  const bool may_die = in.may_lose_one();
  const bool stands_still = in.seen.has_outages && in.one_in(2);
  if (!may_die && !stands_still) return;
  in.expect_end_of(one.name, now + half_timeout);
  if (stands_still) {
    one.process.process->stop_for(up_to(in, longest_stop));
    return;
  }
  in.note_death(one);
  one.process.process->die();
}

void trouble(node_world& in) {
  const instant until = in.time_now() + in.trouble_length;
  while (in.time_now() < until) {
    simulation::pass_time(up_to(in, in.trouble_length / 5));
    if (in.one_in(3)) {
      trouble_node(in);
    } else if (in.seen.has_outages) {
      jobs::nodes::trouble_database(*in.databases[in.below(in.databases.size())], false);
    }
  }
  for (const auto& each : in.databases) {
    each->deliver_late();
    each->heal();
  }
  for (const auto& each : in.processes) static_cast<void>(each->process.process->take_stop());
  in.has_troubles = false;
}

/// No database ends the registration of a node that it must have heard. Where connections are lost, a node that lives
/// may not be heard for long.
void judge_ends(node_world& in) {
  if (in.seen.has_outages) return;
  for (const auto& each : in.databases) {
    for (const auto& [name, time] : each->primary().stored().ended) {
      const auto found = in.may_end.find(name);
      const bool is_right = time >= in.ends_at || (found != in.may_end.end() && time >= found->second);
      if (!is_right) {
        in.breaches.push_back(fmt::format("ended: the registration of {} at {} ns", name, time.nanoseconds()));
      }
    }
  }
}

void look_at_the_end(node_world& in) {
  for (const auto& each : in.databases) {
    for (const auto& one : each->primary().stored().jobs.entries()) in.seen.left.emplace(one.job.id, one.job);
    if (!each->primary().stored().registrations.empty()) in.breaches.emplace_back("left: a registration");
    if (each->primary().has_kept_for_nobody) {
      in.breaches.emplace_back("left: a reservation for a registration that was over");
    }
  }
}

void count_uses(const node_world& in, node_outcome& into) {
  std::map<std::string_view, const event*> reserves;
  for (const event& each : in.seen.events) {
    if (each.what == verb::reserve && !each.token.empty()) reserves.emplace(each.token, &each);
  }
  for (const event& each : in.seen.events) {
    const auto by = reserves.find(each.token);
    const bool is_use = each.what != verb::reserve && by != reserves.end() && each.end && each.answer != "NOT_FOUND";
    if (!is_use || by->second->node == each.node) continue;
    ++into.used_elsewhere;
    const http_node& made = *in.processes[by->second->node - 1];
    if (made.is_dead() && each.begin.time > made.died) ++into.used_after_death;
  }
}

/// Counts reserves that were sent again to another node than before, and brought reservations there.
void count_moves(const node_world& in, node_outcome& into) {
  std::map<std::string_view, std::size_t> nodes;
  for (const event& each : in.seen.events) {
    if (each.what != verb::reserve || each.once.empty()) continue;
    const auto [before, is_new] = nodes.try_emplace(each.once, each.node);
    if (!is_new && before->second != each.node && !each.token.empty()) ++into.repeated_elsewhere;
    before->second = each.node;
  }
}

}  // namespace

std::unique_ptr<byte_stream> http_node::connect() {
  auto [server, client] = test::simulated_stream::pair(bytes_at_once, most_bytes);
  session& made = *sessions_.emplace_back(std::make_unique<session>());
  made.peer =
      std::make_unique<test::stream_of_known>(std::move(server), runtime::address::parse("127.0.0.1:4000").value(), "");
  made.serving = runtime::spawn(serve(*made.peer), "a session");
  return std::move(client);
}

task<> http_node::serve(byte_stream& peer) {
  try {
    auto serving = speaks_.serve(peer);
    co_await serving;
  } catch (const std::exception&) {  // the broker has ended
  }
  peer.close();
}

void http_node::disconnect() {
  for (const auto& each : sessions_) each->peer->close();
}

void http_node::begin() {
  running_ = runtime::spawn(process.broker.run(), "a broker");
  if (duties_.acts) {
    api_.do_actions_by(actions_);
    acting_ = runtime::spawn(actions_.keep_on(), "actions");
  }
  if (!duties_.zone_data.empty()) {
    zones_.emplace(duties_.zone_data[number % duties_.zone_data.size()]);
    schedules_.emplace(process.broker, *zones_, duties_.planning);
    scheduling_ = runtime::spawn(schedules_->keep_on(), "schedules");
  }
}

task<> http_node::end() {
  disconnect();
  for (const auto& each : sessions_) co_await each->serving.join();
  sessions_.clear();
  actions_.end();
  if (duties_.acts) co_await acting_.join();
  if (schedules_) {
    schedules_->end();
    co_await scheduling_.join();
  }
  process.broker.close();
  co_await running_.join();
}

node_world::node_world(flaw wrong, node_duties of_nodes)
    : client_world(simulation::choose(std::uint64_t{1} << 40)),
      trouble_length(500ms + up_to(*this, 3s)),
      duties(std::move(of_nodes)) {
  short_ttr = 800ms;
  long_ttr = longest_ttr;
  seen.has_stalls = has_stalls = true;  // an answer does not come at the instant at which its request was executed
  seen.has_outages = !one_in(3);
  seen.has_clocks_apart = one_in(4);
  seen.has_several_databases = one_in(3);
  has_clears = one_in(4);
  jobs::detail::tube_map::database_list others;
  jobs::detail::tube_map::place_list at;
  for (std::size_t i = 0; i < (seen.has_several_databases ? 2U : 1U); ++i) {
    databases.push_back(std::make_unique<simulated_database>(i, wrong));
    if (i > 0) others[static_cast<int>(i)] = databases.back()->connection_string();
    if (i > 0) at[tubes.back()].database = static_cast<int>(i);
    if (!seen.has_clocks_apart) continue;
    for (const char which : {'a', 'b'}) {
      databases.back()->find(fmt::format("db{}{}", i, which))->clock_ahead =
          up_to(*this, clock_error * 2) - clock_error;
    }
  }
  databases.front()->primary().stored().map = jobs::detail::tube_map(std::move(others), std::move(at));
  seen.wall.step(time_now(), wall_clock::instance().now() - time_now());
  places.resize(1 + below(3));
  for (std::size_t i = 0; i < places.size(); ++i) start(i);
  for (const auto& each : databases) each->is_troubled = seen.has_outages;
}

instant node_world::time_now() const { return monotonic_clock::instance().now(); }

jobs::utc_time node_world::utc() const {
  return std::chrono::floor<jobs::milliseconds>(wall_clock::to_sys(wall_clock::instance().now()));
}

void node_world::start(std::size_t place) {
  const std::string name = fmt::format("node {}", place);
  if (places[place] != nullptr) expect_end_of(name, time_now());
  for (;;) {
    try {
      auto made = std::make_unique<http_node>(processes.size() + 1, name, databases, duties);
      made->started = time_now();
      places[place] = made.get();
      processes.push_back(std::move(made));
      return;
    } catch (const std::exception&) {  // the database is away
      simulation::pass_time(100ms);
    }
  }
}

bool node_world::may_lose_one() const {
  // One may be about to die, with its next commit.
  const auto lives = [](const http_node* each) { return !each->is_dead() && each->died == instant(); };
  return restarts > 0 || std::ranges::count_if(places, lives) > 1;
}

void node_world::note_death(http_node& of) {
  of.died = time_now();
  ++deaths;
}

void node_world::expect_end_of(const std::string& name, instant from) {
  const auto [found, is_new] = may_end.try_emplace(name, from);
  if (!is_new) found->second = std::min(found->second, from);
}

void run_world(node_world& in, const std::function<task<>()>& clients) {
  in.has_troubles = true;
  seam::thread troubles("troubles", [&] { trouble(in); });
  runtime::run_options options;
  options.processors = 1 + simulation::choose(2);
  options.seed = simulation::choose(1'000'000);
  // Of each process the broker, and what its schedules plan.
  const std::size_t of_process = 1 + (in.duties.zone_data.empty() ? 0 : schedule_runner::lanes);
  options.blocking_threads = of_process * (in.places.size() + in.restarts) + 1;
  runtime::run(live_in(in, clients), options);
  troubles.join();
  for (const auto& each : in.processes) {
    try {
      each->process.store->close();
    } catch (const jobs::store_failure& why) {
      if (!each->is_dead()) in.breaches.push_back(fmt::format("left: {}", why.what()));
    }
  }
  judge_ends(in);
}

node_outcome live_with_http(flaw wrong) {
  node_world in(wrong);
  run_world(in, [&] { return live_as_clients(in); });
  look_at_the_end(in);
  node_outcome left;
  left.breaches = std::move(in.breaches);
  for (std::string& each : breaches(in.seen)) left.breaches.push_back(std::move(each));
  left.deaths = in.deaths;
  count_uses(in, left);
  count_moves(in, left);
  left.seen = std::move(in.seen);
  return left;
}

}  // namespace foliot::program::worlds
