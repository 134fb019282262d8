#include "requests.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/duration.hpp>
#include <foliot/core/seam/random.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/time_histogram.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "inputs.hpp"
#include "job_policy.hpp"
#include "job_requests.hpp"
#include "job_search.hpp"
#include "problem.hpp"
#include "server/access/authorized_client.hpp"
#include "server/access/rights.hpp"
#include "server/core/opened_stores.hpp"
#include "server/core/session_name.hpp"
#include "server/policies/policies_in_force.hpp"
#include "text/timestamp.hpp"
#include "times.hpp"

namespace foliot::program::http {

namespace {

// The pages of lists: how many entries a request wants, and behind which place. A place is a rank in the order of the
// list, such as a due time, and the id of the last job that was read there. Any place will do, whether or not a job has
// it, so that a page goes on where the jobs of the one before have gone.

constexpr std::uint32_t usual_page = 100;
static_assert(jobs::most_listed == 1000 && jobs::most_listed_due == jobs::most_listed);

/// The `count` of a page: 100 unless the request says so, and at most 1000.
std::uint32_t page_size(inputs& in) {
  return static_cast<std::uint32_t>(in.number("count", 1, jobs::most_listed).value_or(usual_page));
}

/// Throws the wrong_input of a cursor that is none.
[[noreturn]] void refuse_cursor(const inputs& in) {
  in.refuse("cursor", "`cursor` must be the `next` of an earlier page");
}

/// The place that the `cursor` of a request names; the begin of the list if there is none. Throws wrong_input.
jobs::job_place place_of(inputs& in) {
  jobs::job_place place;
  const std::optional<std::string> cursor = in.text("cursor");
  if (!cursor) return place;
  const char* const begin = cursor->data();
  const char* const end = begin + cursor->size();
  const char* const dash = std::find(begin, end, '-');
  const auto rank = std::from_chars(begin, dash, place.rank);
  const auto id = std::from_chars(std::min(dash + 1, end), end, place.id);
  const bool is_right = rank.ec == std::errc() && rank.ptr == dash && id.ec == std::errc() && id.ptr == end &&
                        place.rank <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!is_right) refuse_cursor(in);
  return place;
}

/// The cursor of the page behind this place.
std::string cursor_of(const jobs::job_place& place) { return fmt::format("{}-{}", place.rank, place.id); }

/// What an entry of a page takes, at the most: a name with six bytes for each of its bytes, and numbers.
constexpr std::size_t memory_of_entry = 2048;

/// When a moment of the monotonic clock will be. Rounded up.
std::string time_text_of(instant when) {
  const duration left = when - runtime::now();
  const auto now = std::chrono::floor<jobs::milliseconds>(runtime::wall_now());
  return time_text(now + std::chrono::ceil<jobs::milliseconds>(left.to_chrono()));
}

void add_counts(ordered_json& to, const jobs::count_answer& counted) {
  to["ready"] = counted.counts.ready;
  to["urgent"] = counted.counts.urgent;
  to["reserved"] = counted.counts.reserved;
  to["delayed"] = counted.counts.delayed;
  to["buried"] = counted.counts.buried;
  if (counted.what == jobs::count_answer::kind::cut_short) to["at_least"] = true;
  if (counted.paused_until != instant::never()) to["paused_until"] = time_text_of(counted.paused_until);
}

/// Says of a tube that the server delivers its jobs to a target, so that nobody reserves them.
void add_target_word(ordered_json& to, const call& by, std::string_view tube) {
  if (by.client.is_delivered(tube)) to["has_target"] = true;
}

/// Adds why a job that is ready is still there.
void explain_ready(ordered_json& to, const jobs::job& what, const jobs::count_answer& of_tube, const call& by) {
  // No job that is not urgent comes before one that is.
  const std::uint64_t counted = what.priority < jobs::urgent_below ? of_tube.counts.urgent : of_tube.counts.ready;
  if (of_tube.paused_until != instant::never()) {
    to["waits"] = "paused";
    to["until"] = time_text_of(of_tube.paused_until);
  } else if (by.client.is_delivered(what.tube)) {
    to["waits"] = "has_target";
  } else if (by.state.clients_of(what.tube).watchers == 0) {
    to["waits"] = "nobody_watches";
  } else if (counted > 1) {
    to["waits"] = "others_first";
  } else {
    to["waits"] = "next";
  }
  if (of_tube.what == jobs::count_answer::kind::done && counted > 0) to["ahead_at_most"] = counted - 1;
}

/// The name of the node that has reserved the job; empty if the job has just left its worker, or if nodes have no
/// names. A list of reserved jobs has it: the page that begins with the job.
task<std::string> node_of(call& by, const jobs::job& reserved) {
  if (!by.state.has_other_nodes()) co_return "";
  auto listing = by.client.execute(jobs::list_jobs{
      .tube = reserved.tube, .which = jobs::job_state::reserved, .after = {0, reserved.id - 1}, .count = 1});
  const jobs::jobs_answer listed = co_await listing;
  co_return !listed.jobs.empty() && listed.jobs.front().job.id == reserved.id ? listed.jobs.front().node : "";
}

/// Adds why no worker has the job, or until when one has it.
void explain(ordered_json& to, const jobs::peek_answer& seen, const jobs::count_answer& of_tube, const call& by) {
  const jobs::job& what = *seen.job;
  switch (what.state) {
    case jobs::job_state::delayed:
      to["waits"] = "due_later";
      to["until"] = time_text(what.due);
      break;
    case jobs::job_state::ready: explain_ready(to, what, of_tube, by); break;
    case jobs::job_state::reserved:
      to["waits"] = "reserved";
      if (what.expires != instant::never()) to["until"] = time_text_of(what.expires);
      break;
    case jobs::job_state::buried: to["waits"] = "buried"; break;
  }
}

jobs::list_due page_behind(inputs& in) {
  const jobs::job_place place = place_of(in);  // its rank is in milliseconds since 1970
  jobs::list_due page;
  page.from = jobs::utc_time(jobs::milliseconds(static_cast<std::int64_t>(place.rank)));
  page.after = place.id;
  if (page.from > jobs::latest_due()) refuse_cursor(in);
  return page;
}

/// The jobs that count_due() reads, at the most, and those that it reads unless the request says otherwise.
constexpr std::uint64_t most_counted_due = 10'000;
constexpr std::uint64_t usually_counted_due = 1'000;

/// Counts the jobs that are due in the pieces of the next minute, hour and day. A job whose time has come counts for
/// the first piece.
class due_counts {
 public:
  explicit due_counts(jobs::utc_time now) : now_(now) {}

