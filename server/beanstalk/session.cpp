#include "session.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task_mutex.hpp>

#include "server/access/server_tubes.hpp"
#include "server/core/client_source.hpp"
#include "server/core/rate_limits.hpp"
#include "server/core/server_log.hpp"

namespace foliot::program::beanstalk {

namespace {

constexpr std::size_t first_buffer = 1024;
constexpr std::size_t largest_buffer = 65'536;
/// How much a client may send behind a reserve that waits.
constexpr std::size_t largest_waiting_buffer = 262'144;
/// Answers of this size are written before the next command is parsed.
constexpr std::size_t many_answers = 65'536;
/// The same while all connections together hold as much as they may: this size lies within the allowance of each.
constexpr std::size_t few_answers = 4096;
/// A session has at most this many puts, with at most this many bytes, with the broker; then it answers them first.
constexpr std::size_t many_puts = 256;
constexpr std::size_t many_bytes_in_puts = 1'048'576;
/// A body that waits for room gets room for all of it if it is at most this part of the bound.
constexpr std::size_t part_of_one_body = 16;
/// How much room a reserve waits for while all connections together hold as much as they may.
constexpr std::size_t room_of_reserve = 16'384;
/// How long a client must be silent before its large buffers are given back.
constexpr duration idle_time = duration::nanoseconds(1'000'000'000);
/// A command that waits for its turn looks so often whether the connection was closed.
constexpr duration longest_sleep = duration::nanoseconds(250'000'000);

/// The most pages of the list of a client that may not see all tubes: of at most most_listed names each.
constexpr int most_pages_of_list = 100;

/// The time between two lines of the log about clients that do not go on.
constexpr duration between_slow_clients = duration::nanoseconds(60'000'000'000);

constexpr std::size_t many_ended_reservations = 64;
/// The largest number of tubes that a client may watch: with more, each search for a job would be slow.
constexpr std::size_t most_watched = 1000;
constexpr std::uint64_t jobs_of_a_piece = 1000;

/// Wakes the task that reads from the connection.
class wakes_reader {
 public:
  wakes_reader(byte_stream& peer, memory_holder& memory) noexcept : peer_(peer), memory_(memory) {}
  wakes_reader(const wakes_reader&) = delete;
  wakes_reader& operator=(const wakes_reader&) = delete;
  ~wakes_reader() {
    memory_.stop_waiting();
    try {
      peer_.set_read_deadline(instant::earliest());
    } catch (...) {
      peer_.end_reading();  // no memory: the connection ends
    }
  }

 private:
  byte_stream& peer_;
  memory_holder& memory_;
};

/// Calls it. Returns how the command is answered if that refuses it; else nothing.
template <class Call>
std::string_view refusal_by_calling(const Call& call) {
  try {
    call();
    return {};
  } catch (const jobs::broker_full&) {
    return reply::out_of_memory;
  } catch (const access_refused&) {
    return reply::forbidden;
  } catch (const std::invalid_argument&) {
    return reply::bad_format;  // a value that the protocol allows and a store does not
  }
}

/// The answer to a command that the store has not executed. Rethrows a failure in doubt: no answer is known to be true.
std::string_view refusal_of(const jobs::store_unavailable& why) {
  if (why.is_in_doubt()) throw why;
  return reply::internal_error;
}

task<jobs::reserve_answer> reserve_and_wake(authorized_client& by, byte_stream& peer, memory_holder& memory,
                                            std::optional<duration> timeout) {
  const wakes_reader at_the_end(peer, memory);
  const instant until = timeout ? runtime::now() + *timeout : instant::never();
  for (;;) {
    jobs::reserve_answer got = co_await by.reserve(timeout);
    // The wait may have begun before the tube had its target.
    if (!got.job || !by.is_delivered(got.job->job.tube)) co_return got;
    std::vector<jobs::claimed_job> given;
    given.push_back(std::move(*got.job));
    auto giving = by.give_back_delivered(given);
    static_cast<void>(co_await giving);
    if (timeout) timeout = std::max(until - runtime::now(), duration::zero());
  }
}

std::chrono::seconds whole_seconds(duration length) {
  return std::chrono::seconds(std::max<std::int64_t>(length.count(), 0) / 1'000'000'000);
}

std::chrono::seconds whole_seconds(jobs::milliseconds length) {
  return std::chrono::floor<std::chrono::seconds>(std::max(length, jobs::milliseconds::zero()));
}

/// `now`: the time of the store's wall clock.
job_statistics statistics_of(const jobs::job& job, jobs::utc_time now) {
  job_statistics shown;
  shown.id = job.id;
  shown.tube = job.tube;
  shown.state = job.state;
  shown.priority = job.priority;
  shown.age = whole_seconds(now - job.made);
  shown.delay = whole_seconds(job.delay);
  shown.ttr = whole_seconds(job.ttr);
  if (job.state == jobs::job_state::delayed) shown.time_left = whole_seconds(job.due - now);
  if (job.state == jobs::job_state::reserved) {
    shown.time_left = whole_seconds(job.expires - monotonic_clock::instance().now());
  }
  shown.counters = job.counters;
  return shown;
}

}  // namespace

session::session(server_state& server, byte_stream& peer, const rights_holder& by, std::string_view unread)
    : server_(server),
      peer_(peer),
      memory_(server.memory, peer),
      broker_(server.brokers.for_next_connection()),
      client_(broker_, by, server.own_jobs),
      source_(server.rates == nullptr ? std::string() : source_of(peer.peer_address())),
      commands_(static_cast<std::uint32_t>(server.max_job_size)),
      buffer_(std::max(first_buffer, unread.size())),
      end_(unread.size()),
      written_(unread.size()),
      used_(server.tubes.hold("default")) {
  watched_.push_back(server.tubes.hold("default"));
  client_.set_name(shown_address(peer.peer_address()));
  std::ranges::copy(unread, buffer_.begin());
  // Every client begins with the tube `default`. One whose rights do not include it is told so when it uses the tube.
  if (client_.allowed().has_tube(used_->name)) client_.use(used_->name);
  if (client_.may_watch(used_->name)) client_.watch(used_->name);
  ++server_.connections;
  ++server_.total_connections;
}

session::~session() {
  --server_.connections;
  if (has_put_) --server_.producers;
  if (has_reserved_) --server_.workers;
}

task<> session::run() {
  try {
    co_await serve_commands();
  } catch (const jobs::store_unavailable&) {
    puts_.clear();  // an answer to one of them would be taken for the answer that is missing
    delete_.reset();
  }
  static_cast<void>(co_await write_answers());
  if (drops_) co_await drop_the_rest(peer_);
  co_await leave_tubes();
}

task<> session::serve_commands() {
  while (!quits_ && !memory_.is_closed()) {
    const std::size_t wanted = commands_.wanted_memory(end_ - begin_);
    if (wanted > 0 && !memory_.take(wanted)) {
      co_await answer_pending();
      const bool gets_room = co_await wait_for_room_of_body(wanted);
      if (quits_) break;
      if (!gets_room) commands_.discard_body();
    }
    auto [used, what] = commands_.parse(unread());
    begin_ += used;
    if (what) {
      if (const duration wait = time_to_turn(*what); wait > rate_limits::longest_turn) {
        co_await answer_pending();
        out_ += reply::out_of_memory;
        drops_ = true;
        break;
      } else if (wait > duration::zero()) {
        co_await wait_for_turn(wait);
        if (quits_ || peer_.is_closed() || memory_.is_closed()) break;
      }
      if (!begin(*what)) co_await answer(*what);
      note_memory();
      if (out_.size() < few_answers || (out_.size() < many_answers && !server_.memory.is_full())) continue;
    } else {
      if (!puts_.empty()) co_await answer_puts();
      if (delete_) co_await answer_delete();
      note_memory();
    }
    bool written = true;
    if (!out_.empty()) written = co_await write_answers();
    if (!written) break;
    if (what) continue;
    const reading more = co_await read_more(true);
    if (more == reading::ended) break;
  }
  co_await answer_pending();
}

duration session::time_to_turn(const event& what) {
  if (server_.rates == nullptr || !server_.rates->have_limit()) return duration::zero();
  // The body of a put comes as a second event.
  const bool has_begun = std::holds_alternative<put>(what) || std::holds_alternative<body_discarded>(what) ||
                         std::holds_alternative<body_without_crlf>(what);
  if (has_begun) return duration::zero();
  return server_.rates->take_ahead(source_, client_.allowed().id(), runtime::now());
}

task<> session::wait_for_turn(duration wait) {
  const instant turn = runtime::now() + wait;
  co_await answer_pending();
  note_memory();
  const bool written = co_await write_answers();
  if (!written) quits_ = true;
  memory_.waits_for_client(true);  // it may be closed for what it holds
  while (!quits_ && runtime::now() < turn && !peer_.is_closed() && !memory_.is_closed()) {
    co_await runtime::sleep(std::min(turn - runtime::now(), longest_sleep));
  }
  memory_.waits_for_client(false);
}

void session::on(const unknown_command& what) {
  if (what.is_sign_in) forget_read_bytes();
  out_ += reply::unknown_command;
}

void session::on(const http_request&) {
  out_ += reply::http;
  drops_ = quits_ = true;
}

void session::on(const tls_record&) {
  out_ += reply::unknown_command;
  drops_ = quits_ = true;
}

void session::become_worker() noexcept {
  if (!has_reserved_) ++server_.workers;
  has_reserved_ = true;
}

void session::rewind() noexcept {
  if (begin_ == end_) begin_ = end_ = forgotten_ = 0;
}

bool session::has_room() noexcept {
  rewind();
  return end_ < buffer_.size() || begin_ > 0 || buffer_.size() < largest_waiting_buffer;
}

void session::forget_read_bytes() noexcept {
  ::explicit_bzero(buffer_.data() + forgotten_, begin_ - forgotten_);
  ::explicit_bzero(buffer_.data() + end_, written_ - end_);
  forgotten_ = begin_;
  written_ = end_;
}

task<session::reading> session::read_more(bool trims) {
  if (memory_.is_closed()) client_has_closed_ = true;
  if (client_has_closed_) co_return reading::ended;
  rewind();
  if (end_ == buffer_.size()) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = forgotten_ = 0;
    } else {
      const std::size_t larger = std::min(4 * buffer_.size(), largest_waiting_buffer);
      room got = room::taken;
      if (!memory_.take(larger)) got = co_await memory_.wait(larger);
      if (got == room::stopped) co_return reading::woken;
      client_has_closed_ = got != room::taken;
      if (client_has_closed_) co_return reading::ended;
      buffer_.resize(larger);
      note_memory();
    }
  }
  const std::span<char> space = std::span(buffer_).subspan(end_);
  const bool may_trim = trims && buffers() > held_memory::allowance;
  const instant patience_ends = trims ? end_of_patience() : instant::never();
  const instant looks_at = may_trim ? std::min(patience_ends, runtime::now() + idle_time) : patience_ends;
  const bool is_timed = looks_at != instant::never();
  if (is_timed) peer_.set_read_deadline(looks_at);
  memory_.waits_for_client(true);
  const auto got = co_await peer_.read_some(space);
  memory_.waits_for_client(false);
  if (is_timed) peer_.set_read_deadline(instant::never());
  if (!got && got.error() == runtime::io_errc::deadline_exceeded) {
    if (runtime::now() >= patience_ends) {
      close_slow("has begun a command and sent nothing more of it");
      client_has_closed_ = true;
      co_return reading::ended;
    }
    if (may_trim) trim_buffers();
    co_return reading::woken;
  }
  client_has_closed_ = !got || *got == 0;
  if (client_has_closed_) co_return reading::ended;
  silent_since_ = instant::never();
  end_ += *got;
  written_ = std::max(written_, end_);
  memory_.moved(*got);
  // A client that sends much at once gets a larger buffer.
  if (*got == space.size() && begin_ == 0 && buffer_.size() < largest_buffer && memory_.take(3 * buffer_.size())) {
    buffer_.resize(4 * buffer_.size());
  }
  co_return reading::data;
}

instant session::end_of_patience() {
  const bool has_begun = begin_ != end_ || !commands_.between_commands();
  if (!has_begun || server_.patience == duration::forever()) return instant::never();
  if (silent_since_ == instant::never()) silent_since_ = runtime::now();
  return silent_since_ + server_.patience;
}

void session::close_slow(std::string_view what) {
  ++server_.slow_clients;
  const std::string from = shown_address(peer_.peer_address());
  peer_.close();  // so that nothing waits for this client once more
  if (server_.log == nullptr) return;
  server_.log->warning("slow clients",
                       fmt::format("close the connection from {}: its client {} for {}, the limit of --client-timeout",
                                   from, what, to_string(server_.patience)),
                       between_slow_clients);
}

void session::before_write() {
  if (server_.patience != duration::forever()) peer_.set_write_deadline(server_.patience);
  memory_.waits_for_client(true);
}

void session::note_written(const runtime::or_error<std::size_t>& sent) {
  memory_.waits_for_client(false);
  if (sent) {
    memory_.moved(*sent);
  } else if (server_.patience != duration::forever() && sent.error() == runtime::io_errc::deadline_exceeded) {
    close_slow("has taken nothing of its answers");
  }
}

task<bool> session::write_answers() {
  if (out_.empty()) co_return true;
  before_write();
  const auto sent = co_await peer_.write_some(out_);
  note_written(sent);
  bool written = sent && *sent == out_.size();
  if (sent && !written) written = co_await write_text(std::string_view(out_).substr(*sent));
  out_.clear();
  if (out_.capacity() > 2 * many_answers) out_.shrink_to_fit();
  co_return written;
}

task<bool> session::write_text(std::string_view text) {
  while (!text.empty()) {
    before_write();
    const auto sent = co_await peer_.write_some(text);
    note_written(sent);
    if (!sent) break;
    text.remove_prefix(*sent);
  }
  co_return text.empty();
}

void session::trim_buffers() {
  std::string().swap(out_);  // an assignment would keep the memory
  if (begin_ == end_) {
    rewind();
    buffer_ = std::vector<char, wiping_allocator<char>>(first_buffer);
    written_ = 0;
  }
  note_memory();
}

task<bool> session::wait_for_room(std::size_t bytes) {
  const bool written = co_await write_answers();
  room got = room::closed;
  if (written) {
    trim_buffers();  // while it waits, its buffers must not take room from others, nor be a reason to close it
    got = co_await memory_.wait(bytes);
  }
  if (got == room::closed) quits_ = true;
  co_return got == room::taken;
}

task<bool> session::take_room(std::size_t bytes) {
  bool gets_room = memory_.take(bytes);
  if (!gets_room) gets_room = co_await wait_for_room(bytes);
  if (!gets_room) out_ += reply::out_of_memory;
  co_return gets_room;
}

task<bool> session::wait_for_room_of_body(std::size_t bytes) {
  const std::size_t whole = commands_.wanted_memory_of_body();
  const bool is_small = whole <= server_.memory.most() / part_of_one_body;
  const bool gets_room = co_await wait_for_room(is_small ? whole : bytes);
  co_return gets_room && (!is_small || commands_.reserve_body());
}

bool session::begin(event& what) {
  if (const std::optional<verb> which = counted(what)) server_.count(*which);
  if (const auto* const line = std::get_if<put_line>(&what)) {
    put_is_extended_ = line->extended;
    return !delete_;
  }
  if (auto* const whole = std::get_if<put>(&what)) {
    refusal_ = begin_put(*whole);
    return refusal_.empty() && puts_.size() < many_puts && bytes_in_puts_ < many_bytes_in_puts;
  }
  const auto* const ended = std::get_if<delete_job>(&what);
  if (ended == nullptr || !puts_.empty() || delete_ || !client_.held(ended->id)) return false;
  out_ += refusal_by_calling([&] { delete_.emplace(client_, ended->id); });
  return true;
}

task<> session::answer(event& what) {
  const bool is_reserve = std::holds_alternative<reserve>(what) || std::holds_alternative<reserve_with_timeout>(what);
  // The line of a put has no answer of its own, and the puts before it go on being handed over with it.
  if (!puts_.empty() && !std::holds_alternative<put_line>(what)) co_await answer_puts();
  if (delete_ && !is_reserve) co_await answer_delete();
  auto answering = std::visit(
      [this]<class Event>(Event& each) -> task<> {
        if constexpr (std::is_void_v<decltype(on(each))>) {
          on(each);
          return {};
        } else {
          return on(each);
        }
      },
      what);
  if (!answering) co_return;
  std::string_view refusal;
  try {
    co_await answering;
  } catch (const jobs::broker_full&) {
    refusal = reply::out_of_memory;
  } catch (const jobs::store_unavailable& why) {
    refusal = refusal_of(why);
  } catch (const access_refused& why) {
    refusal = why.why() == access_refused::reason::delivered ? reply::has_target : reply::forbidden;
  } catch (const std::invalid_argument&) {
    refusal = reply::bad_format;  // a value that the protocol allows and a store does not
  }
  out_ += refusal;
}

std::string_view session::begin_put(put& what) {
  if (!has_put_) ++server_.producers;
  has_put_ = true;
  if (server_.draining) return reply::draining;
  what.job.tube = used_->name;
  bytes_in_puts_ += jobs::content_bytes(what.job);
  return refusal_by_calling([&] { puts_.emplace_back(client_, std::move(what.job), put_is_extended_); });
}

/// The puts before it have been answered.
void session::on(const put&) {
  bytes_in_puts_ = 0;
  out_ += std::exchange(refusal_, std::string_view());
}

task<> session::answer_pending() {
  if (!puts_.empty()) co_await answer_puts();
  if (delete_) co_await answer_delete();
}

task<> session::answer_puts() {
  using kind = jobs::put_answer::kind;
  while (!puts_.empty()) {
    pending_put& first = puts_.front();
    jobs::put_answer put;
    std::string_view refusal;
    try {
      put = co_await first.answer;
    } catch (const jobs::store_unavailable& why) {
      refusal = refusal_of(why);
    }
    puts_.pop_front();
    out_ += refusal;
    if (!refusal.empty()) continue;
    switch (put.what) {
      case kind::inserted: write_number(out_, numbered_reply::inserted, put.id); break;
      case kind::replaced: write_number(out_, numbered_reply::replaced, put.id); break;
      case kind::kept: write_number(out_, numbered_reply::kept, put.id); break;
      case kind::exists: write_number(out_, numbered_reply::exists, put.id); break;
      case kind::reserved: write_number(out_, numbered_reply::is_reserved, put.id); break;
      case kind::no_space: out_ += reply::out_of_memory; break;
      case kind::other_version:
      case kind::other_request: out_ += reply::internal_error; break;  // no put here expects a version, or happens once
    }
    if (put.what != kind::inserted && put.what != kind::replaced) continue;
    ++server_.total_jobs;
    ++used_->total_jobs;
  }
  bytes_in_puts_ = 0;
}

task<> session::answer_delete() {
  const jobs::job_id id = delete_->id;
  jobs::holder_answer ended;
  std::string_view refusal;
  try {
    ended = co_await delete_->answer;
  } catch (const jobs::store_unavailable& why) {
    refusal = refusal_of(why);
  }
  delete_.reset();
  out_ += refusal;
  if (!refusal.empty()) co_return;
  shared_record tube;
  const auto known = held_.find(id);
  if (ended.what == jobs::holder_answer::kind::done && known != held_.end()) tube = known->second.lock();
  say_held(ended, id, reply::deleted);
  if (tube == nullptr) co_return;
  ++tube->deletes;
  if (!has_clients(*tube)) co_await end_if_unused(std::move(tube));
}

task<jobs::reserve_answer> session::reserve_beside_delete() {
  jobs::reserve_answer got;
  try {
    got = co_await client_.reserve(duration::zero());
  } catch (const jobs::broker_full&) {
    // The reserve after the delete reports it, if it lasts.
  } catch (const access_refused&) {
    // As above.
  } catch (const jobs::store_unavailable&) {
    // As above.
  }
  co_return got;
}

task<> session::reserve_one(std::optional<duration> timeout) {
  using kind = jobs::reserve_answer::kind;
  become_worker();
  jobs::reserve_answer got;
  if (server_.memory.is_full()) {
    if (delete_) co_await answer_delete();
    const bool gets_room = co_await wait_for_room(room_of_reserve);
    if (!gets_room) {
      out_ += reply::out_of_memory;
      co_return;
    }
    note_memory();  // the room was there: this is enough, while the reserve may wait for long
  }
  if (delete_) {
    got = co_await reserve_beside_delete();
    co_await answer_delete();
  }
  if (got.what != kind::reserved) {
    try {
      got = co_await client_.reserve(duration::zero());
    } catch (const jobs::store_unavailable&) {
      if (timeout == duration::zero()) throw;
      // The reserve waits, like those that came before the store was unavailable.
    }
    const bool waits = got.what == kind::timed_out && timeout != duration::zero();
    if (waits) got = co_await wait_for_job(timeout);
  }
  switch (got.what) {
    case kind::reserved: say_reserved(*got.job); break;
    case kind::timed_out: out_ += reply::timed_out; break;
    case kind::deadline_soon: out_ += reply::deadline_soon; break;
  }
}

task<jobs::reserve_answer> session::wait_for_job(std::optional<duration> timeout) {
  // The answers to earlier commands must not wait for the job.
  const bool written = co_await write_answers();
  if (!written || client_has_closed_) co_return jobs::reserve_answer{};
  auto waiting = runtime::spawn(reserve_and_wake(client_, peer_, memory_, timeout), "a waiting reserve");
  std::exception_ptr failure;
  try {
    while (!waiting.done() && !client_has_closed_) {
      static_cast<void>(co_await read_more(false));
      // Without room the session cannot read on, and so would not see the client go away: it counts as gone.
      if (!has_room()) client_has_closed_ = true;
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure != nullptr || client_has_closed_) waiting.request_stop();
  jobs::reserve_answer got;
  try {
    got = co_await waiting.join_without_cancellation();
  } catch (const runtime::cancelled&) {
    // `got` is TIMED_OUT, which is what beanstalkd answers to a client that has closed its side
  } catch (...) {
    if (failure == nullptr) failure = std::current_exception();
  }
  memory_.allow_waiting();
  peer_.set_read_deadline(instant::never());  // before anything is thrown: a session may go on after a refusal
  if (failure != nullptr) std::rethrow_exception(failure);
  co_return got;
}

bool session::has_clients(const tube_record& tube) const {
  const jobs::tube_clients clients = server_.brokers.clients_of(tube.name);
  return clients.users > 0 || clients.watchers > 0;
}

task<> session::end_if_unused(shared_record tube) {
  if (tube == nullptr) co_return;
  const std::uint64_t uses = tube->uses;
  if (has_clients(*tube)) co_return;
  if (server_.brokers.has_other_nodes()) {
    server_.tubes.end(tube, uses);
    co_return;
  }
  try {
    const bool is_needed = co_await has_jobs(tube->name);
    if (!is_needed) server_.tubes.end(tube, uses);
  } catch (const jobs::broker_full&) {
    // The command has been answered: the tube stays until its next use ends.
  } catch (const jobs::store_unavailable&) {
    // As above.
  }
}

task<bool> session::has_jobs(std::string_view tube) {
  auto counting = client_.execute_for_server(jobs::count_tube{std::string(tube)});
  const jobs::count_answer seen = co_await counting;
  co_return seen.counts.all() > 0 || seen.what == jobs::count_answer::kind::cut_short;
}

task<> session::leave_tubes() {
  client_.use_none();
  co_await end_if_unused(used_.release());
  while (!watched_.empty()) {
    held_tube last = std::move(watched_.back());
    watched_.pop_back();
    client_.ignore(last->name);
    co_await end_if_unused(last.release());
  }
}

// The other commands: each is answered before the next one is read.

void session::on(const body_discarded& what) {
  out_ += what.why == body_discarded::reason::too_big ? reply::job_too_big : reply::out_of_memory;
}

task<> session::on(const use& what) {
  client_.check_use(what.tube);
  held_tube next = server_.tubes.hold(what.tube, server_.max_tubes);
  bool is_full = !next;
  try {
    if (!is_full) client_.use(what.tube);
  } catch (const jobs::broker_full&) {
    is_full = true;
  }
  if (is_full) {
    out_ += reply::out_of_memory;
  } else {
    std::swap(used_, next);
    write_using(out_, used_->name);
  }
  co_await end_if_unused(next.release());
}

task<> session::on(const watch& what) {
  client_.check_watch(what.tube);
  const auto is_that = [&](const held_tube& each) { return each->name == what.tube; };
  if (std::ranges::none_of(watched_, is_that)) {
    bool gets_room = memory_.take(bytes_of_watch);
    if (!gets_room) gets_room = co_await wait_for_room(bytes_of_watch);
    held_tube added;
    if (gets_room && watched_.size() < most_watched && keep_watches(watched_.size() + 1)) {
      added = server_.tubes.hold(what.tube, server_.max_tubes);
    }
    bool is_full = !added;
    try {
      if (!is_full) client_.watch(what.tube);
    } catch (const jobs::broker_full&) {
      is_full = true;
    }
    if (is_full) {
      static_cast<void>(keep_watches(watched_.size()));
      out_ += reply::out_of_memory;
      co_await end_if_unused(added.release());
      co_return;
    }
    watched_.push_back(std::move(added));
  }
  write_number(out_, numbered_reply::watching, watched_.size());
}

task<> session::on(const ignore& what) {
  const auto is_that = [&](const held_tube& each) { return each->name == what.tube; };
  const auto found = std::ranges::find_if(watched_, is_that);
  if (found == watched_.end()) {
    write_number(out_, numbered_reply::watching, watched_.size());
    co_return;
  }
  if (watched_.size() == 1) {
    out_ += reply::not_ignored;
    co_return;
  }
  std::swap(*found, watched_.back());
  held_tube ignored = std::move(watched_.back());
  watched_.pop_back();
  static_cast<void>(keep_watches(watched_.size()));
  client_.ignore(ignored->name);
  write_number(out_, numbered_reply::watching, watched_.size());
  co_await end_if_unused(ignored.release());
}

task<> session::on(const reserve_job& what) {
  bool gets_room = memory_.take(2 * server_.max_job_size);
  if (!gets_room) gets_room = co_await wait_for_room(2 * server_.max_job_size);
  if (!gets_room) {
    out_ += reply::out_of_memory;
    co_return;
  }
  auto reserving = client_.execute(jobs::claim_job{what.id});
  const jobs::claim_answer got = co_await reserving;
  if (got.jobs.empty()) {
    out_ += got.what == jobs::claim_answer::kind::no_space ? reply::out_of_memory : reply::not_found;
  } else {
    become_worker();
    say_reserved(got.jobs.front());
  }
}

task<> session::on(const delete_job& what) {
  if (client_.held(what.id)) {  // and another command was with the broker: see begin()
    delete_.emplace(client_, what.id);
    co_return;
  }
  // With a look for its tube, whose record counts deletes.
  auto ending = client_.execute_and_look(jobs::cancel{what.id});
  const auto ended = co_await ending;
  const bool is_done = ended.changed.what == jobs::change_answer::kind::done;
  out_ += is_done                                                     ? reply::deleted
          : ended.changed.what == jobs::change_answer::kind::no_space ? reply::out_of_memory
                                                                      : reply::not_found;
  shared_record tube;
  if (is_done && ended.seen.job) tube = server_.tubes.find(ended.seen.job->tube);
  if (tube == nullptr) co_return;
  ++tube->deletes;
  co_await end_if_unused(std::move(tube));
}

task<> session::on(const release& what) {
  auto releasing = client_.release(what.id, what.priority, what.delay);
  const jobs::holder_answer released = co_await releasing;
  say_held(released, what.id, reply::released);
}

task<> session::on(const bury& what) {
  auto burying = client_.bury(what.id, what.priority);
  const jobs::holder_answer buried = co_await burying;
  say_held(buried, what.id, reply::buried);
}

task<> session::on(const touch& what) {
  auto touching = client_.touch(what.id);
  const jobs::holder_answer touched = co_await touching;
  out_ += touched.what == jobs::holder_answer::kind::done ? reply::touched : reply::not_found;
}

template <class Look>
task<> session::show(Look what) {
  // The body comes from the store, and is copied behind the answers.
  bool gets_room = memory_.take(2 * server_.max_job_size);
  if (!gets_room) gets_room = co_await wait_for_room(2 * server_.max_job_size);
  if (!gets_room) {
    out_ += reply::out_of_memory;
    co_return;
  }
  auto looking = client_.execute(std::move(what));
  const jobs::peek_answer seen = co_await looking;
  if (seen.job) {
    write_found(out_, seen.job->id, seen.job->body);
  } else {
    out_ += reply::not_found;
  }
}

template task<> session::show(jobs::peek what);
template task<> session::show(jobs::peek_first what);

task<> session::on(const kick& what) {
  // In pieces, so that the other clients need not wait for all of them. A kick takes buried jobs if there are some,
  // else delayed ones, never both. If another client has taken all the buried jobs after the count, the kick counts
  // again.
  std::uint64_t kicked = 0;
  bool is_full = false;
  bool is_told = false;  // to operators, who want to hear of it once
  client_.check(jobs::kick{used_->name});
  for (int look = 1; look <= 2; ++look) {
    auto counting = client_.execute_for_server(jobs::count_tube{used_->name});
    const jobs::count_answer before = co_await counting;
    const bool takes_buried = before.counts.buried > 0;
    std::uint64_t left = what.count;
    if (before.what == jobs::count_answer::kind::done) {
      left = std::min<std::uint64_t>(left, takes_buried ? before.counts.buried : before.counts.delayed);
    }
    for (bool goes_on = left > 0; goes_on;) {
      const std::uint64_t piece = std::min(left, jobs_of_a_piece);
      jobs::kick next{used_->name, piece, takes_buried ? jobs::job_state::buried : jobs::job_state::delayed};
      auto kicking = is_told ? client_.execute_further(std::move(next)) : client_.execute(std::move(next));
      is_told = true;
      jobs::bulk_answer some;
      try {
        some = co_await kicking;
      } catch (const jobs::store_unavailable& why) {
        if (why.is_in_doubt() || kicked == 0) throw;
        break;  // the answer has the number of those that have been kicked
      }
      kicked += some.changed;
      left -= some.changed;
      goes_on = some.changed == piece && left > 0;
      is_full = some.what == jobs::bulk_answer::kind::no_space;
    }
    if (kicked > 0 || is_full || !takes_buried) break;
  }
  if (is_full && kicked == 0) {
    out_ += reply::out_of_memory;
  } else {
    write_number(out_, numbered_reply::kicked, kicked);
  }
}

task<> session::on(const kick_job& what) {
  auto kicking = client_.execute(jobs::kick_job{what.id});
  const jobs::change_answer kicked = co_await kicking;
  out_ += kicked.what == jobs::change_answer::kind::done       ? reply::kicked
          : kicked.what == jobs::change_answer::kind::no_space ? reply::out_of_memory
                                                               : reply::not_found;
}

task<> session::on(const pause_tube& what) {
  jobs::pause pause{std::string(what.tube), what.length};
  client_.check(pause);  // before it is told whether there is such a tube
  const shared_record tube = server_.tubes.find(what.tube);
  bool lives = tube != nullptr;
  if (!lives && server_.brokers.has_other_nodes()) lives = co_await has_jobs(what.tube);
  if (!lives) {
    out_ += reply::not_found;
    co_return;
  }
  auto pausing = client_.execute(std::move(pause));
  co_await pausing;
  out_ += reply::paused;
  if (tube == nullptr) co_return;
  ++tube->pauses;
  tube->pause_seconds = std::chrono::floor<std::chrono::seconds>(what.length).count();
}

task<> session::on(const stats&) {
  const bool is_shared = server_.brokers.has_other_nodes();
  std::optional<jobs::job_counts> counts;
  std::optional<std::uint64_t> tubes;
  client_.check(jobs::list_tubes{});
  const bool sees_all = client_.allowed().has_all_tubes();  // others learn about the server itself alone
  try {
    if (sees_all) {
      auto counting = client_.execute(jobs::count_all{});
      const jobs::count_answer all = co_await counting;
      if (all.what == jobs::count_answer::kind::done) counts = all.counts;
    }
    if (sees_all && is_shared && memory_.take(bytes_of_next_list())) {  // it does not wait for room
      const auto living = co_await list_of_all_nodes();
      tubes = living->entries();
    }
  } catch (const jobs::store_unavailable&) {
    // When the store does not answer, clients need the rest of the statistics most.
  }
  server_statistics shown = server_.statistics();
  shown.tells_of_all_clients = sees_all;
  shown.counts = counts;
  if (is_shared) shown.current_tubes = tubes;
  write_statistics(out_, shown);
}

task<> session::on(const stats_job& what) {
  auto looking = client_.execute(jobs::peek{what.id, false});
  const jobs::peek_answer seen = co_await looking;
  if (seen.job) {
    write_statistics(out_, statistics_of(*seen.job, seen.now));
  } else {
    out_ += reply::not_found;
  }
}

task<> session::on(const extended_stats_job& what) {
  auto looking = client_.execute(jobs::peek{name_of(what.job), false});
  const jobs::peek_answer seen = co_await looking;
  if (seen.job) {
    const std::size_t bytes = seen.job->fields.bytes().size() + seen.job->history.bytes().size();
    if (bytes != 0) {  // as bytes, as digits, and behind the answers
      const bool gets_room = co_await take_room(5 * bytes);
      if (!gets_room) co_return;
    }
    extended_job_statistics shown;
    shown.job = statistics_of(*seen.job, seen.now);
    shown.key = seen.job->key;
    shown.due = seen.job->due;
    shown.ttr = seen.job->ttr;
    shown.fields = seen.job->fields;
    shown.history = seen.job->history;
    write_statistics(out_, shown);
  } else {
    out_ += reply::not_found;
  }
}

task<> session::on(const stats_tube& what) {
  client_.check(jobs::count_tube{std::string(what.tube)});  // before it is told whether there is such a tube
  const shared_record tube = server_.tubes.find(what.tube);
  if (tube == nullptr && !server_.brokers.has_other_nodes()) {
    out_ += reply::not_found;
    co_return;
  }
  auto counting = client_.execute(jobs::count_tube{std::string(what.tube)});
  const jobs::count_answer seen = co_await counting;
  const bool is_counted = seen.what == jobs::count_answer::kind::done;
  if (tube == nullptr && seen.counts.all() == 0 && is_counted) {
    out_ += reply::not_found;
    co_return;
  }
  const jobs::tube_clients clients = server_.brokers.clients_of(what.tube);
  tube_statistics shown;
  shown.name = what.tube;
  if (is_counted) shown.counts = seen.counts;
  shown.using_it = clients.users;
  shown.watching_it = clients.watchers;
  shown.waiting = clients.waiting;
  if (tube != nullptr) {
    shown.total_jobs = tube->total_jobs;
    shown.deletes = tube->deletes;
    shown.pauses = tube->pauses;
    shown.pause = std::chrono::seconds(tube->pause_seconds);
  }
  if (seen.paused_until.is_never()) {
    shown.pause = std::chrono::seconds::zero();
  } else {
    shown.pause_left = whole_seconds(seen.paused_until - monotonic_clock::instance().now());
    shown.pause = std::max(shown.pause, shown.pause_left);  // another node may have paused it
  }
  write_statistics(out_, shown);
}

template <class Change>
task<> session::change(Change what, numbered_reply done) {
  auto changing = client_.execute(std::move(what));
  const jobs::change_answer changed = co_await changing;
  say_changed(changed, done);
}

void session::say_changed(const jobs::change_answer& changed, numbered_reply done) {
  using kind = jobs::change_answer::kind;
  switch (changed.what) {
    case kind::done: write_number(out_, done, changed.id); break;
    case kind::reserved: write_number(out_, numbered_reply::is_reserved, changed.id); break;
    case kind::refused:
    case kind::gone: out_ += reply::gone; break;
    case kind::no_space: out_ += reply::out_of_memory; break;
    case kind::other_version: out_ += reply::internal_error; break;  // no change here expects a version
  }
}

task<> session::on(const cancel& what) {
  // With a look for its tube, which may end with the job.
  auto cancelling = client_.execute_after_look(jobs::cancel{name_of(what.job)});
  const auto cancelled = co_await cancelling;
  say_changed(cancelled.changed, numbered_reply::cancelled);
  if (cancelled.seen.job) co_await end_if_unused(server_.tubes.find(cancelled.seen.job->tube));
}

task<> session::on(const reschedule& what) {
  return change(jobs::reschedule{name_of(what.job), what.due}, numbered_reply::rescheduled);
}

task<> session::on(const fire_now& what) { return change(jobs::fire_now{name_of(what.job)}, numbered_reply::fired); }

jobs::job_name session::name_of(const job_reference& job) const {
  if (const auto* const id = std::get_if<jobs::job_id>(&job)) return *id;
  return jobs::job_key{used_->name, std::string(std::get<std::string_view>(job))};
}

void session::say_reserved(const jobs::claimed_job& got) {
  forget_ended_reservations();
  // Where other nodes have clients, too, a record lives only while a client here uses or watches its tube.
  const bool is_shared = server_.brokers.has_other_nodes();
  held_.insert_or_assign(got.job.id, is_shared ? server_.tubes.find(got.job.tube) : server_.tubes.obtain(got.job.tube));
  write_reserved(out_, got.job.id, got.job.body);
}

void session::say_held(const jobs::holder_answer& what, jobs::job_id id, std::string_view done) {
  using kind = jobs::holder_answer::kind;
  out_ += what.what == kind::done ? done : what.what == kind::no_space ? reply::out_of_memory : reply::not_found;
  if (what.what == kind::done) held_.erase(id);
}

void session::forget_ended_reservations() {
  if (held_.size() < 2 * client_.reservations() + many_ended_reservations) return;
  std::erase_if(held_, [this](const auto& each) { return !client_.held(each.first); });
}

// The lists. Sessions that ask for the list of the tubes at the same time read it from the same memory.

task<> session::on(const list_tubes&) {
  client_.check(jobs::list_tubes{});
  if (!client_.allowed().has_all_tubes()) {
    co_await list_allowed_tubes();
    co_return;
  }
  const std::size_t wanted = bytes_of_next_list();
  bool gets_room = memory_.take(wanted);
  if (!gets_room) gets_room = co_await wait_for_room(wanted);
  if (!gets_room) {
    out_ += reply::out_of_memory;
    co_return;
  }
  std::shared_ptr<const shared_text> list;
  if (server_.brokers.has_other_nodes()) {
    list = co_await list_of_all_nodes();
  } else {
    list = server_.tubes.list(server_.memory);
  }
  note_memory();  // the room is free again: the list counts where it is kept
  co_await send_list(std::move(list));
}

task<> session::list_allowed_tubes() {
  const bool gets_room = co_await take_room(4 * server_.tubes.bytes_of_list());  // as below
  if (!gets_room) co_return;
  std::vector<std::string> names = server_.tubes.names();
  std::erase_if(names, [this](const std::string& each) { return !client_.allowed().has_tube(each); });
  if (server_.brokers.has_other_nodes()) {
    const bool is_whole = co_await add_allowed_tubes_of_store(names);
    if (!is_whole) co_return;
  }
  write_tubes(out_, names);
}

task<bool> session::add_allowed_tubes_of_store(std::vector<std::string>& names) {
  const std::set<std::string> here(names.begin(), names.end());
  jobs::list_tubes page{.count = jobs::most_listed};
  for (int pages = 0; pages < most_pages_of_list; ++pages) {
    auto listing = client_.execute(page);
    jobs::tubes_answer listed = co_await listing;
    std::size_t size = 0;
    for (const std::string& each : listed.tubes) size += size_in_list(each);
    const bool gets_room = co_await take_room(4 * size);
    if (!gets_room) co_return false;
    for (std::string& each : listed.tubes) {
      if (!here.contains(each)) names.push_back(std::move(each));
    }
    if (listed.next.empty()) co_return true;
    page.after = std::move(listed.next);
  }
  out_ += reply::internal_error;
  co_return false;
}

task<> session::on(const list_tubes_watched&) {
  std::size_t size = 0;
  for (const held_tube& each : watched_) size += size_in_list(each->name);
  bool gets_room = memory_.take(4 * size);  // as names, as a text, and behind the answers
  if (!gets_room) gets_room = co_await wait_for_room(4 * size);
  if (!gets_room) {
    out_ += reply::out_of_memory;
    co_return;
  }
  std::vector<std::string> names;
  names.reserve(watched_.size());
  for (const held_tube& each : watched_) names.push_back(each->name);
  write_tubes(out_, names);
}

/// A short list is copied behind the answers. The pieces of a long one are written from where all its readers have
/// them.
task<> session::send_list(std::shared_ptr<const shared_text> list) {
  write_list_begin(out_, list->size());
  const bool is_short = list->size() < held_memory::allowance / 2;
  bool written = true;
  if (!is_short) {
    memory_.show(list);
    written = co_await write_answers();
  }
  for (const shared_piece& each : list->pieces()) {
    if (is_short) out_ += each->text();
    if (!is_short && written) written = co_await write_text(each->text());
  }
  list.reset();
  memory_.hide();
  out_ += list_end;
  if (!written) quits_ = true;
}

task<std::vector<std::string>> session::living_tubes() {
  std::vector<std::string> names = server_.tubes.names();
  if (!server_.brokers.has_other_nodes()) co_return names;
  auto listing = client_.execute_for_server(jobs::list_tubes{});  // for all clients: each gets what it may see
  jobs::tubes_answer stored = co_await listing;
  const std::set<std::string> here(names.begin(), names.end());
  for (std::string& each : stored.tubes) {
    if (!here.contains(each) && !is_of_server(each)) names.push_back(std::move(each));
  }
  co_return names;
}

std::size_t session::bytes_of_next_list() const {
  const std::size_t here = server_.tubes.bytes_of_list();
  if (!server_.brokers.has_other_nodes()) return here;
  // The names are strings before they are a list: those of this node, those of the store, and both together.
  return 4 * std::max(here, server_.list_of_store.bytes.load(seam::relaxed));
}

/// The store is asked after this session has taken its ticket, or was asked after that by another session: then the
/// list has every tube that lived when the command came.
task<std::shared_ptr<const shared_text>> session::list_of_all_nodes() {
  stored_list& known = server_.list_of_store;
  const std::uint64_t ticket = ++known.tickets;
  const runtime::task_lock turn = co_await known.turn.lock();
  if (known.as_of >= ticket && known.failure == nullptr) {
    if (auto latest = known.latest.lock()) co_return latest;
  }
  if (known.as_of >= ticket && known.failed_broker == &broker_) std::rethrow_exception(known.failure);
  const std::uint64_t as_of = known.tickets;
  std::vector<std::string> names;
  try {
    names = co_await living_tubes();
  } catch (const jobs::store_unavailable& why) {
    // A failure in doubt ends the session that gets it. The others do not take it over: they ask again.
    if (!why.is_in_doubt()) {
      known.failure = std::current_exception();
      known.failed_broker = &broker_;
      known.as_of = as_of;
    }
    throw;
  }
  auto list = make_list(server_.memory, names);
  known.bytes.store(list->size(), seam::relaxed);
  known.latest = list;
  known.failure = nullptr;
  known.failed_broker = nullptr;
  known.as_of = as_of;
  co_return list;
}

}  // namespace foliot::program::beanstalk
