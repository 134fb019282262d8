#include "database_connection.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include <foliot/core/clock.hpp>

namespace foliot::jobs::detail {

namespace {

constexpr sql_statement begin_statement{"begin", "BEGIN"};
constexpr sql_statement commit_statement{"commit", "COMMIT"};

std::string trimmed(const char* text) {
  std::string out = text == nullptr ? "" : text;
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  std::ranges::replace(out, '\n', ' ');
  std::erase(out, '\t');
  return out;
}

/// libpq's message about a failed connection has a line for each host. A line that begins with a tab continues the line
/// before it.
std::vector<std::string> reasons_in(std::string_view text) {
  std::vector<std::string> reasons;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = trimmed(std::string(text.substr(0, end)).c_str());
    if (text.front() == '\t' && !reasons.empty()) {
      reasons.back() += " " + line;
    } else if (!line.empty()) {
      reasons.push_back(line);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reasons;
}

std::string joined(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& each : reasons) text += (text.empty() ? "" : "; ") + each;
  return text;
}

/// While bytes come or go, an exchange may go on after its deadline, because the network may be slow and bodies large.
/// These are the longest silence of the server in that time, and the latest end after the deadline.
constexpr duration longest_silence = std::chrono::seconds(3);
constexpr duration longest_exchange = std::chrono::minutes(1);

/// Waits for `events` of the socket. Throws database_failure at the deadline.
void wait_for(int socket, short events, instant deadline, std::string_view doing) {
  for (;;) {
    const duration left = deadline - monotonic_clock::instance().now();
    if (left <= duration::zero()) {
      throw database_failure("", "the server did not answer in time while " + std::string(doing));
    }
    pollfd asked{socket, events, 0};
    const auto whole = left.count() / 1'000'000 + 1;
    const int got = ::poll(&asked, 1, static_cast<int>(std::min<std::int64_t>(whole, std::numeric_limits<int>::max())));
    if (got > 0) return;
    if (got < 0 && errno != EINTR) throw database_failure("", std::string("poll: ") + std::strerror(errno));
  }
}

}  // namespace

bool database_failure::is_refusal() const noexcept {
  static constexpr std::array<std::string_view, 10> classes{"21", "22", "23", "38", "39", "44", "54", "58", "P0", "XX"};
  return is_lack_of_a_function() ||
         std::ranges::any_of(classes, [this](std::string_view each) { return state_.starts_with(each); });
}

connect_failure::connect_failure(std::vector<std::string> reasons)
    : database_failure("", joined(reasons)), reasons_(std::move(reasons)) {}

database_connection::database_connection(const char* const* keywords, const char* const* values, instant deadline,
                                         const exchange_step& at_step)
    : connection_(PQconnectStartParams(keywords, values, 0)), at_step_(at_step) {
  if (connection_ == nullptr) throw std::bad_alloc();
  PGconn* const it = connection_.get();
  PQsetNoticeReceiver(it, &take_notice, this);
  for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK; next = PQconnectPoll(it)) {
    if (next == PGRES_POLLING_FAILED || PQstatus(it) == CONNECTION_BAD) {
      throw connect_failure(reasons_in(PQerrorMessage(it)));
    }
    try {
      wait_for(PQsocket(it), next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline, "connecting to " + place());
    } catch (const database_failure& error) {
      // libpq's message names the hosts that it has asked before, and may already have a line for this one.
      throw connect_failure(reasons_in(std::string(PQerrorMessage(it)) + error.what()));
    }
  }
  if (PQsetnonblocking(it, 1) != 0) fail_connection("connecting");
  step(exchange_point::answered);
}

database_connection::~database_connection() = default;

void database_connection::fail_connection(std::string_view doing) const {
  const std::string why = trimmed(PQerrorMessage(connection_.get()));
  throw database_failure("", why.empty() ? "the connection was lost while " + std::string(doing) : why);
}

void database_connection::take_notice(void* self, const PGresult* notice) {
  const char* const severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity == nullptr || std::strcmp(severity, "WARNING") != 0) return;
  std::string& warning = static_cast<database_connection*>(self)->warning_;
  if (warning.empty()) warning = trimmed(PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY));
}

instant database_connection::with_progress(instant deadline) const {
  return std::max(deadline, std::min(progress_ + longest_silence, deadline_after(deadline, longest_exchange)));
}