  /// Counts these, which come in the order of their times. False: neither they nor those behind them count.
  bool add(const std::vector<jobs::due_job>& those) {
    for (const jobs::due_job& each : those) {
      const jobs::milliseconds left = std::max(each.due - now_, jobs::milliseconds(0));
      bool counts = false;
      for (scale& one : scales_) {
        const auto piece = static_cast<std::size_t>(left / one.step);
        if (piece < one.counts.size()) {
          ++one.counts[piece];
          counts = true;
        }
      }
      if (!counts) return false;
    }
    return true;
  }
  /// No job behind this time was counted, and others may be due then as well.
  void end_at(jobs::utc_time last) { end_ = last; }

  [[nodiscard]] ordered_json shown() const {
    ordered_json all = ordered_json::object();
    all["from"] = time_text(now_);
    if (end_) all["counted_until"] = time_text(*end_);
    for (const scale& each : scales_) {
      ordered_json& one = all[std::string(each.name)] = ordered_json::object();
      one["step"] = each.step_text;
      ordered_json& counts = one["counts"] = ordered_json::array();
      for (std::size_t piece = 0; piece < pieces_of(each); ++piece) counts.push_back(each.counts[piece]);
      one["at_least"] = end_ && *end_ - now_ < each.step * each.counts.size();
    }
    return all;
  }

