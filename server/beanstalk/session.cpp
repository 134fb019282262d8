#include "session.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <variant>

#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/spawn.hpp>

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

/// How much is read and dropped of a client that speaks another protocol, and for how long.
constexpr std::size_t most_dropped = 1'048'576;
constexpr duration most_time_for_dropped = std::chrono::seconds(1);

task<> nothing() { co_return; }

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

/// The answer to a command that the store has not executed. Rethrows a failure in doubt: no answer is known to be true.
std::string_view refusal_of(const jobs::store_unavailable& why) {
  if (why.is_in_doubt()) throw why;
  return reply::internal_error;
}

task<jobs::reserve_answer> reserve_and_wake(jobs::client& by, byte_stream& peer, memory_holder& memory,
                                            std::optional<duration> timeout) {
  const wakes_reader at_the_end(peer, memory);
  jobs::reserve_answer got = co_await by.reserve(timeout);
  co_return got;
}

}  // namespace

session::session(server_state& server, byte_stream& peer)
    : server_(server),
      peer_(peer),
      memory_(server.memory, peer),
      broker_(server.brokers.for_next_connection()),
      client_(broker_),
      commands_(static_cast<std::uint32_t>(server.max_job_size)),
      buffer_(first_buffer),
      used_(server.tubes.hold("default")) {
  watched_.push_back(server.tubes.hold("default"));
  client_.use(used_->name);
  client_.watch(used_->name);
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
  if (is_foreign_) co_await drop_the_rest();
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
      co_await answer(*what);
      note_memory();
      if (out_.size() < few_answers || (out_.size() < many_answers && !server_.memory.is_full())) continue;
    } else {
      co_await answer_pending();
      note_memory();
    }
    const bool written = co_await write_answers();
    if (!written) break;
    if (what) continue;
    const reading more = co_await read_more(true);
    if (more == reading::ended) break;
  }
  co_await answer_pending();
}

void session::on(const http_request&) {
  out_ += reply::http;
  is_foreign_ = quits_ = true;
}

void session::on(const tls_record&) {
  out_ += reply::unknown_command;
  is_foreign_ = quits_ = true;
}

task<> session::drop_the_rest() {
  peer_.set_read_deadline(most_time_for_dropped);
  peer_.set_write_deadline(most_time_for_dropped);
  co_await peer_.close_write();
  for (std::size_t dropped = 0; dropped < most_dropped;) {
    const auto got = co_await peer_.read_some(std::span(buffer_));
    if (!got || *got == 0) co_return;
    dropped += *got;
  }
}

void session::become_worker() noexcept {
  if (!has_reserved_) ++server_.workers;
  has_reserved_ = true;
}

bool session::has_room() noexcept {
  if (begin_ == end_) begin_ = end_ = 0;
  return end_ < buffer_.size() || begin_ > 0 || buffer_.size() < largest_waiting_buffer;
}

task<session::reading> session::read_more(bool trims) {
  if (memory_.is_closed()) client_has_closed_ = true;
  if (client_has_closed_) co_return reading::ended;
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size()) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
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
  const bool is_timed = trims && buffers() > held_memory::allowance;
  if (is_timed) peer_.set_read_deadline(idle_time);
  memory_.waits_for_client(true);
  const auto got = co_await peer_.read_some(space);
  memory_.waits_for_client(false);
  if (is_timed) peer_.set_read_deadline(instant::never());
  if (!got && got.error() == runtime::io_errc::deadline_exceeded) {
    if (is_timed) trim_buffers();
    co_return reading::woken;
  }
  client_has_closed_ = !got || *got == 0;
  if (client_has_closed_) co_return reading::ended;
  end_ += *got;
  memory_.moved(*got);
  // A client that sends much at once gets a larger buffer.
  if (*got == space.size() && begin_ == 0 && buffer_.size() < largest_buffer && memory_.take(3 * buffer_.size())) {
    buffer_.resize(4 * buffer_.size());
  }
  co_return reading::data;
}

task<bool> session::write_answers() {
  if (out_.empty()) co_return true;
  memory_.waits_for_client(true);
  const auto sent = co_await peer_.write_some(out_);
  memory_.waits_for_client(false);
  bool written = sent && *sent == out_.size();
  if (sent) memory_.moved(*sent);
  if (sent && !written) written = co_await write_text(std::string_view(out_).substr(*sent));
  out_.clear();
  if (out_.capacity() > 2 * many_answers) out_.shrink_to_fit();
  co_return written;
}

