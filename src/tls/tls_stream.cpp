#include <foliot/tls/tls_stream.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/detail/step.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/tls/tls_error.hpp>

#include "openssl.hpp"
#include "session.hpp"

namespace foliot::tls {

namespace {

using detail::outcome;
using detail::request;
using detail::role;
using runtime::io_errc;
using runtime::detail::descriptor;
using runtime::detail::descriptor_awaiter;
using runtime::detail::descriptor_use;
using runtime::detail::direction;
using runtime::detail::inner;
using session_ptr = std::shared_ptr<detail::session>;

/// The one task that reads.
class reader {
 public:
  explicit reader(detail::session& of) : session_(of) {
    if (!of.begin_read()) throw std::logic_error("foliot: another task reads from this tls_stream");
  }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;
  ~reader() { session_.end_read(); }

 private:
  detail::session& session_;
};

/// Sends all output. The caller holds sending(), or shakes hands.
task<std::error_code> drain(session_ptr on) {
  for (auto rest = on->output(); !rest.empty(); rest = on->output()) {
    const auto taken = co_await inner(on->below().write_some(rest));
    if (!taken) co_return taken.error();
    on->sent(*taken);
  }
  co_return std::error_code();
}

/// How long a client that is refused has for the alert.
constexpr duration time_for_alert = duration::nanoseconds(1'000'000'000);
constexpr int no_attempt = -1;  // instead of a descriptor

/// A task that wants input.
class receiver {
 public:
  explicit receiver(detail::session& of) noexcept : session_(of) { session_.begin_receive(); }
  receiver(const receiver&) = delete;
  receiver& operator=(const receiver&) = delete;
  ~receiver() { session_.end_receive(); }

 private:
  detail::session& session_;
};

/// Waits for input, unless some has come since the call of OpenSSL that needed it. By the deadline of the operation: a
/// write that needs input has that for writing.
task<std::error_code> receive(session_ptr on, std::uint64_t receipts, direction whose_deadline) {
  co_await inner(runtime::detail::checkpoint());  // a task that always finds data never waits
  const descriptor_use by(on->below().descriptor());
  if (!by) co_return make_error_code(io_errc::closed);
  const receiver one(*on);
  for (;;) {
    const auto advice = by->prepare(direction::in, whose_deadline);
    if (!advice) co_return advice.error();
    const bool tries = *advice == descriptor::advice::tries;
    const auto come = on->try_receive(receipts, tries ? by->fd() : no_attempt);
    // share_ready(): between prepare() and here the other task may have begun to wait, without a readiness of its own.
    if (!come.was_needed) {  // another task has received
      if (tries) by->share_ready(direction::in);
      co_return std::error_code();
    }
    if (come.bytes || come.bytes.error() != std::errc::operation_would_block) {
      const bool may_succeed_again = !come.bytes || *come.bytes == 0 || come.filled_the_room;
      if (may_succeed_again || come.is_shared) by->share_ready(direction::in);
      if (!come.bytes) co_return come.bytes.error();
      co_return *come.bytes > 0 ? std::error_code() : make_error_code(tls_errc::truncated);
    }
    co_await inner(descriptor_awaiter(*by, whose_deadline, direction::in));
  }
}

task<> send_later(session_ptr on) {
  const auto held = co_await inner(on->sending().lock());
  const std::error_code error = co_await inner(drain(on));
  if (error) on->no_task_sends();  // the next operation tries again
}

/// Sends answers that a read has made, without waiting.
void send_answers(const session_ptr& on) {
  if (on->send_now()) return;
  try {
    runtime::spawn(send_later(on), "TLS answers");
  } catch (...) {
    on->no_task_sends();  // they are sent by the next operation
  }
}

enum class amount : bool { some, all };

task<or_error<std::size_t>> read(session_ptr on, std::span<std::byte> into, amount wanted) {
  if (on == nullptr) co_return std::unexpected(make_error_code(io_errc::closed));
  const reader one(*on);
  co_await inner(runtime::detail::checkpoint());  // a task that always finds data never waits
  const std::error_code now = on->below().look(direction::in);
  if (now) co_return std::unexpected(now);
  std::size_t sum = 0;
  while (sum < into.size()) {
    const outcome come = on->read(into.subspan(sum));
    if (come.has_output) send_answers(on);
    if (come.what == outcome::kind::failed) co_return std::unexpected(come.error);
    if (come.what == outcome::kind::needs_input) {
      const std::error_code error = co_await inner(receive(on, come.receipts, direction::in));
      if (error) co_return std::unexpected(error);
      continue;
    }
    sum += come.bytes;
    if (come.bytes == 0 || wanted == amount::some) break;
  }
  co_return sum;
}

/// Performs a request and sends what it makes; of `from` one record. The caller holds sending(), or shakes hands.
task<or_error<std::size_t>> perform(session_ptr on, request what, std::span<const std::byte> from) {
  for (;;) {
    const outcome come = on->perform(what, from);
    if (come.what == outcome::kind::failed) {
      if (come.has_output) static_cast<void>(on->send_what_fits());  // an alert
      co_return std::unexpected(come.error);
    }
    const bool done = come.what == outcome::kind::done;
    if (done && what == request::handshake && on->has_tickets_only()) co_return std::size_t{0};
    std::error_code error = on->send_what_fits();
    if (!error && on->has_more_to_send()) error = co_await inner(drain(on));
    if (error) co_return std::unexpected(error);
    if (done) co_return come.bytes;
    const std::error_code receive_error = co_await inner(receive(on, come.receipts, direction::out));
    if (receive_error) co_return std::unexpected(receive_error);
  }
}

/// Performs the request as often as it takes for that amount of `from`.
task<or_error<std::size_t>> send(session_ptr on, request what, std::span<const std::byte> from, amount wanted) {
  if (on == nullptr) co_return std::unexpected(make_error_code(io_errc::closed));
  const auto held = co_await inner(on->sending().lock());
  co_await inner(runtime::detail::checkpoint());  // a task that always finds room never waits
  const std::error_code now = on->below().look(direction::out);
  if (now) co_return std::unexpected(now);
  if (on->has_more_to_send()) {  // what an earlier operation could not send
    const std::error_code left = co_await inner(drain(on));
    if (left) co_return std::unexpected(left);
  }
  if (what != request::data) {
    const auto done = co_await inner(perform(on, what, from));
    co_return done;
  }
  std::size_t sum = 0;
  while (sum < from.size()) {
    const auto written = co_await inner(perform(on, what, from.subspan(sum)));
    if (!written) co_return written;
    sum += *written;
    if (wanted == amount::some) break;
  }
  co_return sum;
}

task<std::error_code> send_request(session_ptr on, request what) {
  const auto done = co_await inner(send(on, what, std::span<const std::byte>(), amount::some));
  co_return done ? std::error_code() : done.error();
}

/// Lets a client read the alert by which it is refused. With TLS 1.3 it may be sending already, and if bytes of it are
/// unread when the connection is closed, the system resets the connection.
task<> wait_for_end_of_client(session_ptr on, instant deadline) {
  constexpr std::size_t most_dropped = 65'536;
  static_cast<void>(on->below().close_write());
  on->below().set_read_deadline(std::min(deadline, runtime::now() + time_for_alert));
  std::array<std::byte, 1024> dropped;
  for (std::size_t sum = 0; sum < most_dropped;) {
    const auto got = co_await inner(on->below().read_some(std::span<std::byte>(dropped)));
    if (!got || *got == 0) co_return;
    sum += *got;
  }
}

task<or_error<tls_stream>> shake_hands(or_error<session_ptr> made, role side, instant deadline) {
  if (!made) co_return std::unexpected(made.error());
  const session_ptr on = *made;
  on->below().set_deadline(deadline);
  const auto done = co_await inner(perform(on, request::handshake, std::span<const std::byte>()));
  if (!done) {
    on->note_failure();
    const bool refuses_client = side == role::server && is_certificate_error(done.error());
    if (refuses_client) co_await inner(wait_for_end_of_client(on, deadline));
    on->below().close();
    co_return std::unexpected(done.error());
  }
  on->below().set_deadline(instant::never());
  on->note_agreement();
  co_return tls_stream(on);
}

task<std::error_code> discard_the_rest(session_ptr on) {
  std::array<std::byte, 1024> discarded;
  for (;;) {
    const auto got = co_await inner(read(on, std::span<std::byte>(discarded), amount::some));
    if (!got) co_return got.error();
    if (*got == 0) co_return std::error_code();
  }
}

task<std::error_code> shut_down(session_ptr on) {
  std::error_code error = co_await inner(send_request(on, request::end));
  if (!error) error = co_await inner(discard_the_rest(on));
  if (on != nullptr) on->below().close();
  co_return error;
}

}  // namespace

tls_stream::tls_stream(std::shared_ptr<detail::session> session) noexcept
    : connection(session->below().descriptor()), session_(std::move(session)) {}

task<or_error<tls_stream>> tls_stream::connect(runtime::stream&& below, const tls_context& context,
                                               std::string_view host, instant deadline) {
  return shake_hands(detail::session::make(std::move(below), context.state(), role::client, host), role::client,
                     deadline);
}
task<or_error<tls_stream>> tls_stream::accept(runtime::stream&& below, const tls_context& context, instant deadline) {
  return shake_hands(detail::session::make(std::move(below), context.state(), role::server, {}), role::server,
                     deadline);
}

task<or_error<std::size_t>> tls_stream::read_some(std::span<std::byte> into) const {
  return read(session_, into, amount::some);
}
task<or_error<std::size_t>> tls_stream::read_all(std::span<std::byte> into) const {
  return read(session_, into, amount::all);
}
task<or_error<std::size_t>> tls_stream::write_some(std::span<const std::byte> from) const {
  return send(session_, request::data, from, amount::some);
}
task<or_error<std::size_t>> tls_stream::write_all(std::span<const std::byte> from) const {
  return send(session_, request::data, from, amount::all);
}
task<std::error_code> tls_stream::close_write() const { return send_request(session_, request::end); }
task<std::error_code> tls_stream::shutdown() const { return shut_down(session_); }
task<std::error_code> tls_stream::update_keys(renewed_keys whose) const {
  return send_request(session_, whose == renewed_keys::both ? request::both_keys : request::own_keys);
}
std::optional<tls_version> tls_stream::version() const noexcept {
  return session_ != nullptr ? session_->agreed().version : std::nullopt;
}
std::string tls_stream::protocol() const { return session_ != nullptr ? session_->agreed().protocol : std::string(); }
bool tls_stream::resumed() const noexcept { return session_ != nullptr && session_->agreed().resumed; }
std::string tls_stream::cipher() const { return session_ != nullptr ? session_->agreed().cipher : std::string(); }
std::string tls_stream::server_name() const {
  return session_ != nullptr ? session_->agreed().server_name : std::string();
}
std::optional<tls_certificate> tls_stream::peer_certificate() const {
  if (session_ == nullptr || session_->agreed().certificate == nullptr) return std::nullopt;
  return detail::describe(*session_->agreed().certificate);
}

}  // namespace foliot::tls
