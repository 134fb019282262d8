#include "world.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

namespace foliot::jobs::nodes {

namespace {

using namespace std::chrono_literals;
using runtime::task;
using simulation::choose;

/// Of a job that clients may hold for too long.
constexpr milliseconds longest_ttr = 3s;
constexpr milliseconds longest_delay = 500ms;
/// After this time without troubles each reservation that nobody has is over, and each dead registration has ended.
constexpr duration quiet_time = 10s;

bool one_in(std::uint64_t count) { return choose(count) == 0; }

duration up_to(duration longest) {
  return duration::nanoseconds(1 + static_cast<std::int64_t>(choose(static_cast<std::uint64_t>(longest.count()))));
}

request& add_request(world& in, request::kind what, std::string body, const reservation& token) {
  const instant now = monotonic_clock::instance().now();
  in.requests.push_back({what, std::move(body), token, in.next_moment(), now, 0, 0, 0, request::fate::unanswered});
  return in.requests.back();
}

void refuse(request& what, const store_unavailable& why) {
  what.became = why.is_in_doubt() ? request::fate::in_doubt : request::fate::refused;
}

/// What a client has until it ends: declared behind the client, it ends first.
class holdings {
 public:
  holdings() = default;
  ~holdings() {
    const instant now = monotonic_clock::instance().now();
    for (receipt* const each : all_) each->given_up = now;
  }
  holdings(const holdings&) = delete;
  holdings& operator=(const holdings&) = delete;

  void add(receipt& each) { all_.push_back(&each); }

