// A change by filter while nodes die: each job that fits is changed once, and nothing else.
//
// Most troubles (step_troubles.hpp) come in the middle of a piece, where a node stores what it will do, changes jobs,
// and stores what has become of them. And another client changes one of the jobs between the look at it and its change.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <foliot/runtime/sleep.hpp>

#include "foliot_simulation/world.hpp"
#include "node_world.hpp"
#include "step_troubles.hpp"

namespace foliot::program::worlds {

namespace {

using namespace std::chrono_literals;
using jobs::nodes::flaw;
using jobs::nodes::simulated_database;
using json = nlohmann::ordered_json;

/// After so many looks at an action that goes on, it will never end.
constexpr int most_looks = 3000;

struct problem_answer {
  int status = 0;  ///< 0: none has come
  json value = json::object();
};

/// The job of a change that expects a version, as those of an action do.
std::optional<jobs::job_id> changed_by(const jobs::operation& what) {
  const auto id_in = [](const jobs::job_name& name) { return std::get<jobs::job_id>(name); };
  if (const auto* const one = std::get_if<jobs::cancel>(&what); one != nullptr && one->expected != 0) {
    return id_in(one->name);
  }
  if (const auto* const one = std::get_if<jobs::reschedule>(&what); one != nullptr && one->expected != 0) {
    return id_in(one->name);
  }
  if (const auto* const one = std::get_if<jobs::fire_now>(&what); one != nullptr && one->expected != 0) {
    return id_in(one->name);
  }
  return std::nullopt;
}

/// What a node does with the record of an action: it stores how far that has come, takes it again, or holds it.
bool is_of_record(const jobs::operation& what) {
  const auto* const released = std::get_if<jobs::release>(&what);
  return (released != nullptr && released->history) || std::holds_alternative<jobs::claim_job>(what) ||
         std::holds_alternative<jobs::touch>(what);
}

/// What happens in the middle of pieces.
class piece_troubles final : public step_troubles {
 public:
  explicit piece_troubles(node_world& in) : step_troubles(in, in.below(5)) {}

  /// The jobs that another client has changed.
  [[nodiscard]] const std::set<jobs::job_id>& changed_by_others() const { return changed_by_others_; }

 private:
  commit_fate meet(simulated_database& at, std::span<const jobs::operation> batch, http_node& by) override {
    const bool changes =
        std::ranges::any_of(batch, [](const jobs::operation& each) { return changed_by(each).has_value(); });
    const bool is_record = std::ranges::any_of(batch, is_of_record);
    if (!(changes || is_record) || !in().one_in(changes ? 2 : 6)) return commit_fate::arrives;
    if (!changes || !in().one_in(4)) return strike(by);
    count_one();
    change_one(at, batch);
    return commit_fate::arrives;
  }
  void change_one(simulated_database& at, std::span<const jobs::operation> batch) {
    std::vector<jobs::job_id> ids;
    for (const jobs::operation& each : batch) {
      if (const auto id = changed_by(each)) ids.push_back(*id);
    }
    const jobs::job_id chosen = ids[in().below(ids.size())];
    const std::array<jobs::operation, 1> change{jobs::reschedule{chosen, jobs::milliseconds(3h)}};
    if (at.primary().change_by_other_hand(change)) changed_by_others_.insert(chosen);
  }

  std::set<jobs::job_id> changed_by_others_;
};

/// Sends one request to a node, and reads the answer.
task<problem_answer> ask_one(http_node& to, std::string request) {
  problem_answer got;
  const std::unique_ptr<byte_stream> peer = to.connect();
  const bool is_sent = co_await write_all(*peer, request);
  std::string text;
  std::size_t whole = std::string::npos;
  while (is_sent && text.size() < whole) {
    std::array<char, 2048> piece{};
    peer->set_read_deadline(30s);
    const auto count = co_await peer->read_some(piece);
    if (!count || *count == 0) break;
    text.append(piece.data(), *count);
    const std::size_t end = text.find("\r\n\r\n");
    const std::size_t length = text.find("Content-Length: ");
    if (end == std::string::npos || length > end) continue;
    whole = end + 4 + static_cast<std::size_t>(std::atoll(text.c_str() + length + 16));
    if (text.size() < whole) continue;
    got.status = std::atoi(text.c_str() + 9);
    got.value = json::parse(text.substr(end + 4), nullptr, false);
  }
  peer->close();
  co_return got;
}

class acting_client {
 public:
  acting_client(node_world& in, std::string_view kind) : in_(in), kind_(kind) {}

