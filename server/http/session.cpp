#include "session.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "problem.hpp"

namespace foliot::program::http {

namespace {

constexpr std::size_t first_buffer = 2048;
constexpr std::size_t largest_buffer = 65'536;
/// While a request waits for jobs, its client is not expected to send anything.
constexpr std::size_t waiting_buffer = 64;
/// Responses of this size are written before the next request is parsed.
constexpr std::size_t many_answers = 65'536;
/// A body of this size is written from where it is.
constexpr std::size_t large_body = 16'384;
/// The slowest client, in bytes of a body for each second.
constexpr std::size_t least_rate = 16'384;
/// How long the end of a stream waits for its client.
constexpr duration time_for_last_chunk = duration::nanoseconds(1'000'000'000);
/// How long a client must be silent before its large buffers are given back.
constexpr duration silence = duration::nanoseconds(1'000'000'000);

/// Awaits a task, and then wakes the one that reads from the connection.
task<> run_and_wake(task<> what, byte_stream& peer) {
  class wakes_reader {
   public:
    explicit wakes_reader(byte_stream& of) noexcept : peer_(of) {}
    wakes_reader(const wakes_reader&) = delete;
    wakes_reader& operator=(const wakes_reader&) = delete;
    ~wakes_reader() {
      try {
        peer_.set_read_deadline(instant::earliest());
      } catch (...) {
        peer_.end_reading();  // no memory: the connection ends
      }
    }

   private:
    byte_stream& peer_;
  };
  const wakes_reader at_the_end(peer);
  co_await what;
}

duration time_for(std::size_t bytes) noexcept {
  return std::chrono::seconds(static_cast<std::int64_t>(bytes / least_rate));
}

std::chrono::sys_seconds seconds_now() { return std::chrono::floor<std::chrono::seconds>(runtime::wall_now()); }

}  // namespace

/// Writes the pieces of a body to the connection.
class session::chunk_writer final : public piece_writer {
 public:
  chunk_writer(byte_stream& peer, bool has_chunks, duration patience) noexcept
      : peer_(peer), has_chunks_(has_chunks), patience_(patience) {}

  task<bool> write(std::string_view piece) override {
    if (piece.empty()) co_return true;
    is_whole_ = false;
    std::string framed;
    if (has_chunks_) {
      append_chunk(framed, piece);
      piece = framed;
    }
    peer_.set_write_deadline(patience_ + time_for(piece.size()));
    const bool is_written = co_await write_all(peer_, piece);
    is_whole_ = is_written;
    co_return is_written;
  }

  /// Whether the last chunk may follow.
  [[nodiscard]] bool may_end() const noexcept { return has_chunks_ && is_whole_; }

 private:
  byte_stream& peer_;
  const bool has_chunks_;
  const duration patience_;
  bool is_whole_ = true;  // no piece has been written in part
};

session::session(service& by, held_memory& memory, byte_stream& peer, const request_limits& limits,
                 const session_times& times)
    : peer_(peer),
      times_(times),
      memory_(memory, peer),
      with_(by.begin(peer)),
      requests_(limits),
      buffer_(first_buffer) {}

task<> session::run() {
  while (!ends_ && !memory_.is_closed()) {
    const std::size_t wanted = requests_.wanted_memory(end_ - begin_);
    if (wanted > 0 && !memory_.take(wanted)) {
      co_await take_room_for_body(wanted);
      if (ends_) break;
    }
    const bool is_head = !requests_.expects_body();
    const auto [used, what] = requests_.parse(unread());
    if (is_head) ::explicit_bzero(buffer_.data() + begin_, used);
    begin_ += used;
    if (what == request_parser::event::head) on_head();
    if (what == request_parser::event::refused) end_with(respond(problem_of(requests_.why())));
    if (what == request_parser::event::complete) co_await answer_request();
    note_memory();
    if (what && (ends_ || out_.size() < many_answers)) continue;
    const bool is_written = co_await flush();
    if (!is_written) co_return;
    if (what) continue;
    const bool goes_on = co_await read_more();
    if (!goes_on) break;
  }
  if (memory_.is_closed()) co_return;
  const bool is_written = co_await flush();
  if (is_written && drops_) co_await drop_the_rest(peer_);
}

void session::on_head() {
  head_begun_ = instant::never();
  body_begun_ = runtime::now();
  const request& head = requests_.current();
  refusal_ = with_->refuse(head);
  requests_.forget_secrets();
  if (refusal_) {
    if (requests_.expects_body()) end_with(*refusal_);
  } else if (head.expects_continue && requests_.expects_body() && begin_ == end_) {
    out_ += go_on;
  }
}

task<> session::answer_request() {
  const std::size_t before = requests_.memory();
  request what = requests_.take();
  answering_ = before - std::min(before, requests_.memory());
  body_begun_ = instant::never();
  form_ = response_form{what.method == "HEAD", what.is_http_1_0, true, true};
  response made;
  if (refusal_) {
    made = std::move(*refusal_);
  } else {
    auto answering = with_->answer(what, *this);
    made = co_await answering;
  }
  if (append(made, what)) co_await send(made);
  answering_ = 0;
}

bool session::append(const response& made, const request& to) {
  // Nobody will read it if the client has gone: then its conversation takes it back.
  if (made.is_sent || (made.wants_word && peer_.peer_has_ended())) {
    ends_ = true;
    return false;
  }
  const bool goes_on = to.keeps_connection && !made.closes;
  form_ = response_form{form_.is_head, form_.is_http_1_0, !goes_on};
  append_head(out_, made, form_, seconds_now());
  if (!goes_on) ends_ = true;
  const bool is_large = made.body.size() >= large_body;
  if (has_body(made, form_) && !is_large) out_ += made.body;
  return is_large || made.wants_word;
}

task<> session::send(const response& made) {
  bool is_written = co_await flush();
  if (is_written && made.body.size() >= large_body && has_body(made, form_)) is_written = co_await write(made.body);
  if (is_written && made.wants_word) with_->note_sent();
  if (!is_written) ends_ = true;
}

void session::end_with(const response& last) {
  const request& what = requests_.current();  // where its head was refused, there is none
  const response_form form{what.method == "HEAD", what.is_http_1_0, true};
  append_head(out_, last, form, seconds_now());
  if (has_body(last, form)) out_ += last.body;
  ends_ = drops_ = true;
}

task<> session::take_room_for_body(std::size_t bytes) {
  bool is_there = false;
  const bool is_written = co_await flush();
  if (is_written) {
    const instant begin = runtime::now();
    const room got = co_await memory_.wait(bytes);
    is_there = got == room::taken;
    body_begun_ += runtime::now() - begin;  // the client could not send meanwhile
  }
  if (is_there) co_return;
  end_with(respond(problem{503, "the server has no memory for the body at present: try again"}));
}

task<bool> session::take_room(std::size_t bytes) {
  if (memory_.take(bytes)) co_return true;
  const bool is_written = co_await flush();
  if (!is_written) co_return false;
  trim_buffers(first_buffer);  // while it waits, its buffers must not take room from others
  const room got = co_await memory_.wait(bytes);
  co_return got == room::taken;
}

instant session::read_deadline() {
  if (requests_.between_requests()) return runtime::now() + times_.idle;
  if (body_begun_ != instant::never()) return body_begun_ + times_.body + time_for(requests_.body_size());
  if (head_begun_ == instant::never()) head_begun_ = runtime::now();
  return head_begun_ + times_.head;
}

task<bool> session::read_more() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == 0 && buffer_.size() < first_buffer) buffer_.resize(first_buffer);
  const instant until = read_deadline();
  while (!memory_.is_closed()) {
    const bool trims = requests_.between_requests() && buffers() > held_memory::allowance;
    const instant next = trims ? std::min(until, runtime::now() + silence) : until;
    peer_.set_read_deadline(next);
    const std::span<char> space = std::span(buffer_).subspan(end_);
    memory_.waits_for_client(true);
    const auto got = co_await peer_.read_some(space);
    memory_.waits_for_client(false);
    if (!got && got.error() == runtime::io_errc::deadline_exceeded) {
      if (next < until) {
        trim_buffers(first_buffer);
        continue;
      }
      on_silence();
      break;
    }
    if (!got || *got == 0) break;
    end_ += *got;
    memory_.moved(*got);
    // A client that sends much at once gets a larger buffer.
    if (*got == space.size() && begin_ == 0) static_cast<void>(enlarge_buffer());
    co_return true;
  }
  co_return false;
}

bool session::enlarge_buffer() {
  const std::size_t larger = std::min(std::max(4 * buffer_.size(), first_buffer), largest_buffer);
  if (larger == buffer_.size()) return false;
  if (larger > first_buffer && !memory_.take(larger - buffer_.size())) return false;
  buffer_.resize(larger);
  return true;
}

task<bool> session::read_beside() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size() && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    ::explicit_bzero(buffer_.data() + end_, begin_);  // the end of what was moved
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    // Without room the session cannot read on, and so would not see the client go away: the wait ends.
    if (!enlarge_buffer()) co_return false;
  }
  memory_.waits_for_client(true);  // a client that waits for a job may be closed for what it holds
  const auto got = co_await peer_.read_some(std::span(buffer_).subspan(end_));
  memory_.waits_for_client(false);
  if (!got) co_return got.error() == runtime::io_errc::deadline_exceeded;
  end_ += *got;
  memory_.moved(*got);
  co_return *got > 0;
}