 private:
  struct scale {
    std::string_view name;
    std::string_view step_text;
    jobs::milliseconds step;
    std::vector<std::uint64_t> counts;
  };

  /// Up to that in which the counting has ended.
  [[nodiscard]] std::size_t pieces_of(const scale& in) const {
    if (!end_) return in.counts.size();
    const auto whole = static_cast<std::size_t>(std::max(*end_ - now_, jobs::milliseconds(0)) / in.step);
    return std::min(whole + 1, in.counts.size());
  }

  const jobs::utc_time now_;
  std::optional<jobs::utc_time> end_;
  std::vector<scale> scales_{{"minute", "5s", std::chrono::seconds(5), std::vector<std::uint64_t>(12)},
                             {"hour", "5m", std::chrono::minutes(5), std::vector<std::uint64_t>(12)},
                             {"day", "1h", std::chrono::hours(1), std::vector<std::uint64_t>(24)}};
};

/// What became of jobs at this server since its start.
void add_flow(ordered_json& all, const jobs::job_flow& flow) {
  ordered_json& shown = all["flow"] = ordered_json::object();
  shown["put"] = flow.put;
  shown["reserved"] = flow.reserved;
  shown["finished"] = flow.finished;
  shown["released"] = flow.released;
  shown["buried"] = flow.buried;
  shown["timed_out"] = flow.expired;
}

/// The greatest length of a bucket; of the last one, which has none, null.
ordered_json bound_of(std::size_t bucket) {
  const auto& bounds = jobs::time_histogram::bounds_us;
  return bucket < bounds.size() ? ordered_json(to_string(duration(std::chrono::microseconds(bounds[bucket]))))
                                : ordered_json(nullptr);
}

void add_distribution(ordered_json& to, std::string_view name, const jobs::time_histogram::counts& values) {
  ordered_json& shown = to[std::string(name)] = ordered_json::object();
  shown["count"] = values.all();
  constexpr std::pair<std::string_view, std::uint32_t> told[]{
      {"p50", 500}, {"p90", 900}, {"p99", 990}, {"greatest", 1000}};
  for (const auto& [title, thousandths] : told) {
    if (const auto bucket = values.bucket_of(thousandths)) shown[std::string(title)] = bound_of(*bucket);
  }
  ordered_json& counts = shown["counts"] = ordered_json::array();
  for (const std::uint64_t each : values.in) counts.push_back(each);
}

/// What policies of tubes did to jobs at this server since its start.
void add_policies(ordered_json& all, const api_state& state) {
  if (state.policies == nullptr || state.sources.stores == nullptr) return;
  const jobs::policy_counters counted = state.sources.stores->policies();
  ordered_json& shown = all["policies"] = ordered_json::object();
  shown["tubes"] = state.policies->count();
  shown["retried"] = counted.retried;
  shown["buried"] = counted.buried;
  shown["dead_letters"] = counted.dead_letters;
  shown["expired"] = counted.expired;
  shown["parked"] = counted.parked;
}

/// The targets of tubes, and what became of the deliveries by this server since its start.
void add_webhooks(ordered_json& all, const api_state& state) {
  if (state.deliveries == nullptr) return;
  const delivery_figures counted = state.deliveries->figures();
  ordered_json& shown = all["webhooks"] = ordered_json::object();
  shown["targets"] = counted.targets;
  shown["disabled"] = counted.disabled;
  shown["hindered"] = counted.hindered;
  shown["open_circuits"] = counted.open_circuits;
  shown["under_way"] = counted.under_way;
  shown["delivered"] = counted.delivered;
  shown["rejected"] = counted.rejected;
  shown["gone"] = counted.gone;
  shown["not_sent"] = counted.not_sent;
  shown["unknown"] = counted.unknown;
  shown["forbidden"] = counted.forbidden;
}

/// How long jobs took at this server since its start.
void add_times(ordered_json& all, const jobs::job_flow& flow) {
  ordered_json& shown = all["times"] = ordered_json::object();
  ordered_json& bounds = shown["bounds"] = ordered_json::array();
  for (std::size_t i = 0; i < jobs::time_histogram::bounds_us.size(); ++i) bounds.push_back(bound_of(i));
  add_distribution(shown, "lateness", flow.lateness);
  add_distribution(shown, "work", flow.work);
}

/// The nodes of a shared store. Of several sessions of a node, those that the database hears least of have its times.
void add_nodes(ordered_json& all, const jobs::nodes_answer& seen) {
  struct node {
    std::uint64_t sessions = 0;
    jobs::utc_time since;
    jobs::utc_time heard;
  };
  std::map<std::string, node, std::less<>> nodes;
  for (const jobs::listed_node& each : seen.nodes) {
    const auto [place, is_new] = nodes.try_emplace(std::string(node_of_session(each.name)), 0, each.since, each.heard);
    node& its = place->second;
    ++its.sessions;
    its.since = std::max(its.since, each.since);
    its.heard = std::min(its.heard, each.heard);
  }
  ordered_json& shown = all["database"] = ordered_json::object();
  shown["time"] = time_text(seen.now);
  ordered_json& list = shown["nodes"] = ordered_json::array();
  for (const auto& [name, its] : nodes) {
    ordered_json one = ordered_json::object();
    one["name"] = name;
    one["sessions"] = its.sessions;
    one["since"] = time_text(its.since);
    one["heard"] = time_text(its.heard);
    list.push_back(std::move(one));
  }
  if (seen.nodes.size() >= jobs::most_listed_nodes) shown["at_least"] = true;
}

/// What the store says for statistics.
struct seen_store {
  jobs::count_answer counted;
  std::optional<jobs::nodes_answer> nodes;  ///< where it is shared
};

/// In one batch.
task<seen_store> look_at_store(call& by) {
  seen_store seen;
  if (!by.state.has_other_nodes()) {
    auto counting = by.client.execute(jobs::count_all{});
    seen.counted = co_await counting;
    co_return seen;
  }
  auto listing = by.client.execute(jobs::list_nodes{});
  auto counting = by.client.execute(jobs::count_all{});
  seen.counted = co_await counting;
  seen.nodes = co_await listing;
  co_return seen;
}

/// What the door has let in and refused, and the limits have held back.
void add_connections(ordered_json& all, const api_state& state) {
  const access* const door = state.limits.door();
  const request_rates* const rates = state.limits.rates();
  if (door == nullptr || rates == nullptr) return;
  const access_refusals refused = door->refusals();
  ordered_json& shown = all["connections"] = ordered_json::object();
  shown["open"] = door->count();
  shown["total"] = door->come();
  shown["refused"] = refused.by_all;
  shown["refused_of_address"] = refused.by_address;
  shown["refused_of_token"] = refused.by_token;
  shown["requests_held_back_of_address"] = rates->of_address.held_back();
  shown["requests_held_back_of_token"] = rates->of_token.held_back();
}

}  // namespace