void database_connection::flush(instant deadline) {
  for (;;) {
    const int left = PQflush(connection_.get());
    if (left == 0) return;
    if (left < 0) fail_connection("sending");
    wait_for(PQsocket(connection_.get()), POLLIN | POLLOUT, with_progress(deadline), "sending");
    progress_ = monotonic_clock::instance().now();
    if (PQconsumeInput(connection_.get()) == 0) fail_connection("sending");
  }
}

void database_connection::receive(instant deadline) {
  wait_for(PQsocket(connection_.get()), POLLIN, with_progress(deadline), "executing a batch");
  progress_ = monotonic_clock::instance().now();
  if (PQconsumeInput(connection_.get()) == 0) fail_connection("waiting for the answer");
}

PGresult* database_connection::next_result(instant deadline) {
  while (PQisBusy(connection_.get()) != 0) receive(deadline);
  return PQgetResult(connection_.get());
}

namespace {

/// The text of an error for users, without its position and its details: those may have values of rows, such as a
/// connection string.
std::string text_of_error(const PGresult* got) {
  const auto field = [got](int code) { return trimmed(PQresultErrorField(got, code)); };
  const std::string primary = field(PG_DIAG_MESSAGE_PRIMARY);
  if (primary.empty()) return trimmed(PQresultErrorMessage(got));  // libpq's own
  const std::string hint = field(PG_DIAG_MESSAGE_HINT);
  return field(PG_DIAG_SEVERITY) + ":  " + primary + (hint.empty() ? "" : " HINT:  " + hint);
}

/// Throws if the result is an error.
void check_result(const reply& got) {
  const ExecStatusType status = PQresultStatus(got.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_PIPELINE_SYNC) return;
  const char* const state = PQresultErrorField(got.get(), PG_DIAG_SQLSTATE);
  throw database_failure(state == nullptr ? "" : state, text_of_error(got.get()));
}

}  // namespace

reply database_connection::read_reply(instant deadline) {
  reply got(next_result(deadline));
  if (got.get() == nullptr) fail_connection("waiting for the answer");
  check_result(got);
  PGresult* const end = next_result(deadline);
  if (end != nullptr) {
    PQclear(end);
    throw database_failure("", "the server gave two results for one statement");
  }
  return got;
}

void database_connection::read_synchronization(instant deadline) {
  const reply got(next_result(deadline));  // not read_reply(): it is one result without an end
  if (got.get() == nullptr) fail_connection("waiting for the answer");
  check_result(got);
}

reply database_connection::execute_text(const std::string& statements, instant deadline) {
  if (PQsendQuery(connection_.get(), statements.c_str()) == 0) fail_connection("sending");
  flush(deadline);
  reply last(nullptr);
  while (PGresult* const each = next_result(deadline)) {
    last = reply(each);
    check_result(last);
  }
  if (last.get() == nullptr) fail_connection("waiting for the answer");
  return last;
}

void database_connection::send(const sql_statement& what) {
  if (PQsendQueryPrepared(connection_.get(), what.name, 0, nullptr, nullptr, nullptr, 1) == 0)
    fail_connection("sending");
}

void database_connection::send(const call& what) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  const std::vector<int> formats(static_cast<std::size_t>(what.count()), 1);
  for (int i = 0; i < what.count(); ++i) {
    const auto& value = what.value(i);
    values.push_back(value ? value->data() : nullptr);
    lengths.push_back(value ? static_cast<int>(value->size()) : 0);
  }
  if (PQsendQueryPrepared(connection_.get(), what.what().name, what.count(), values.data(), lengths.data(),
                          formats.data(), 1) == 0) {
    fail_connection("sending");
  }
}

std::vector<reply> database_connection::run(std::span<const call> calls, instant deadline) {
  PGconn* const it = connection_.get();
  if (PQpipelineStatus(it) == PQ_PIPELINE_OFF && PQenterPipelineMode(it) == 0) fail_connection("sending");
  std::vector<expected_result> expected;
  const auto prepare = [&](const sql_statement& what, int count, const unsigned* types) {
    if (!prepared_.insert(what.name).second) return;
    if (PQsendPrepare(it, what.name, what.text, count, types) == 0) fail_connection("sending");
    expected.push_back({false, what.name});
  };
  if (!std::exchange(has_begun_, true)) {
    prepare(begin_statement, 0, nullptr);
    send(begin_statement);
    expected.push_back({false, nullptr});
  }
  for (const call& each : calls) {
    prepare(each.what(), each.count(), each.types());
    send(each);
    expected.push_back({true, nullptr});
  }
  // Not a flush request: the server counts a transaction as idle only after a synchronization, and ends only idle
  // transactions if this node is stopped before it commits.
  if (PQpipelineSync(it) == 0) fail_connection("sending");
  flush(deadline);
  step(exchange_point::sent);
  std::vector<reply> replies = read_replies(expected, deadline);
  read_synchronization(deadline);
  step(exchange_point::answered);
  return replies;
}

