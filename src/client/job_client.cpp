#include <foliot/client/job_client.hpp>

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>

namespace foliot::client {

namespace {

using kind = client_error::kind;

constexpr std::size_t buffer_size = std::size_t{1} << 16;
constexpr std::string_view first_tube = "default";  // that a new connection uses and watches
constexpr std::size_t longest_token = 200;
/// Requests that are sent before their replies are read: both fit into the buffers of the sockets.
constexpr std::size_t most_at_once = 100;
/// To which a server rounds up the wait of a reserve.
constexpr duration server_second = std::chrono::seconds(1);
constexpr std::string_view goes_back =
    ", so the job goes back to its tube when the server notices that, at the latest when its TTR ends";
/// foliot knows the command, and refuses it for the argument that it lacks; no other server knows it.
constexpr std::string_view probe = "x-fire \r\n";

// Relaxed: the numbers need only be different.
seam::atomic<std::uint64_t> latest_connection{0};

std::unexpected<client_error> failed(kind what, std::string text, std::error_code cause = {}) {
  return std::unexpected(client_error{what, false, cause, std::move(text)});
}

bool is_token(std::string_view text) {
  return text.size() <= longest_token && std::ranges::all_of(text, [](char c) { return '!' <= c && c <= '~'; });
}

/// Whether the operation may be sent again behind this error.
bool may_go_on(const client_error& error, const command& what, bool was_sent) {
  if (what.connection != 0) return false;
  return error.what == kind::unreachable || (error.what == kind::connection_lost && (!was_sent || what.is_repeatable));
}

}  // namespace

/// Closes the connection unless the exchange has come to its end: what is left of it would be taken for the replies to
/// the next one.
class job_client::exchange_guard {
 public:
  explicit exchange_guard(job_client& whose) noexcept : client_(&whose) {}
  exchange_guard(const exchange_guard&) = delete;
  exchange_guard& operator=(const exchange_guard&) = delete;
  ~exchange_guard() {
    if (!is_complete_) client_->drop();
  }
  void complete() noexcept { is_complete_ = true; }

 private:
  job_client* client_;
  bool is_complete_ = false;
};

job_client::job_client(client_options options)
    : options_(std::move(options)),
      buffer_(buffer_size),
      pause_(options_.first_pause),
      random_(random_stream::entropy()) {
  if (!options_.server.connect)
    throw std::invalid_argument("foliot: a client must have a server: set client_options::server");
}

job_client::~job_client() = default;

bool job_client::holds(const jobs::reservation& token) const noexcept {
  return transport_ != nullptr && token.opening == number_ && !transport_->peer_has_ended() && is_latest(token);
}

bool job_client::is_latest(const jobs::reservation& token) const noexcept {
  const auto found = held_.find(token.id);
  return found != held_.end() && found->second == token.attempt;
}

bool job_client::is_outdated(const jobs::reservation& token) const noexcept {
  return transport_ != nullptr && token.opening == number_ && !is_latest(token);
}

void job_client::remember(jobs::reservation& token) {
  token.opening = number_;
  token.attempt = ++reservations_;
  try {
    held_.insert_or_assign(token.id, token.attempt);
  } catch (const std::bad_alloc&) {
    drop();  // nobody gets the token, so the job must go back
    throw;
  }
}

void job_client::drop() noexcept {
  transport_.reset();
  reader_ = reply_reader();
  held_.clear();
}

job_client::time_limits job_client::limits_of(const command& what, duration patience) {
  const instant now = runtime::now();
  if (!what.wait) return {now, now + patience};
  const instant until = now + duration(*what.wait);
  return {until, until + server_second + patience};
}

runtime::task<runtime::task_lock> job_client::turn_before(instant deadline) {
  if (runtime::task_lock free = turn_.try_lock()) co_return free;
  auto first = co_await runtime::select(turn_.lock(), runtime::after(deadline - runtime::now()));
  if (first.index() == 0) co_return first.get<0>();
  co_return runtime::task_lock();
}

client_error job_client::is_held_up() const {
  return {kind::unreachable, false, std::make_error_code(std::errc::timed_out),
          "other operations of this client have had its connection to " + options_.server.name +
              " for the whole patience, so nothing was sent"};
}

duration job_client::next_pause() noexcept {
  const duration pause = std::min(pause_, options_.longest_pause);
  pause_ = std::min(pause_ * 2, options_.longest_pause);
  const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(pause.count() / 2, 0));
  return pause - duration::nanoseconds(static_cast<std::int64_t>(random_.below(half + 1)));
}