void add_process(ordered_json& to, const api_state& state) {
  static const std::uint64_t process = random_stream::entropy();
  to["process"] = fmt::format("{:016x}", process);
  if (state.has_other_nodes()) to["node"] = state.node;
}

task<response> show_tubes(call& by) {
  const std::string after = by.in.part_of_name("cursor", jobs::longest_tube_name).value_or("");
  const std::string prefix = by.in.part_of_name("prefix", jobs::longest_tube_name).value_or("");
  const std::uint32_t count = page_size(by.in);
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(count * memory_of_entry);
  if (!has_room) co_return respond_without_memory();
  auto listing =
      by.client.execute(jobs::list_tubes{.prefix = prefix, .after = after, .count = count, .with_counts = true});
  const jobs::tubes_answer listed = co_await listing;
  ordered_json all = ordered_json::object();
  all["tubes"] = ordered_json::array();
  for (std::size_t i = 0; i < listed.tubes.size(); ++i) {
    ordered_json shown = ordered_json::object();
    shown["tube"] = listed.tubes[i];
    add_counts(shown, listed.counts[i]);
    add_target_word(shown, by, listed.tubes[i]);
    all["tubes"].push_back(std::move(shown));
  }
  if (!listed.next.empty()) all["next"] = listed.next;
  co_return respond_json(200, all);
}