 private:
  std::vector<receipt*> all_;
};

/// The key that several puts of jobs together may have.
constexpr std::string_view key_of_groups = "key";

/// What lets the put of this body happen once: bodies are unique, and shorter than a key.
once once_of(const std::string& body) {
  sha256 key{};
  std::ranges::transform(body, key.begin(), [](char each) { return static_cast<std::byte>(each); });
  return {key, key, std::chrono::hours(1)};
}

/// Sends a put that happens once again, through any node, until it has an answer, or too often: it is in doubt, or its
/// client has lost the answer.
task<> put_again(world& in, put what, request& asked) {
  const request::fate before = asked.became;
  bool is_in_doubt = before == request::fate::in_doubt;
  for (int left = 6; left > 0; --left) {
    const duration pause = up_to(in.trouble_length / 8);
    co_await runtime::sleep(pause);
    ++asked.repeated;
    try {
      auto putting = in.any_broker().execute(what);
      const put_answer got = co_await putting;
      if (got.what == put_answer::kind::other_request) in.breaches.emplace_back("once: it is no other request");
      if (got.is_replayed) ++in.replayed;
      if (got.what != put_answer::kind::inserted) continue;
      asked.became = request::fate::done;
      in.ids.push_back(got.id);
      co_return;
    } catch (const store_unavailable& why) {
      is_in_doubt = is_in_doubt || why.is_in_doubt();
    }
  }
  if (before != request::fate::done) asked.became = is_in_doubt ? request::fate::in_doubt : request::fate::refused;
}

put new_put(world& in, const std::string& tube) {
  put what;
  what.tube = tube;
  what.body = (one_in(40) ? "poison " : "job ") + std::to_string(++in.bodies);
  what.priority = static_cast<priority>(choose(3));
  what.ttr = milliseconds(300 + choose(static_cast<std::uint64_t>(longest_ttr.count()) - 300));
  what.due = milliseconds(one_in(3) ? choose(static_cast<std::uint64_t>(longest_delay.count())) : 0);
  return what;
}

request& add_put(world& in, const put& what) {
  request& asked = add_request(in, request::kind::put, what.body, {});
  asked.due += duration(std::get<milliseconds>(what.due));
  asked.priority = what.priority;
  return asked;
}

task<> put_job(world& in, broker& on) {
  put what = new_put(in, in.tubes[choose(in.tubes.size())]);
  request& asked = add_put(in, what);
  const bool is_once = one_in(2);
  if (is_once) what.once = once_of(what.body);
  if (one_in(2)) what.key = "key of " + what.body;
  try {
    auto putting = on.execute(what);
    const put_answer got = co_await putting;
    asked.became = got.what == put_answer::kind::inserted ? request::fate::done : request::fate::refused;
    if (got.what == put_answer::kind::inserted) in.ids.push_back(got.id);
  } catch (const store_unavailable& why) {
    refuse(asked, why);
  }
  const bool has_answer = asked.became == request::fate::done && !one_in(3);
  if (!is_once || has_answer) co_return;
  auto again = put_again(in, std::move(what), asked);
  co_await again;
}

/// Puts several jobs, all or none: none if another job has the key of one, or if their tubes are in several databases.
task<> put_together(world& in, broker& on) {
  put_all what;
  std::vector<request*> asked;
  const std::string tube = in.tubes[choose(in.tubes.size())];
  const std::size_t group = ++in.groups;
  for (std::uint64_t left = 2 + choose(3); left > 0; --left) {
    what.puts.push_back(new_put(in, one_in(10) ? in.tubes[choose(in.tubes.size())] : tube));
    asked.push_back(&add_put(in, what.puts.back()));
    asked.back()->group = group;
  }
  if (one_in(2)) {
    put& keyed = what.puts[choose(what.puts.size())];
    keyed.key = key_of_groups;
    keyed.existing = on_existing::refuse;
  }
  try {
    auto putting = on.execute(std::move(what));
    const put_all_answer got = co_await putting;
    const bool is_done = got.what == put_all_answer::kind::done;
    for (request* const each : asked) each->became = is_done ? request::fate::done : request::fate::refused;
    if (got.what == put_all_answer::kind::refused && got.place > 0) ++in.refused_groups;
  } catch (const store_unavailable& why) {
    for (request* const each : asked) refuse(*each, why);
  }
}

task<> put_jobs(world& in, broker& on) {
  for (std::uint64_t left = 3 + choose(8); left > 0; --left) {
    if (one_in(4)) {
      co_await put_together(in, on);
    } else {
      co_await put_job(in, on);
    }
    const duration pause = up_to(one_in(4) ? in.trouble_length / 4 : duration(20ms));
    co_await runtime::sleep(pause);
  }
}

/// Looks at a job, and gives it another due time if it has not changed meanwhile: never an earlier one than its put
/// did, and with a delay that no other job has, so that no version comes twice.
task<> edit_job(world& in, broker& on) {
  const job_id id = in.ids[in.ids.size() - 1 - choose(std::min<std::size_t>(in.ids.size(), 2))];
  try {
    auto looking = on.execute(peek{id, false});
    const peek_answer seen = co_await looking;
    if (!seen.job) co_return;
    const duration pause = up_to(duration(10ms));
    co_await runtime::sleep(pause);
    const milliseconds delay = longest_delay + milliseconds(++in.edits);
    auto editing = on.execute(reschedule{id, delay, seen.version});
    const change_answer got = co_await editing;
    if (got.what == change_answer::kind::done) ++in.done_edits[{id, seen.version}];
    if (got.what == change_answer::kind::other_version) ++in.refused_edits;
  } catch (const store_unavailable&) {
  }
}

task<> edit_jobs(world& in, broker& on) {
  for (std::uint64_t left = 3 + choose(5); left > 0; --left) {
    const duration pause = up_to(one_in(4) ? in.trouble_length / 4 : duration(20ms));
    co_await runtime::sleep(pause);
    if (!in.ids.empty()) co_await edit_job(in, on);
  }
}

task<> end_job(world& in, client& me, const claimed_job& job, request::kind how) {
  const job_id id = job.token.id;
  const milliseconds delay(how == request::kind::release ? choose(100) : 0);
  request& asked = add_request(in, how, job.job.body, job.token);
  asked.due += duration(delay);
  try {
    holder_answer got;
    if (how == request::kind::finish) {
      auto ending = me.finish(id);
      got = co_await ending;
    } else if (how == request::kind::release) {
      auto ending = me.release(id, std::nullopt, delay);
      got = co_await ending;
    } else {
      auto ending = me.bury(id);
      got = co_await ending;
    }
    asked.became = got.what == holder_answer::kind::done ? request::fate::done : request::fate::refused;
  } catch (const store_unavailable& why) {
    refuse(asked, why);
  }
}

/// The client replaces a job that it has, and may put others with that, as a schedule does in a turn: to the judge it
/// finishes the job, and puts others.
task<> replace_job(world& in, broker& on, const claimed_job& job) {
  put_all what;
  put& record = what.puts.emplace_back(new_put(in, job.job.tube));
  record.key = job.job.key;
  record.existing = on_existing::replace;
  record.holder = job.token;
  std::vector<request*> asked{&add_request(in, request::kind::finish, job.job.body, job.token), &add_put(in, record)};
  for (std::uint64_t left = choose(3); left > 0; --left) {
    put& other = what.puts.emplace_back(new_put(in, job.job.tube));
    other.key = "key of " + other.body;
    if (left == 1 && one_in(3)) {
      other.key = key_of_groups;
      other.existing = on_existing::refuse;
    }
    asked.push_back(&add_put(in, other));
  }
  const std::size_t group = ++in.groups;
  for (request* const each : asked) each->group = group;
  const bool is_alone = what.puts.size() == 1;
  try {
    put_all_answer got;
    if (is_alone) {
      auto putting = on.execute(std::move(what.puts.front()));
      got.why = co_await putting;
      if (is_refused(got.why)) got.what = put_all_answer::kind::refused;
    } else {
      auto putting = on.execute(std::move(what));
      got = co_await putting;
    }
    const bool is_done = got.what == put_all_answer::kind::done;
    for (request* const each : asked) each->became = is_done ? request::fate::done : request::fate::refused;
    if (is_done) {
      ++(is_alone ? in.replaced : in.replaced_together);
    } else {
      ++(got.place == 0 ? in.refused_holders : in.refused_behind_holders);
    }
  } catch (const store_unavailable& why) {
    for (request* const each : asked) refuse(*each, why);
  }
}

/// A client that holds jobs for some time, some for too long, and disappears with others.
task<> work(world& in, broker& on) {
  for (std::uint64_t lives = 1 + choose(3); lives > 0; --lives) {
    client me(on);
    holdings mine;
    for (const std::string& each : in.tubes) {
      if (me.watched().empty() || !one_in(3)) me.watch(each);
    }
    for (std::uint64_t left = 2 + choose(4); left > 0; --left) {
      std::optional<claimed_job> job;
      try {
        const duration patience = up_to(1s);
        auto waiting = me.reserve(patience);
        reserve_answer got = co_await std::move(waiting);
        job = std::move(got.job);
      } catch (const store_unavailable&) {
      }
      if (!job) continue;
      mine.add(in.receive(*job));
      if (one_in(5)) break;
      const duration hold = up_to(one_in(5) ? duration(job->job.ttr) * 2 : duration(30ms));
      co_await runtime::sleep(hold);
      if (!job->job.key.empty() && job->job.key != key_of_groups && one_in(3)) {
        co_await replace_job(in, on, *job);
        continue;
      }
      const auto how = one_in(2) ? request::kind::finish : static_cast<request::kind>(1 + choose(3));
      co_await end_job(in, me, *job, how);
    }
  }
}

/// Ends all jobs that are there. A job that does not come stays, and the judge finds it.
task<> drain(world& in, broker& on) {
  for (const std::string& tube : in.tubes) {
    try {
      auto kicking = on.execute(kick{tube, 1000, job_state::buried});
      static_cast<void>(co_await kicking);
    } catch (const store_unavailable& why) {
      in.breaches.emplace_back(std::string("left: no answer: ") + why.what());
    }
  }
  client me(on);
  holdings mine;
  for (const std::string& each : in.tubes) me.watch(each);
  for (int idle = 0; idle < 2;) {
    std::optional<claimed_job> job;
    try {
      auto waiting = me.reserve(duration(2s));
      reserve_answer got = co_await std::move(waiting);
      job = std::move(got.job);
    } catch (const store_unavailable& why) {
      in.breaches.emplace_back(std::string("left: no answer: ") + why.what());
    }
    if (job) {
      receipt& got = in.receive(*job);
      got.is_of_drain = true;
      mine.add(got);
      co_await end_job(in, me, *job, request::kind::finish);
    } else {
      ++idle;
    }
  }
}

/// A client that waits at one node gets the job of another one, also if nobody hears of it.
task<> wait_for_news(world& in, broker& on) {
  client me(on);
  holdings mine;
  me.watch(in.tubes.front());
  const instant begin = monotonic_clock::instance().now();
  std::optional<claimed_job> job;
  try {
    auto waiting = me.reserve(duration(10s));
    reserve_answer got = co_await std::move(waiting);
    job = std::move(got.job);
  } catch (const store_unavailable&) {
  }
  if (!job || monotonic_clock::instance().now() - begin > duration(scan_every) + 300ms) {
    in.breaches.emplace_back("late: a client waits for the job of another node");
  }
  if (!job) co_return;
  mine.add(in.receive(*job));
  co_await end_job(in, me, *job, request::kind::finish);
}

task<> send_news(world& in, broker& on) {
  put what;
  what.tube = in.tubes.front();
  what.body = "news";
  add_request(in, request::kind::put, what.body, {}).became = request::fate::done;
  auto putting = on.execute(std::move(what));
  static_cast<void>(co_await putting);
}

task<> look_at_news(world& in) {
  for (const auto& each : in.databases) each->drops_notifications = true;
  auto waiting = runtime::spawn(wait_for_news(in, in.nodes.back()->broker), "waits for news");
  co_await runtime::sleep(duration(50ms));
  co_await send_news(in, in.nodes.front()->broker);
  co_await waiting.join();
}

/// The main task of a world.
task<> live_in(world& in) {
  std::vector<runtime::join_handle<void>> running;
  std::vector<runtime::join_handle<void>> clients;
  for (const auto& each : in.nodes) {
    running.push_back(runtime::spawn(each->broker.run(), "a broker"));
    for (std::uint64_t i = 1 + choose(2); i > 0; --i)
      clients.push_back(runtime::spawn(put_jobs(in, each->broker), "puts"));
    for (std::uint64_t i = 1 + choose(2); i > 0; --i)
      clients.push_back(runtime::spawn(work(in, each->broker), "works"));
    for (std::uint64_t i = 1 + choose(2); i > 0; --i)
      clients.push_back(runtime::spawn(edit_jobs(in, each->broker), "edits"));
  }
  for (auto& each : clients) co_await each.join();
  while (in.threads > 0) co_await runtime::sleep(duration(50ms));
  co_await runtime::sleep(quiet_time);
  co_await drain(in, in.any_broker());
  if (in.nodes.size() > 1 && !in.nodes.back()->process->is_dead()) co_await look_at_news(in);
  for (const auto& each : in.nodes) each->broker.close();
  for (auto& each : running) co_await each.join();
}

/// Something happens to a database or to a node.
void make_trouble(world& in) {
  const std::uint64_t what = choose(8);
  if (what == 0) {
    in.nodes[choose(in.nodes.size())]->process->stop_for(up_to(duration(node_timeout) * 3));
  } else if (what > 1) {
    trouble_database(in.any_database(), in.loses_commits);
  } else if (in.nodes.size() > 1 && one_in(4)) {
    in.nodes.back()->process->die();
  }
}

void trouble(world& in) {
  const instant until = monotonic_clock::instance().now() + in.trouble_length;
  while (monotonic_clock::instance().now() < until) {
    simulation::pass_time(up_to(in.trouble_length / 6));
    make_trouble(in);
  }
  for (const auto& each : in.databases) {
    each->deliver_late();
    each->heal();
  }
  --in.threads;
}

/// Changes the content of a database, as a transaction of its own.
template <class Change>
void change(simulated_database& in, const Change& what) {
  for (;;) {
    try {
      simulated_server& server = in.primary();
      const auto by = server.connect();
      backend::transaction& open = server.acquire(*by, instant::never());
      if (&server != &in.primary()) {  // it was replaced while this waited: nobody would confirm the commit
        server.lose(*by, duration::zero());
        continue;
      }
      what(open.after);
      open.changes = true;
      server.commit(*by);
      server.lose(*by, duration::zero());
      return;
    } catch (const detail::database_failure&) {  // the server is down, or another one has the lock
      simulation::pass_time(5ms);
    }
  }
}

void set_place(world& in, const std::string& tube, detail::tube_place place) {
  change(*in.databases.front(), [&](content& stored) {
    detail::tube_map::place_list places = stored.map.places();
    places[tube] = place;
    stored.map = detail::tube_map(stored.map.databases(), std::move(places));
    ++stored.map_version;
  });
}

/// Moves a tube to another database, as database_map does it.
void move_tube(world& in) {
  simulation::pass_time(up_to(in.trouble_length));
  const std::string& tube = in.tubes.back();
  const detail::tube_place was = in.databases.front()->primary().stored().map.place_of(tube);
  const int to = (was.database + 1) % static_cast<int>(in.databases.size());
  simulated_database& older = *in.databases[static_cast<std::size_t>(was.database)];
  simulated_database& newer = *in.databases[static_cast<std::size_t>(to)];
  set_place(in, tube, {to, was.database});
  simulation::pass_time(up_to(100ms));
  change(older, [&](content& stored) {
    stored.away.insert(tube);
    ++stored.map_version;
  });
  for (bool is_left = true; is_left;) {
    std::vector<conformance::oracle::entry> piece;
    change(older, [&](content& stored) {
      piece = stored.jobs.take_out(tube);
      const auto is_of_tube = [&](const auto& each) { return each.job.tube == tube; };
      is_left = std::ranges::any_of(stored.jobs.entries(), is_of_tube);
    });
    simulation::pass_time(up_to(20ms));
    change(newer, [&](content& stored) { stored.jobs.bring_in(piece); });
    newer.interrupt_listeners();
    simulation::pass_time(up_to(100ms));
  }
  // Until the map says that the move is over, nodes ask the older database first.
  std::vector<conformance::oracle::memory> memories;
  change(older, [&](content& stored) { memories = stored.jobs.memories_of(tube); });
  if (newer.wrong == flaw::leaves_once_behind) memories.clear();
  change(newer, [&](content& stored) { stored.jobs.bring_in(memories); });
  set_place(in, tube, {to, std::nullopt});
  --in.threads;
}

}  // namespace

world::world(flaw wrong)
    : loses_commits(one_in(4)),
      has_clocks_apart(one_in(3)),
      has_moves(!loses_commits && one_in(2)),
      trouble_length(500ms + up_to(5s)) {
  const std::size_t count = one_in(2) ? 1 : 2 + choose(2);
  has_moves = has_moves && count > 1;
  detail::tube_map::database_list others;
  detail::tube_map::place_list places;
  for (std::size_t i = 0; i < count; ++i) {
    databases.push_back(std::make_unique<simulated_database>(i, wrong));
    if (i > 0) others[static_cast<int>(i)] = databases.back()->connection_string();
    tubes.push_back("tube " + std::to_string(i));
    if (i > 0) places[tubes.back()].database = static_cast<int>(i);
    if (has_clocks_apart) {
      for (const char which : {'a', 'b'}) {
        databases.back()->find("db" + std::to_string(i) + which)->clock_ahead = up_to(4s) - duration(2s);
      }
    }
  }
  databases.front()->primary().stored().map = detail::tube_map(std::move(others), std::move(places));
  for (std::size_t i = 0, some = 1 + choose(3); i < some; ++i) {
    nodes.push_back(std::make_unique<node_life>("node " + std::to_string(i), databases));
  }
  for (const auto& each : databases) each->is_troubled = true;
}

broker& world::any_broker() {
  const std::size_t living = nodes.size() - (nodes.back()->process->is_dead() ? 1 : 0);
  return nodes[choose(living)]->broker;
}

receipt& world::receive(const claimed_job& job) {
  const instant now = monotonic_clock::instance().now();
  receipts.push_back({job.job.body, job.token, next_moment(), now, instant::never(), false});
  return receipts.back();
}

outcome live(flaw wrong) {
  world in(wrong);
  in.threads = in.has_moves ? 2 : 1;
  seam::thread troubles("troubles", [&] { trouble(in); });
  seam::thread moves("moves", [&] {
    if (in.has_moves) move_tube(in);
  });
  runtime::run_options options;
  options.processors = 1 + choose(2);
  options.seed = choose(1'000'000);
  options.blocking_threads = in.nodes.size() + 1;
  runtime::run(live_in(in), options);
  troubles.join();
  moves.join();
  for (const auto& each : in.nodes) {
    try {
      each->store->close();
    } catch (const store_failure& why) {
      if (!each->process->is_dead()) in.breaches.emplace_back(std::string("left: ") + why.what());
    }
  }
  judge(in);
  outcome left{.requests = std::move(in.requests),
               .receipts = std::move(in.receipts),
               .refused_edits = in.refused_edits,
               .replayed = in.replayed,
               .replaced = in.replaced,
               .replaced_together = in.replaced_together,
               .refused_holders = in.refused_holders,
               .refused_behind_holders = in.refused_behind_holders,
               .refused_groups = in.refused_groups,
               .breaches = std::move(in.breaches)};
  for (const auto& [version, times] : in.done_edits) left.done_edits += times;
  for (const auto& each : in.databases) {
    left.lost_effects += each->lost.size();
    left.confirmed_by_old += each->confirmed_by_old;
  }
  return left;
}

}  // namespace foliot::jobs::nodes