runtime::task<job_client::exchanged> job_client::execute(const command& what, time_limits limits) {
  sent_ = 0;
  for (;;) {
    was_sent_ = false;
    auto attempting = attempt_once(what, limits);
    exchanged got = co_await attempting;
    if (was_sent_) ++sent_;
    if (got) {
      pause_ = options_.first_pause;
      co_return got;
    }
    client_error& error = got.error();
    error.is_in_doubt = what.changes && sent_ > 0;
    const bool goes_on = may_go_on(error, what, was_sent_);
    const instant again = goes_on ? runtime::now() + next_pause() : limits.deadline;
    if (again >= limits.deadline) {
      if (error.is_in_doubt) error.text += "; it is not known whether the operation was executed";
      co_return got;
    }
    co_await runtime::sleep_until(again);
  }
}

runtime::task<job_client::exchanged> job_client::attempt_once(const command& what, time_limits limits) {
  const instant deadline = limits.deadline;
  if (transport_ != nullptr && transport_->peer_has_ended()) drop();
  const bool is_bound = what.connection != 0;
  if (is_bound && (transport_ == nullptr || what.connection != number_)) {
    co_return failed(kind::reservation_lost, "the connection of the reservation to " + options_.server.name +
                                                 " has ended" + std::string(goes_back));
  }
  attempt ready;
  if (transport_ == nullptr) {
    auto connecting = connect(deadline);
    ready = co_await connecting;
    was_sent_ = false;
  }
  if (ready && !is_foliot_ && what.needs_foliot) {
    co_return failed(kind::unknown_command,
                     options_.server.name + " is not foliot, and has no command for this operation");
  }
  if (ready && !what.tube.empty()) {
    auto using_it = use(what.tube, deadline);
    ready = co_await using_it;
  }
  if (ready && !what.watched.empty()) {
    auto watching = watch(what.watched, deadline);
    ready = co_await watching;
  }
  was_sent_ = false;
  if (!ready) {
    if (ready.error().what == kind::connection_lost) {
      ready.error().what = kind::unreachable;
      ready.error().text += ", before the operation was sent";
    }
    co_return std::unexpected(std::move(ready.error()));
  }
  std::string reserving;
  allowance time{deadline, options_.answer_timeout};
  if (what.wait) {
    const duration left = std::max(limits.until - runtime::now(), duration::zero());
    reserving = reserve_line(std::chrono::ceil<jobs::milliseconds>(std::chrono::nanoseconds(left.count())));
    time.silence = time.silence + left + server_second;
  }
  const bool is_other = !is_foliot_ && !what.for_others.empty();
  const std::string& bytes = what.wait ? reserving : is_other ? what.for_others : what.bytes;
  auto asking = exchange(bytes, what.replies, what.wanted, time);
  exchanged got = co_await asking;
  if (!got && is_bound && !was_sent_ && got.error().what == kind::connection_lost) {
    got.error().what = kind::reservation_lost;
    got.error().text += goes_back;
  }
  co_return got;
}