task<bool> session::wait_for(task<> what) {
  const bool is_written = co_await flush();  // the earlier responses must not wait
  if (!is_written) co_return false;
  trim_buffers(waiting_buffer);
  peer_.set_read_deadline(instant::never());
  auto waiting = runtime::spawn(run_and_wake(std::move(what), peer_), "a waiting request");
  bool is_there = true;
  std::exception_ptr failure;
  try {
    while (is_there && !waiting.done()) is_there = co_await read_beside();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!is_there || failure != nullptr) waiting.request_stop();
  try {
    co_await waiting.join_without_cancellation();
  } catch (const runtime::cancelled&) {
    is_there = false;
  } catch (...) {
    if (failure == nullptr) failure = std::current_exception();
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  co_return is_there;
}

task<response> session::stream(const response& head, streamed_body& body) {
  response sent;
  sent.is_sent = true;
  append_head(out_, head, form_, seconds_now());
  const bool has_head = co_await flush();
  if (!has_head || form_.is_head) co_return sent;
  chunk_writer out(peer_, !form_.is_http_1_0, times_.response);
  bool has_failed = false;
  try {
    auto writing = wait_for(body.write_to(out));
    static_cast<void>(co_await writing);
  } catch (...) {
    has_failed = true;  // the head has gone: no other answer can follow
  }
  if (!has_failed && !memory_.is_closed()) co_await end_stream(out);
  co_return sent;
}

task<> session::end_stream(const chunk_writer& out) {
  if (!out.may_end()) co_return;
  peer_.set_write_deadline(time_for_last_chunk);
  static_cast<void>(co_await write_all(peer_, last_chunk));
}

void session::on_silence() {
  if (!requests_.between_requests()) end_with(respond(problem{408, "the request has not come in time"}));
}

task<bool> session::flush() {
  if (out_.empty()) co_return true;
  const bool is_written = co_await write(out_);
  out_.clear();
  if (out_.capacity() > 2 * many_answers) out_.shrink_to_fit();
  co_return is_written;
}

task<bool> session::write(std::string_view text) {
  peer_.set_write_deadline(times_.response + time_for(text.size()));
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

void session::trim_buffers(std::size_t unread) {
  std::string().swap(out_);  // an assignment would keep the memory
  if (requests_.between_requests()) requests_.trim();
  if (begin_ == end_) {
    begin_ = end_ = 0;
    buffer_ = read_buffer(unread);
  }
  note_memory();
}

}  // namespace foliot::program::http
