// How a postgresql_node continues when jobs are locked, a turn is late, the disk is full or the database is down: see
// postgresql_node.hpp.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <foliot/core/clock.hpp>

#include "postgresql_node.hpp"
#include "sleep_for.hpp"
#include "statements.hpp"

namespace foliot::jobs::detail {

namespace {

/// The longest pause between two attempts of one batch.
constexpr duration longest_pause = std::chrono::milliseconds(100);
/// The SQLSTATE of an error because a disk is full: see sql/ballast.sql.
constexpr const char* disk_full = "53100";
/// How long the connection for notifications may be missing while the connection for jobs works. After an outage both
/// are made again, but not at the same instant.
constexpr duration news_patience = std::chrono::seconds(3);

std::string in_seconds(duration length) {
  std::array<char, 32> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(length.count()) / 1e9));
  return text.data();
}

}  // namespace

void postgresql_node::note_want_of_room(std::string_view why) {
  if (!modes_.note_want_of_room(monotonic_clock::instance().now())) return;
  warn("the database " + place_ +
       " has no room: what needs some is refused, and the rest goes on: " + std::string(why));
}

void postgresql_node::give_up_ballast() noexcept { run_aside(statements::give_up_ballast); }

void postgresql_node::make_tubes_before(std::span<const operation> batch) noexcept {
  try {
    std::set<std::string_view> tubes;
    for (const operation& each : batch) {
      if (const auto* const made = std::get_if<put>(&each)) tubes.insert(made->tube);
      if (const auto* const made = std::get_if<pause>(&each)) tubes.insert(made->tube);
    }
    if (tubes.size() < 2) return;
    call it(statements::make_tubes_before);
    run_aside(it.add(sql_texts(tubes.begin(), tubes.end())));
  } catch (...) {  // no memory for the names: the batch waits again
  }
}

std::optional<std::int64_t> postgresql_node::run_aside(const call& it) noexcept {
  try {
    const std::int64_t answer = connection_->run(std::span(&it, 1), patience()).front().integer(0, 0);
    connection_->commit(patience());
    return answer;
  } catch (const database_failure& error) {
    note_failure_aside(it.what(), error);
    if (!connection_->goes_on_after(error, patience())) connection_.reset();  // the next batch connects again
  } catch (...) {
    connection_.reset();
  }
  return std::nullopt;
}

void postgresql_node::note_failure_aside(const sql_statement& what, const database_failure& error) noexcept {
  // Conflicts are temporary, and the batches report lost connections and a full disk.
  if (error.is_conflict() || error.state().empty() || error.is_for_want_of_room()) return;
  const instant now = monotonic_clock::instance().now();
  if (now < warns_aside_at_) return;
  warns_aside_at_ = now + execution_modes::warns_every;
  try {
    warn("the database " + place_ + " refuses foliot." + what.name + "(): " + error.what());
  } catch (...) {  // no memory for the sentence
  }
}

void postgresql_node::note_passed_over(const std::vector<answer>& answers) noexcept {
  const auto is_passed_over = [](const answer& each) { return std::holds_alternative<passed_over_answer>(each); };
  if (std::ranges::any_of(answers, is_passed_over)) modes_.note_lock(monotonic_clock::instance().now());
}

void postgresql_node::note_missing_news() {
  if (!listener_) return;
  const std::optional<notification_listener::missing_connection> missing = listener_->outage();
  const instant now = monotonic_clock::instance().now();
  if (!missing && news_missing_since_) {
    const duration length = now - *std::exchange(news_missing_since_, std::nullopt);
    warn("the connection for news to the database " + place_ + " is there again, after " + in_seconds(length));
  }
  if (!missing || news_missing_since_) return;
  // What the server refuses since the connection for jobs was made. Of an outage the batches tell.
  if (missing->attempt < connected_at_ || now < std::max(missing->since, connected_at_) + news_patience) return;
  news_missing_since_ = missing->since;
  warn("there has been no connection for news to the database " + place_ + " for " + in_seconds(now - missing->since) +
       ", so clients that wait get the jobs of other nodes later, by up to " + in_seconds(listener_->scan_every()) +
       ". Each session needs two connections: " + missing->why);
}

void postgresql_node::recover(const database_failure& from, instant until, store_unavailable::kind known) {
  const std::string where = place_.empty() ? target_.to_string() : place_;
  if (connection_ != nullptr && !connection_->goes_on_after(from, patience())) connection_.reset();
  if (connection_ != nullptr && from.is_state(disk_full)) give_up_ballast();
  if (monotonic_clock::instance().now() >= until) {
    is_down_ = true;
    // Another host may be the primary by now. Here an earlier batch may wait for a standby that does not come, and keep
    // the row of the node locked.
    if (target_.hosts() > 1) connection_.reset();
    std::string what = " does not answer: ";
    if (from.is_for_want_of_room()) what = " has no room: ";
    if (from.is_for_want_of_rights()) what = " refuses: ";
    throw store_unavailable(known, "foliot: the database " + where + what + from.what());
  }
  if (from.is_conflict() || from.is_state("FL001")) return;  // the session is over: the next attempt begins another one
  sleep_for(pause_);
  pause_ = std::min(pause_ * 2, longest_pause);
}

}  // namespace foliot::jobs::detail