runtime::task<job_client::attempt> job_client::connect(instant deadline) {
  const instant limit = std::min(deadline, runtime::now() + options_.connect_timeout);
  auto connecting = options_.server.connect(limit);
  connected got = co_await connecting;
  if (!got) {
    co_return failed(kind::unreachable,
                     "cannot connect to " + options_.server.name + options_.server.way + ": " + got.error().message(),
                     got.error());
  }
  drop();
  transport_ = std::move(*got);
  used_ = first_tube;
  watched_ = {std::string(first_tube)};
  number_ = latest_connection.fetch_add(1, std::memory_order_relaxed) + 1;
  ++connections_;
  exchange_guard guard(*this);
  auto signing = sign_in(limit);
  attempt signed_in = co_await signing;
  if (signed_in) guard.complete();
  co_return signed_in;
}

/// Shows the token, and finds out whether the server is foliot.
runtime::task<job_client::attempt> job_client::sign_in(instant deadline) {
  if (!is_token(options_.token)) co_return failed(kind::bad_request, "the access token has characters that none has");
  if (!options_.token.empty()) {
    const std::string request = "x-auth " + options_.token + "\r\n";
    auto showing = exchange(request, 1, {}, {deadline, options_.answer_timeout});
    const exchanged shown = co_await showing;
    if (!shown) co_return std::unexpected(shown.error());
    const server_reply& reply = shown->front();
    const bool needs_none = reply.word == "UNKNOWN_COMMAND";
    if (!needs_none && reply.word != "AUTHENTICATED") {
      auto refusal = refusal_in(reply, false, true);
      if (refusal) co_return std::unexpected(*std::move(refusal));
      co_return failed(kind::bad_answer, options_.server.name + " answered " + reply.word + " to an access token");
    }
  }
  auto asking = exchange(probe, 1, {}, {deadline, options_.answer_timeout});
  const exchanged said = co_await asking;
  if (!said) co_return std::unexpected(said.error());
  const server_reply& reply = said->front();
  is_foliot_ = reply.word == "BAD_FORMAT";
  if (is_foliot_ || reply.word == "UNKNOWN_COMMAND") co_return attempt();
  auto refusal = refusal_in(reply, false, true);
  if (refusal) co_return std::unexpected(*std::move(refusal));
  co_return failed(kind::bad_answer, options_.server.name + " answered " + reply.word + " to a command that is none");
}

runtime::task<job_client::attempt> job_client::use(const std::string& tube, instant deadline) {
  if (used_ == tube) co_return attempt();
  const std::string request = "use " + tube + "\r\n";
  auto asking = exchange(request, 1, {}, {deadline, options_.answer_timeout});
  const exchanged got = co_await asking;
  if (!got) co_return std::unexpected(got.error());
  const server_reply& reply = got->front();
  if (reply.word == "USING" && reply.name == tube) {
    used_ = tube;
    co_return attempt();
  }
  auto refusal = refusal_in(reply, false, is_foliot_);
  if (refusal) co_return std::unexpected(*std::move(refusal));
  drop();
  co_return failed(kind::bad_answer, options_.server.name + " answered " + reply.word + " to a use of a tube");
}

/// First watches what is missing, then ignores what is too much: a connection always watches a tube.
runtime::task<job_client::attempt> job_client::watch(const std::vector<std::string>& tubes, instant deadline) {
  std::vector<watch_change> changes;
  const auto has = [](const std::vector<std::string>& all, const std::string& one) {
    return std::ranges::find(all, one) != all.end();
  };
  std::vector<std::string> wanted;
  for (const std::string& each : tubes) {
    if (!has(wanted, each)) wanted.push_back(each);
  }
  for (const std::string& each : wanted) {
    if (!has(watched_, each)) changes.emplace_back(true, each);
  }
  for (const std::string& each : watched_) {
    if (!has(wanted, each)) changes.emplace_back(false, each);
  }
  for (std::size_t begin = 0; begin < changes.size(); begin += most_at_once) {
    const std::size_t end = std::min(begin + most_at_once, changes.size());
    std::string requests;
    for (std::size_t i = begin; i < end; ++i)
      requests += (changes[i].first ? "watch " : "ignore ") + changes[i].second + "\r\n";
    auto asking = exchange(requests, end - begin, {}, {deadline, options_.answer_timeout});
    const exchanged got = co_await asking;
    if (!got) co_return std::unexpected(got.error());
    const std::span<const watch_change> asked(changes.begin() + static_cast<std::ptrdiff_t>(begin), end - begin);
    auto applied = apply(asked, *got);
    if (!applied) {
      // Where a tube was forbidden it is still known what the connection watches; and it may have reservations.
      if (applied.error().what != kind::forbidden) drop();
      co_return applied;
    }
  }
  co_return attempt();
}