task<response> show_tube(call& by) {
  const std::string tube = by.in.part_of_name("tube", jobs::longest_tube_name).value_or("");
  if (tube.empty()) by.in.refuse("tube", "`tube` is missing: send it in the query or in the body");
  by.in.expect_no_others();
  auto counting = by.client.execute(jobs::count_tube{tube});
  const jobs::count_answer counted = co_await counting;
  ordered_json all = ordered_json::object();
  all["tube"] = tube;
  add_counts(all, counted);
  add_target_word(all, by, tube);
  const jobs::tube_clients clients = by.state.clients_of(tube);
  all["watching"] = clients.watchers;
  all["waiting"] = clients.waiting;
  co_return respond_json(200, all);
}

task<response> explain_job(call& by) {
  jobs::job_name name = job_name_of(by.in);
  by.in.expect_no_others();
  auto looking = by.client.execute(jobs::peek{std::move(name), false});
  const jobs::peek_answer seen = co_await looking;
  if (!seen.job) co_return respond_to_missing();
  auto counting = by.client.execute(jobs::count_tube{seen.job->tube});
  const jobs::count_answer counted = co_await counting;
  ordered_json all = ordered_json::object();
  all["id"] = std::to_string(seen.job->id);
  all["tube"] = seen.job->tube;
  all["state"] = text_of(seen.job->state);
  if (seen.job->state == jobs::job_state::reserved) {
    auto finding = node_of(by, *seen.job);
    const std::string node = co_await finding;
    if (!node.empty()) all["node"] = node;
    show_holder(all, by, *seen.job);
  }
  explain(all, seen, counted, by);
  co_return respond_json(200, all);
}

task<response> show_due(call& by) {
  jobs::list_due page = page_behind(by.in);
  page.prefix = by.in.part_of_name("prefix", jobs::longest_tube_name).value_or("");
  page.count = page_size(by.in);
  by.in.expect_no_others();
  const std::uint32_t count = page.count;
  const bool has_room = co_await by.side.take_room(count * memory_of_entry);
  if (!has_room) co_return respond_without_memory();
  auto listing = by.client.execute(std::move(page));
  const jobs::due_answer due = co_await listing;
  ordered_json all = ordered_json::object();
  all["jobs"] = ordered_json::array();
  for (const jobs::due_job& each : due.jobs) {
    ordered_json shown = ordered_json::object();
    shown["id"] = std::to_string(each.id);
    shown["tube"] = each.tube;
    shown["due"] = time_text(each.due);
    all["jobs"].push_back(std::move(shown));
  }
  if (due.jobs.size() == count) {
    const jobs::due_job& last = due.jobs.back();
    all["next"] = cursor_of({static_cast<std::uint64_t>(last.due.time_since_epoch().count()), last.id});
  }
  co_return respond_json(200, all);
}

task<response> count_due(call& by) {
  const std::string prefix = by.in.part_of_name("prefix", jobs::longest_tube_name).value_or("");
  const std::uint64_t most = by.in.number("at_most", 1, most_counted_due).value_or(usually_counted_due);
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(jobs::most_listed_due * memory_of_entry);
  if (!has_room) co_return respond_without_memory();
  due_counts counted(std::chrono::floor<jobs::milliseconds>(runtime::wall_now()));
  jobs::list_due page;
  page.prefix = prefix;
  std::uint64_t left = most;
  bool goes_on = true;
  while (goes_on && left > 0) {
    page.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, jobs::most_listed_due));
    auto listing = by.client.execute(page);
    const jobs::due_answer due = co_await listing;
    const bool all_count = counted.add(due.jobs);
    goes_on = all_count && due.jobs.size() == page.count;
    left -= due.jobs.size();
    if (goes_on) page.from = due.jobs.back().due;
    if (goes_on) page.after = due.jobs.back().id;
  }
  if (goes_on) counted.end_at(page.from);
  co_return respond_json(200, counted.shown());
}

