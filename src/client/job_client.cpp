#include <foliot/client/job_client.hpp>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>

namespace foliot::client {

namespace {

using kind = client_error::kind;

constexpr std::size_t buffer_size = std::size_t{1} << 16;
constexpr std::string_view first_tube = "default";  // that a new connection uses and watches
constexpr std::size_t longest_token = 200;
/// Requests that are sent before their replies are read: both fit into the buffers of the sockets.
constexpr std::size_t most_at_once = 100;
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
  return transport_ != nullptr && token.opening == number_ && !transport_->peer_has_ended();
}

void job_client::drop() noexcept {
  transport_.reset();
  reader_ = reply_reader();
}

duration job_client::next_pause() noexcept {
  const duration pause = std::min(pause_, options_.longest_pause);
  pause_ = std::min(pause_ * 2, options_.longest_pause);
  const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(pause.count() / 2, 0));
  return pause - duration::nanoseconds(static_cast<std::int64_t>(random_.below(half + 1)));
}

runtime::task<job_client::exchanged> job_client::execute(const command& what, duration patience) {
  const instant until = runtime::now() + duration(what.wait.value_or(jobs::milliseconds::zero()));
  const instant deadline = until + patience;
  sent_ = 0;
  for (;;) {
    was_sent_ = false;
    auto attempting = attempt_once(what, until, deadline);
    exchanged got = co_await attempting;
    if (was_sent_) ++sent_;
    if (got) {
      pause_ = options_.first_pause;
      co_return got;
    }
    client_error& error = got.error();
    error.is_in_doubt = what.changes && sent_ > 0;
    const instant again = runtime::now() + next_pause();
    if (!may_go_on(error, what, was_sent_) || again >= deadline) {
      if (error.is_in_doubt) error.text += "; it is not known whether the operation was executed";
      co_return got;
    }
    co_await runtime::sleep_until(again);
  }
}

runtime::task<job_client::exchanged> job_client::attempt_once(const command& what, instant until, instant deadline) {
  if (transport_ != nullptr && transport_->peer_has_ended()) drop();
  const bool is_bound = what.connection != 0;
  if (is_bound && (transport_ == nullptr || what.connection != number_)) {
    co_return failed(kind::reservation_lost, "the connection of the reservation to " + options_.server.name +
                                                 " has ended, so the job has gone back to its tube");
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
  if (!ready) co_return std::unexpected(std::move(ready.error()));
  std::string reserving;
  instant limit = runtime::now() + options_.answer_timeout;
  if (what.wait) {
    const duration left = std::max(until - runtime::now(), duration::zero());
    reserving = reserve_line(std::chrono::ceil<jobs::milliseconds>(std::chrono::nanoseconds(left.count())));
    limit = limit + left + duration(std::chrono::seconds(1));  // which the server rounds up to
  }
  const bool is_other = !is_foliot_ && !what.for_others.empty();
  const std::string& bytes = what.wait ? reserving : is_other ? what.for_others : what.bytes;
  auto asking = exchange(bytes, what.replies, what.wanted, std::min(limit, deadline));
  exchanged got = co_await asking;
  if (!got && is_bound && !was_sent_ && got.error().what == kind::connection_lost) {
    got.error().what = kind::reservation_lost;
    got.error().text += ", so the job has gone back to its tube";
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
    auto showing = exchange(request, 1, {}, deadline);
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
  auto asking = exchange(probe, 1, {}, deadline);
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
  const instant limit = std::min(deadline, runtime::now() + options_.answer_timeout);
  const std::string request = "use " + tube + "\r\n";
  auto asking = exchange(request, 1, {}, limit);
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
  std::vector<std::pair<bool, std::string>> changes;  // whether it is to be watched
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
    const instant limit = std::min(deadline, runtime::now() + options_.answer_timeout);
    auto asking = exchange(requests, end - begin, {}, limit);
    const exchanged got = co_await asking;
    if (!got) co_return std::unexpected(got.error());
    for (std::size_t i = begin; i < end; ++i) {
      const server_reply& reply = (*got)[i - begin];
      const auto& [is_watch, tube] = changes[i];
      if (reply.word == "WATCHING" && is_watch) watched_.push_back(tube);
      if (reply.word == "WATCHING" && !is_watch) std::erase(watched_, tube);
      if (reply.word == "WATCHING" && reply.number == watched_.size()) continue;
      auto refusal = refusal_in(reply, false, is_foliot_);
      drop();  // what it watches is not known any more
      if (refusal) co_return std::unexpected(*std::move(refusal));
      co_return failed(kind::bad_answer, options_.server.name + " answered " + reply.word + " to a watch of tubes");
    }
  }
  co_return attempt();
}

runtime::task<job_client::exchanged> job_client::exchange(std::string_view bytes, std::size_t count,
                                                          wanted_bytes wanted, instant deadline) {
  exchange_guard guard(*this);
  was_sent_ = false;
  transport_->set_deadline(deadline);
  while (!bytes.empty()) {
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