  task<> act() {
    auto putting = put_jobs("a-", 5 + in_.below(120), fits_);
    co_await putting;
    auto putting_others = put_jobs("b-", 1 + in_.below(5), others_);
    co_await putting_others;
    json wanted = json::object();
    wanted["do"] = kind_;
    wanted["tube"] = "mail";
    wanted["key_prefix"] = "a-";
    if (kind_ == "reschedule") wanted["delay"] = "2h";
    auto making = ask("POST", "/v1/actions", wanted.dump());
    const problem_answer made = co_await making;
    id_ = made.value.value("id", "");
    auto counting = look_while("counting");
    const json counted = co_await counting;
    if (counted.value("counted", std::size_t{0}) != fits_.size()) breach("counted", counted);
    std::vector<jobs::job_id> late;
    auto putting_late = put_jobs("a-late-", 1 + in_.below(5), late);
    co_await putting_late;
    others_.insert(others_.end(), late.begin(), late.end());
    const std::size_t deaths = in_.deaths;
    troubles_.emplace(in_);
    json number = json::object();
    number["counted"] = fits_.size();
    auto starting = ask("POST", fmt::format("/v1/actions/{}/run", id_), number.dump());
    const problem_answer started = co_await starting;
    // It has been started already where the first answer was lost.
    if (started.status != 200 && started.value.value("outcome", "") != "wrong_state") breach("start", started.value);
    auto running = look_while("running");
    const json done = co_await running;
    died_meanwhile_ = in_.deaths != deaths;
    judge_outcomes(done);
  }

  /// Against what the databases have done.
  void judge_changes() {
    std::map<jobs::job_id, std::size_t> changes;
    std::set<jobs::job_id> left;
    for (const auto& each : in_.databases) {
      const jobs::nodes::content& stored = each->primary().stored();
      for (const auto& [id, times] : stored.changes) changes[id] += times;
      for (const auto& one : stored.jobs.entries()) left.insert(one.job.id);
    }
    std::size_t unchanged = 0;
    for (const jobs::job_id id : fits_) {
      // A job that somebody else has changed in a piece that was cut off is as unknown as if it were done.
      const bool may_be_unchanged = troubles_ && troubles_->changed_by_others().contains(id);
      unchanged += changes[id] == 0 ? 1U : 0U;
      if (changes[id] != 1 && !(changes[id] == 0 && may_be_unchanged)) {
        in_.breaches.push_back(fmt::format("action: job {} was changed {} times", id, changes[id]));
      }
      if (left.contains(id) == (kind_ == "cancel" && changes[id] > 0))
        in_.breaches.push_back(fmt::format("action: job {} at the end", id));
    }
    if (unchanged > unknown_) {
      in_.breaches.push_back(fmt::format("action: {} jobs are unknown, and {} unchanged", unknown_, unchanged));
    }
    for (const jobs::job_id id : others_) {
      const bool is_untouched = changes[id] == 0 && left.contains(id);
      if (!is_untouched) in_.breaches.push_back(fmt::format("action: job {} does not fit, and was changed", id));
    }
  }
  [[nodiscard]] bool died_meanwhile() const { return died_meanwhile_; }