task<response> show_access(call& by) {
  by.in.expect_no_others();
  const rights& held = by.client.allowed();
  ordered_json all = ordered_json::object();
  all["tokens"] = by.state.access.has_tokens();
  if (!held.id().empty()) {
    all["id"] = held.id();
    all["name"] = held.name();
  }
  ordered_json& scopes = all["scopes"] = ordered_json::array();
  for (const named_scope& each : all_scopes) {
    if (held.may(each.what)) scopes.push_back(each.name);
  }
  ordered_json& tubes = all["tubes"] = ordered_json::array();
  for (const std::string& each : held.prefixes()) tubes.push_back(each.empty() ? "*" : each);
  if (!held.ends().is_never()) {
    std::string ends;
    append_iso_time(ends, held.ends());
    all["ends"] = std::move(ends);
  }
  co_return respond_json(200, all);
}

task<response> show_statistics(call& by) {
  by.in.expect_no_others();
  if (by.state.has_other_nodes()) {
    const bool has_room = co_await by.side.take_room(jobs::most_listed_nodes * memory_of_entry);
    if (!has_room) co_return respond_without_memory();
  }
  auto looking = look_at_store(by);
  const seen_store seen = co_await looking;
  const jobs::broker_counters counters = by.state.counters();
  const jobs::job_flow flow = by.state.flow();
  ordered_json all = ordered_json::object();
  add_counts(all["jobs"], seen.counted);
  ordered_json& server = all["server"] = ordered_json::object();
  add_process(server, by.state);
  server["batches"] = counters.batches;
  server["operations"] = counters.operations;
  server["timeouts"] = counters.expired;
  server["refused_operations"] = counters.refused;
  server["clients"] = counters.clients;
  server["waiting"] = counters.waiting;
  server["queued"] = counters.queued;
  server["tubes_in_use"] = counters.tubes;
  server["no_space"] = counters.no_space;
  server["has_room"] = !counters.lacks_room;
  server["store_available"] = !counters.is_unavailable;
  server["draining"] = by.state.draining.load(seam::relaxed);
  add_flow(all, flow);
  add_times(all, flow);
  add_policies(all, by.state);
  add_webhooks(all, by.state);
  if (seen.nodes) add_nodes(all, *seen.nodes);
  add_connections(all, by.state);
  if (by.state.certificates != nullptr) {
    const tls_figures its = by.state.certificates->figures();
    ordered_json& tls = all["tls"] = ordered_json::object();
    tls["ends"] = time_text(jobs::utc_time(its.ends));
    tls["taken"] = its.taken;
    tls["files_are_good"] = !its.is_refused;
    tls["failed_handshakes"] = its.failed;
  }
  if (by.state.access.has_tokens()) all["tokens"] = {{"file_is_good", by.state.access.is_good()}};
  co_return respond_json(200, all);
}