std::vector<reply> database_connection::read_replies(std::span<const expected_result> expected, instant deadline) {
  std::vector<reply> replies;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    try {
      reply got = read_reply(deadline);
      if (expected[i].is_wanted) replies.push_back(std::move(got));
    } catch (const database_failure& error) {
      // The server skips everything after the error, so it does not prepare those statements.
      for (const expected_result& each : expected.subspan(i)) prepared_.erase(each.prepares);
      has_refused_ = !error.state().empty();
      throw;
    }
  }
  return replies;
}

bool database_connection::goes_on_after(const database_failure& failure, instant deadline) noexcept {
  const bool is_in_order = failure.is_conflict() || failure.is_lack_of_room() || failure.is_lack_of_rights() ||
                           failure.is_lack_of_a_function() || failure.is_refusal();
  if (!is_in_order || !has_refused_) return false;
  try {
    roll_back_failed(deadline);
    return true;
  } catch (...) {  // the connection is lost as well
    return false;
  }
}

void database_connection::roll_back_failed(instant deadline) {
  has_refused_ = false;
  for (bool is_skipping = true, was_end = false; is_skipping;) {
    const reply skipped(next_result(deadline));
    const bool is_end = skipped.get() == nullptr;  // of the results of a statement
    if (is_end && was_end) fail_connection("rolling back");
    if (!is_end && PQresultStatus(skipped.get()) != PGRES_PIPELINE_ABORTED) {
      check_result(skipped);
      is_skipping = PQresultStatus(skipped.get()) != PGRES_PIPELINE_SYNC;
    }
    was_end = is_end;
  }
  roll_back(deadline);
}

void database_connection::roll_back(instant deadline) {
  PGconn* const it = connection_.get();
  if (PQsendQueryParams(it, "ROLLBACK", 0, nullptr, nullptr, nullptr, nullptr, 1) == 0) fail_connection("sending");
  if (PQpipelineSync(it) == 0) fail_connection("sending");
  flush(deadline);
  step(exchange_point::sent);
  static_cast<void>(read_reply(deadline));
  read_synchronization(deadline);
  has_begun_ = false;
}

void database_connection::commit(instant deadline) {
  PGconn* const it = connection_.get();
  warning_.clear();
  const bool is_new = prepared_.insert(commit_statement.name).second;
  if (is_new && PQsendPrepare(it, commit_statement.name, commit_statement.text, 0, nullptr) == 0) {
    fail_connection("sending");
  }
  send(commit_statement);
  if (PQpipelineSync(it) == 0) fail_connection("sending");
  flush(deadline);
  step(exchange_point::sent);
  if (is_new) static_cast<void>(read_reply(deadline));
  const reply done = read_reply(deadline);
  read_synchronization(deadline);
  has_begun_ = false;
  if (std::strcmp(PQcmdStatus(done.get()), "COMMIT") != 0) {
    throw database_failure("", "the server has rolled back a transaction that had not failed");
  }
  if (!warning_.empty()) throw database_failure("", "the server warned about a commit: " + warning_);
}

std::vector<std::string> database_connection::take_notifications() {
  PGconn* const it = connection_.get();
  if (PQconsumeInput(it) == 0) fail_connection("listening");
  std::vector<std::string> all;
  for (;;) {
    const std::unique_ptr<PGnotify, decltype(&PQfreemem)> each(PQnotifies(it), &PQfreemem);
    if (each == nullptr) return all;
    if (each->be_pid != PQbackendPID(it)) all.emplace_back(each->extra);
  }
}

std::string database_connection::place() const {
  const char* const host = PQhost(connection_.get());
  std::string text = host == nullptr || *host == '\0' ? "" : host;
  if (!text.starts_with('/')) text += std::string(":") + PQport(connection_.get());
  return text + "/" + PQdb(connection_.get());
}

}  // namespace foliot::jobs::detail