/// Follows what the connection watches. The error is `forbidden` only if that is known behind all replies.
job_client::attempt job_client::apply(std::span<const watch_change> changes, const replies& said) {
  std::optional<client_error> forbidden;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const server_reply& reply = said[i];
    const auto& [is_watch, tube] = changes[i];
    if (reply.word == "WATCHING" && is_watch) watched_.push_back(tube);
    if (reply.word == "WATCHING" && !is_watch) std::erase(watched_, tube);
    if (reply.word == "WATCHING" && reply.number == watched_.size()) continue;
    // The last tube cannot be ignored: the one that was to come instead is forbidden.
    if (reply.word == "NOT_IGNORED" && forbidden && !is_watch && watched_.size() == 1) continue;
    auto refusal = refusal_in(reply, false, is_foliot_);
    if (!refusal) {
      return failed(kind::bad_answer, options_.server.name + " answered " + reply.word + " to a watch of tubes");
    }
    if (refusal->what != kind::forbidden) return std::unexpected(*std::move(refusal));
    if (!forbidden) forbidden = std::move(refusal);
  }
  if (forbidden) return std::unexpected(*std::move(forbidden));
  return attempt();
}

runtime::task<job_client::exchanged> job_client::exchange(std::string_view bytes, std::size_t count,
                                                          wanted_bytes wanted, allowance time) {
  exchange_guard guard(*this);
  was_sent_ = false;
  // What moves is not lost: each piece has the time anew.
  const auto renew_deadline = [&] { transport_->set_deadline(std::min(time.deadline, runtime::now() + time.silence)); };
  while (!bytes.empty()) {
    renew_deadline();
    auto writing = transport_->write_some(bytes);
    const auto written = co_await writing;
    if (!written) co_return std::unexpected(lost(written.error()));
    bytes.remove_prefix(*written);
  }
  was_sent_ = true;
  replies all;
  while (all.size() < count) {
    std::optional<server_reply> next;
    try {
      next = reader_.next(wanted);
    } catch (const no_reply& error) {
      co_return failed(kind::bad_answer, options_.server.name + " sent something else than a reply: " + error.what());
    }
    if (next) {
      all.push_back(std::move(*next));
      continue;
    }
    renew_deadline();
    auto reading = transport_->read_some(std::span<char>(buffer_));
    const auto got = co_await reading;
    if (!got) co_return std::unexpected(lost(got.error()));
    if (*got == 0) co_return std::unexpected(lost({}));
    reader_.add(std::string_view(buffer_.data(), *got));
  }
  if (!reader_.is_empty())
    co_return failed(kind::bad_answer, options_.server.name + " sent more replies than it was asked for");
  guard.complete();
  co_return all;
}

client_error job_client::lost(std::error_code cause) const {
  client_error error{kind::connection_lost, false, cause, "the connection to " + options_.server.name + " ended"};
  if (cause == runtime::io_errc::deadline_exceeded) {
    error.text = options_.server.name + " has not answered in time, and its connection was closed";
  } else if (cause) {
    error.text += ": " + cause.message();
  } else {
    error.text = options_.server.name + " closed the connection";
  }
  return error;
}

}  // namespace foliot::client