 private:
  /// Asks nodes until one has answered, and knows what has happened.
  task<problem_answer> ask(std::string method, std::string path, std::string body, std::string fields = {}) {
    const std::string request = fmt::format(
        "{} {} HTTP/1.1\r\nHost: localhost\r\n{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", method,
        path, fields, body.size(), body);
    for (;;) {
      http_node& to = in_.any_node();
      problem_answer got;
      if (!to.is_dead()) {
        auto asking = ask_one(to, request);
        got = co_await asking;
      }
      const std::string outcome = got.value.is_object() ? got.value.value("outcome", "") : "";
      const bool is_busy = outcome == "under_way" || outcome == "busy";
      if (got.status != 0 && got.status < 500 && !is_busy) co_return got;
      const duration pause = jobs::milliseconds(1 + in_.below(200));
      co_await runtime::sleep(pause);
    }
  }

  /// Puts jobs with such keys, once, and has their ids.
  task<> put_jobs(std::string prefix, std::size_t count, std::vector<jobs::job_id>& into) {
    json all = json::object();
    all["jobs"] = json::array();
    for (std::size_t i = 0; i < count; ++i) {
      json one = json::object();
      one["tube"] = "mail";
      one["key"] = fmt::format("{}{}", prefix, i);
      one["delay"] = "1h";
      all["jobs"].push_back(std::move(one));
    }
    const std::string fields = fmt::format("Idempotency-Key: put-{}\r\n", prefix);
    for (;;) {  // a database may have no room for some
      into.clear();
      auto putting = ask("POST", "/v1/batch", all.dump(), fields);
      const problem_answer got = co_await putting;
      if (!got.value.contains("results")) {
        breach("put", got.value);
        co_return;
      }
      for (const json& each : got.value["results"]) {
        if (each.contains("id")) into.push_back(std::strtoull(each.value("id", "").c_str(), nullptr, 10));
      }
      if (into.size() == count) co_return;
      const duration pause = jobs::milliseconds(1 + in_.below(200));  // else a database that is away never comes back
      co_await runtime::sleep(pause);
    }
  }

  /// Looks at the action until it is in another state.
  task<json> look_while(std::string state) {
    problem_answer seen;
    for (int looks = 0; looks < most_looks; ++looks) {
      auto looking = ask("GET", fmt::format("/v1/actions/{}", id_), "");
      seen = co_await looking;
      if (seen.value.value("state", "") != state) co_return seen.value;
      co_await runtime::sleep(duration(100ms));
    }
    breach("it does not end", seen.value);
    co_return seen.value;
  }

  void judge_outcomes(const json& done) {
    const json outcomes = done.value("outcomes", json::object());
    unknown_ = outcomes.value("unknown", std::size_t{0});
    const std::size_t told = outcomes.value("done", std::size_t{0}) + unknown_;
    const std::size_t matched = done.value("differences", json::object()).value("matched", std::size_t{0});
    if (done.value("state", "") != "done" || told != fits_.size() || matched != fits_.size()) breach("outcomes", done);
  }
  void breach(std::string_view what, const json& seen) {
    in_.breaches.push_back(fmt::format("action: {} of {}: {}", what, fits_.size(), seen.dump()));
  }

  node_world& in_;
  const std::string kind_;
  std::string id_;
  std::vector<jobs::job_id> fits_;
  std::vector<jobs::job_id> others_;
  std::optional<piece_troubles> troubles_;
  std::size_t unknown_ = 0;
  bool died_meanwhile_ = false;
};

}  // namespace

action_outcome_seen live_with_an_action(flaw wrong, std::string_view kind) {
  node_duties duties;
  duties.acts = true;
  node_world in(wrong, std::move(duties));
  constexpr std::array<std::string_view, 3> kinds{"cancel", "reschedule", "fire"};
  const std::string_view any_kind = kinds[in.below(kinds.size())];
  acting_client client(in, kind.empty() ? any_kind : kind);
  run_world(in, [&] { return client.act(); });
  client.judge_changes();
  return {std::move(in.breaches), client.died_meanwhile()};
}

}  // namespace foliot::program::worlds