task<bool> session::write_text(std::string_view text) {
  memory_.waits_for_client(true);
  while (!text.empty()) {
    const auto sent = co_await peer_.write_some(text);
    if (!sent) break;
    memory_.moved(*sent);
    text.remove_prefix(*sent);
  }
  memory_.waits_for_client(false);
  co_return text.empty();
}

void session::trim_buffers() {
  std::string().swap(out_);  // an assignment would keep the memory
  if (begin_ == end_) {
    begin_ = end_ = 0;
    buffer_ = std::vector<char>(first_buffer);
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

task<> session::answer(event& what) {
  if (const std::optional<verb> which = counted(what)) server_.count(*which);
  const bool is_put = std::holds_alternative<put>(what) || std::holds_alternative<put_line>(what);
  const bool is_reserve = std::holds_alternative<reserve>(what) || std::holds_alternative<reserve_with_timeout>(what);
  if (!is_put && !puts_.empty()) co_await answer_puts();
  if (!is_reserve && delete_) co_await answer_delete();
  auto answering = std::visit(
      [this]<class Event>(Event& each) -> task<> {
        if constexpr (std::is_void_v<decltype(on(each))>) {
          on(each);
          return nothing();
        } else {
          return on(each);
        }
      },
      what);
  std::string_view refusal;
  try {
    co_await answering;
  } catch (const jobs::broker_full&) {
    refusal = reply::out_of_memory;
  } catch (const jobs::store_unavailable& why) {
    refusal = refusal_of(why);
  } catch (const std::invalid_argument&) {
    refusal = reply::bad_format;  // a value that the protocol allows and a store does not
  }
  out_ += refusal;
}

task<> session::begin_put(put& what) {
  if (!has_put_) ++server_.producers;
  has_put_ = true;
  if (server_.draining) {
    co_await answer_puts();
    out_ += reply::draining;
    co_return;
  }
  what.job.tube = used_->name;
  bytes_in_puts_ += jobs::content_bytes(what.job);
  bool is_taken = true;
  try {
    puts_.emplace_back(client_, std::move(what.job), put_is_extended_);
  } catch (const jobs::broker_full&) {
    is_taken = false;
  }
  if (is_taken && puts_.size() < many_puts && bytes_in_puts_ < many_bytes_in_puts) co_return;
  co_await answer_puts();
  if (!is_taken) out_ += reply::out_of_memory;
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
  co_await end_if_unused(std::move(tube));
}

task<jobs::reserve_answer> session::reserve_beside_delete() {
  jobs::reserve_answer got;
  try {
    got = co_await client_.reserve(duration::zero());
  } catch (const jobs::broker_full&) {
    // The reserve after the delete reports it, if it lasts.
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
  if (got.what != kind::reserved) got = co_await reserve_now_or_later(timeout);
  switch (got.what) {
    case kind::reserved: say_reserved(*got.job); break;
    case kind::timed_out: out_ += reply::timed_out; break;
    case kind::deadline_soon: out_ += reply::deadline_soon; break;
  }
}

task<jobs::reserve_answer> session::reserve_now_or_later(std::optional<duration> timeout) {
  jobs::reserve_answer got;
  try {
    got = co_await client_.reserve(duration::zero());
  } catch (const jobs::store_unavailable&) {
    if (timeout == duration::zero()) throw;
    // The reserve waits, like those that came before the store was unavailable.
  }
  const bool waits = got.what == jobs::reserve_answer::kind::timed_out && timeout != duration::zero();
  if (waits) got = co_await wait_for_job(timeout);
  co_return got;
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

task<> session::end_if_unused(shared_record tube) {
  if (tube == nullptr) co_return;
  const std::uint64_t uses = tube->uses;
  const jobs::tube_clients clients = server_.brokers.clients_of(tube->name);
  if (clients.users > 0 || clients.watchers > 0) co_return;
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
  auto counting = client_.execute(jobs::count_tube{std::string(tube)});
  const jobs::count_answer seen = co_await counting;
  co_return seen.counts.all() > 0 || seen.what == jobs::count_answer::kind::cut_short;
}

task<> session::leave_tubes() {
  client_.use("");
  co_await end_if_unused(used_.release());
  while (!watched_.empty()) {
    held_tube last = std::move(watched_.back());
    watched_.pop_back();
    client_.ignore(last->name);
    co_await end_if_unused(last.release());
  }
}

}  // namespace foliot::program::beanstalk