namespace {

jobs::list_jobs page_of(inputs& in) {
  jobs::list_jobs page;
  std::optional<std::string> tube = in.part_of_name("tube", jobs::longest_tube_name);
  std::optional<std::string> prefix = in.part_of_name("prefix", jobs::longest_tube_name);
  if (tube && prefix) in.refuse("prefix", "`tube` and `prefix` exclude each other");
  if (tube && tube->empty()) in.refuse("tube", "`tube` must not be empty: leave it out for all tubes");
  if (tube) page.tube = std::move(*tube);
  if (prefix) page.prefixes = {std::move(*prefix)};
  page.after = place_of(in);
  page.count = page_size(in);
  return page;
}

/// The jobs of a page, of which some may be sought.
task<jobs::jobs_answer> read_page(call& by, jobs::list_jobs page, const job_filter& sought) {
  if (seeks(sought)) return search_jobs(by.client, std::move(page), sought, by.state.max_job_size);
  return by.client.execute(std::move(page));
}

/// The most jobs on a page with their tries: each of them is looked at besides.
constexpr std::uint32_t most_with_tries = 100;
/// What the fields and the history of a job take, at the most.
constexpr std::size_t memory_of_look = 2 * jobs::most_field_bytes;

/// Looks at each job of a page, which the rights of the client have listed, without its body.
task<std::vector<jobs::peek_answer>> look_at_each(call& by, const std::vector<jobs::listed_job>& those) {
  std::deque<jobs::in_flight<jobs::peek>> looks;
  for (const jobs::listed_job& each : those)
    looks.emplace_back(by.client.connection_for_server(), jobs::peek{each.job.id, false});
  std::vector<jobs::peek_answer> seen;
  for (jobs::in_flight<jobs::peek>& each : looks) {
    jobs::peek_answer one = co_await each;
    seen.push_back(std::move(one));
  }
  co_return seen;
}

/// What the notes of these jobs take as JSON, at the most: an escape has up to six bytes.
std::size_t memory_of_notes(const std::vector<jobs::peek_answer>& of) noexcept {
  std::size_t bytes = 0;
  for (const jobs::peek_answer& each : of) {
    if (each.job) bytes += 6 * (each.job->history.bytes().size() + each.job->fields.bytes().size());
  }
  return bytes;
}

task<response> list_page(call& by, jobs::list_jobs page) {
  const bool with_tries = by.in.flag("with_tries").value_or(false);
  if (with_tries && page.count > most_with_tries)
    by.in.refuse("count", fmt::format("`count` must be at most {} with `with_tries`", most_with_tries));
  const job_filter sought = read_sought(by.in);
  by.in.expect_no_others();
  const std::size_t memory_of_one = memory_of_shown(0) + (with_tries ? memory_of_look : 0);
  const std::size_t memory = page.count * memory_of_one + memory_of_search(sought, by.state.max_job_size);
  const bool has_room = co_await by.side.take_room(memory);
  if (!has_room) co_return respond_without_memory();
  auto listing = read_page(by, std::move(page), sought);
  const jobs::jobs_answer listed = co_await listing;
  std::vector<jobs::peek_answer> seen;
  if (with_tries) {
    auto looking = look_at_each(by, listed.jobs);
    seen = co_await looking;
    const bool has_room_for_notes = co_await by.side.take_room(memory_of_notes(seen));
    if (!has_room_for_notes) co_return respond_without_memory();
  }
  ordered_json all = ordered_json::object();
  all["jobs"] = ordered_json::array();
  for (std::size_t i = 0; i < listed.jobs.size(); ++i) {
    const jobs::listed_job& each = listed.jobs[i];
    ordered_json one = shown(each.job, listed.now, false, each.version);
    if (!each.node.empty()) one["node"] = each.node;
    show_holder(one, by, each.job);
    if (with_tries && seen[i].job) show_notes(one, *seen[i].job);  // without one it has ended meanwhile
    hide_what_is_others(one, by);
    all["jobs"].push_back(std::move(one));
  }
  if (listed.next) all["next"] = cursor_of(*listed.next);
  co_return respond_json(200, all);
}

}  // namespace

task<response> list_jobs(call& by) {
  using enum jobs::job_state;
  jobs::list_jobs page = page_of(by.in);
  constexpr std::array states{delayed, ready, reserved, buried};
  if (const auto asked = by.in.choice("state", {"delayed", "ready", "reserved", "buried"})) page.which = states[*asked];
  const bool needs_tube = page.which && *page.which != reserved;
  if (needs_tube && page.tube.empty()) {
    by.in.refuse("state",
                 "jobs of this state are listed for one `tube`, which is missing; /v1/due has what is due next");
  }
  return list_page(by, std::move(page));
}

task<response> list_reservations(call& by) {
  jobs::list_jobs page = page_of(by.in);
  page.which = jobs::job_state::reserved;
  return list_page(by, std::move(page));
}

}  // namespace foliot::program::http
