#include "session.hpp"

#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include <foliot/core/seam/sockets.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/tls/tls_error.hpp>

namespace foliot::tls::detail {

namespace {

constexpr std::size_t longest_host = 253;  // of DNS, without a dot at the end
constexpr std::size_t largest_record = SSL3_RT_MAX_PLAIN_LENGTH;
/// How many bytes of answers may wait for a peer that does not read: some hundred.
constexpr std::size_t most_answers = 16'384;
/// A larger empty buffer is freed, as a connection may be idle for long.
constexpr std::size_t kept_capacity = 1024;
/// What is received at once: a record and its head.
constexpr std::size_t most_received = 16'384 + 512;

runtime::or_error<std::size_t> would_block() noexcept {
  return std::unexpected(std::make_error_code(std::errc::operation_would_block));
}

}  // namespace

// ---------------------------------------------------------------- making

session::session(runtime::stream&& below, std::shared_ptr<const context> shared) noexcept
    : context_(std::move(shared)), below_(std::move(below)) {}

std::expected<std::shared_ptr<session>, std::error_code> session::make(runtime::stream&& below,
                                                                       std::shared_ptr<const context> shared, role side,
                                                                       std::string_view host) {
  runtime::stream taken(std::move(below));  // which is closed if this fails
  if (shared == nullptr || shared->side != side) return std::unexpected(bad_argument());
  auto made = std::make_shared<session>(std::move(taken), std::move(shared));
  const lock held(made->mutex_);
  if (const std::error_code error = made->open(host, side)) return std::unexpected(error);
  return made;
}

std::error_code session::open(std::string_view host, role side) noexcept {
  begin_call();
  ssl_.reset(SSL_new(context_->ssl.get()));
  BIO* const bio = ssl_ != nullptr && bio_method() != nullptr ? BIO_new(bio_method()) : nullptr;
  if (bio == nullptr) return take_error(no_memory());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);  // takes over the one reference
  if (side == role::server) {
    SSL_set_accept_state(ssl_.get());
    return {};
  }
  SSL_set_connect_state(ssl_.get());
  return expect_host(host);
}

std::error_code session::expect_host(std::string_view host) noexcept try {
  if (host.empty() && !context_->verifies) return {};  // whose session it would be is not known
  std::string name(host.ends_with('.') ? host.substr(0, host.size() - 1) : host);
  // For OpenSSL a name that begins with a dot is any name below it, and a NUL is the end.
  if (name.empty() || name.size() > longest_host || name.front() == '.' || name.contains('\0')) return bad_argument();
  X509_VERIFY_PARAM* const verification = SSL_get0_param(ssl_.get());
  X509_VERIFY_PARAM_set_hostflags(verification,
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  begin_call();
  const std::unique_ptr<ASN1_OCTET_STRING, freed_by<ASN1_OCTET_STRING_free>> ip(a2i_IPADDRESS(name.c_str()));
  if (ip == nullptr && ERR_peek_error() != 0) return take_error(no_memory());  // other names are no error
  resume(name);
  if (ip != nullptr) {
    return X509_VERIFY_PARAM_set1_ip_asc(verification, name.c_str()) == 1 ? std::error_code() : take_error(no_memory());
  }
  const bool set = SSL_set1_host(ssl_.get(), name.c_str()) == 1 &&
                   SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1;
  begin_call();  // OpenSSL refuses such a name for lack of memory alone, and says so or nothing
  return set ? std::error_code() : no_memory();
} catch (const std::exception&) {
  return no_memory();
}

void session::resume(const std::string& host) {
  if (!context_->sessions.keeps_any()) return;
  host_ = host;
  opened_at_ = seam::monotonic_now();
  const kept_session kept = context_->sessions.take(host, opened_at_);
  if (kept.session == nullptr) return;
  offers_session_ = SSL_set_session(ssl_.get(), kept.session.get()) == 1;  // else the handshake is a full one
  offered_verified_at_ = kept.verified_at;
  begin_call();
}

int session::take_offer(SSL* ssl, SSL_SESSION* offered) noexcept {
  const auto& self = *static_cast<const session*>(BIO_get_data(SSL_get_rbio(ssl)));
  if (self.host_.empty()) return 0;
  // A copy: OpenSSL makes the connection's own session useless if the connection does not end in order. Its failure is
  // no failure of the call of OpenSSL in which this is called.
  ERR_set_mark();
  ssl_session_ptr copy(SSL_SESSION_dup(offered));
  ERR_pop_to_mark();
  if (copy == nullptr) return 0;
  const instant verified_at = SSL_session_reused(ssl) == 1 ? self.offered_verified_at_ : self.opened_at_;
  self.context_->sessions.keep(self.host_, {std::move(copy), verified_at});
  return 0;
}

void session::note_failure() noexcept {
  const lock held(mutex_);
  if (!offers_session_) return;
  if (failure_ && failure_ != no_memory()) {
    context_->sessions.refuse(host_);
  } else {
    context_->sessions.forget(host_);
  }
}

// ---------------------------------------------------------------- the BIO

const BIO_METHOD* session::bio_method() noexcept try {
  static const int type = std::max(BIO_get_new_index(), 0) | BIO_TYPE_SOURCE_SINK;
  // Never freed: sessions may outlive static objects. If there is no memory for it, the next call tries again.
  static const BIO_METHOD* const one = [] {
    BIO_METHOD* const made = BIO_meth_new(type, "foliot");
    if (made == nullptr) throw std::bad_alloc();
    BIO_meth_set_write(made, take_output);
    BIO_meth_set_read(made, give_input);
    BIO_meth_set_ctrl(made, control);
    return made;
  }();
  return one;
} catch (const std::bad_alloc&) {
  return nullptr;
}

int session::take_output(BIO* bio, const char* bytes, int size) noexcept {
  auto& self = *static_cast<session*>(BIO_get_data(bio));
  self.mutex_.assert_held();
  BIO_clear_retry_flags(bio);
  try {
    const auto from = std::as_bytes(std::span(bytes, static_cast<std::size_t>(size)));
    self.made_.insert(self.made_.end(), from.begin(), from.end());
  } catch (const std::exception&) {
    self.no_memory_ = true;
    return -1;
  }
  return size;
}

int session::give_input(BIO* bio, char* into, int size) noexcept {
  auto& self = *static_cast<session*>(BIO_get_data(bio));
  self.mutex_.assert_held();
  BIO_clear_retry_flags(bio);
  const std::size_t given = std::min(self.in_.size() - self.in_begin_, static_cast<std::size_t>(size));
  if (given == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  std::memcpy(into, self.in_.data() + self.in_begin_, given);
  self.in_begin_ += given;
  if (self.in_begin_ == self.in_.size()) {
    if (self.in_.capacity() > kept_capacity) self.in_ = {};
    self.in_.clear();
    self.in_begin_ = 0;
  }
  return static_cast<int>(given);
}

long session::control(BIO*, int command, long, void*) noexcept { return command == BIO_CTRL_FLUSH ? 1 : 0; }

// ---------------------------------------------------------------- calls of OpenSSL

outcome session::read(std::span<std::byte> into) noexcept {
  const lock held(mutex_);
  if (failure_) return failed(failure_);
  if (lacks_input()) {
    outcome none = failed({});
    none.what = outcome::kind::needs_input;
    return none;
  }
  const std::size_t before = made_.size();
  std::size_t bytes = 0;
  no_memory_ = false;
  begin_call();
  const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
  const outcome come = outcome_of(result, bytes);
  answers_ += made_.size() - before;
  if (answers_ > most_answers && !failure_) {
    failure_ = tls_errc::too_many_answers;
    return failed(failure_);
  }
  return come;
}

outcome session::perform(request what, std::span<const std::byte> from) noexcept {
  const lock held(mutex_);
  if (failure_) return failed(failure_);
  if (const std::error_code error = refusal(what)) return failed(error);
  if (what == request::end && ended_) return outcome_of(1, 0);
  std::size_t bytes = 0;
  no_memory_ = false;
  begin_call();
  const int result = call(what, from, bytes);
  if (what == request::end && result == 1) ended_ = true;
  return outcome_of(result, bytes);
}

int session::call(request what, std::span<const std::byte> from, std::size_t& bytes) noexcept {
  SSL* const ssl = ssl_.get();
  if (what == request::data) {
    return SSL_write_ex(ssl, from.data(), std::min(from.size(), largest_record), &bytes);
  }
  if (what == request::handshake || SSL_in_init(ssl) == 1) {  // also in the middle of a later message of TLS
    const int result = SSL_do_handshake(ssl);
    if (what == request::handshake || result != 1) return result;
  }
  if (what == request::end) return SSL_shutdown(ssl) >= 0 ? 1 : -1;
  const int type = what == request::both_keys ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED;
  return SSL_key_update(ssl, type) == 1 ? SSL_do_handshake(ssl) : -1;
}

bool session::lacks_input() const noexcept {
  SSL* const ssl = ssl_.get();
  return in_.empty() && SSL_is_init_finished(ssl) == 1 && SSL_has_pending(ssl) == 0 &&
         (SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN) == 0;
}

std::error_code session::refusal(request what) const noexcept {
  if (what == request::handshake || what == request::end) return {};
  if (ended_) return std::make_error_code(std::errc::broken_pipe);
  if (what != request::data && SSL_version(ssl_.get()) != TLS1_3_VERSION) {
    return std::make_error_code(std::errc::operation_not_supported);
  }
  return {};
}

outcome session::failed(std::error_code error) const noexcept {
  outcome come;
  come.error = error;
  come.receipts = receipts_;
  come.has_output = has_output();
  return come;
}

outcome session::outcome_of(int result, std::size_t bytes) noexcept {
  outcome come = failed({});
  if (result == 1) {
    come.what = outcome::kind::done;
    come.bytes = bytes;
    return come;
  }
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ) {
    come.what = outcome::kind::needs_input;
  } else if (error == SSL_ERROR_ZERO_RETURN && SSL_is_init_finished(ssl_.get()) == 1) {
    come.what = outcome::kind::done;  // the peer writes no more
  } else {
    come.error = failure_ = reason(error);
  }
  return come;
}

std::error_code session::reason(int error) noexcept {
  if (no_memory_) {
    begin_call();
    return no_memory();
  }
  if (error == SSL_ERROR_ZERO_RETURN) return std::make_error_code(std::errc::connection_aborted);
  const long verified = SSL_get_verify_result(ssl_.get());
  const unsigned long last = ERR_peek_last_error();
  const bool not_verified = ERR_GET_LIB(last) == ERR_LIB_SSL && ERR_GET_REASON(last) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  const std::error_code taken = take_error(std::make_error_code(std::errc::protocol_error));
  return not_verified && verified != X509_V_OK ? certificate_error(verified) : taken;
}

// ---------------------------------------------------------------- after the handshake

void session::note_agreement() {
  const lock held(mutex_);
  SSL* const ssl = ssl_.get();
  agreed_.version = static_cast<tls_version>(SSL_version(ssl));
  const unsigned char* protocol = nullptr;
  unsigned int length = 0;
  SSL_get0_alpn_selected(ssl, &protocol, &length);
  for (const unsigned char each : std::span(protocol, length)) agreed_.protocol.push_back(static_cast<char>(each));
  agreed_.cipher = SSL_CIPHER_get_name(SSL_get_current_cipher(ssl));
  const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name != nullptr) agreed_.server_name = name;
  agreed_.certificate.reset(SSL_get1_peer_certificate(ssl));
  agreed_.resumed = SSL_session_reused(ssl) == 1;
}

bool session::has_tickets_only() const noexcept {
  const lock held(mutex_);
  return context_->side == role::server && SSL_version(ssl_.get()) == TLS1_3_VERSION;
}

// ---------------------------------------------------------------- the buffers

void session::begin_receive() noexcept {
  const lock held(mutex_);
  ++receivers_;
}
void session::end_receive() noexcept {
  const lock held(mutex_);
  --receivers_;
}

session::receipt session::try_receive(std::uint64_t receipts, int fd) noexcept {
  const lock held(mutex_);
  if (receipts_ != receipts) return {};
  receipt now{.was_needed = true, .is_shared = receivers_ > 1};
  std::array<std::byte, most_received> room;  // on the stack: a connection that waits needs none
  now.bytes = fd >= 0 ? seam::receive(fd, room) : would_block();
  if (now.bytes && *now.bytes > 0) {
    now.filled_the_room = *now.bytes == room.size();
    if (!keep(std::span(room).first(*now.bytes))) {
      failure_ = no_memory();
      now.bytes = std::unexpected(failure_);
    }
    ++receipts_;
  }
  return now;
}

bool session::keep(std::span<const std::byte> received) noexcept try {
  in_.insert(in_.end(), received.begin(), received.end());
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

std::span<const std::byte> session::output() noexcept {
  const lock held(mutex_);
  if (sent_ == leaving_.size()) {
    if (leaving_.capacity() > kept_capacity) leaving_ = {};
    leaving_.clear();
    sent_ = 0;
    std::swap(leaving_, made_);
    if (leaving_.empty()) {
      answers_ = 0;
      task_sends_ = false;
    }
  }
  return std::span<const std::byte>(leaving_).subspan(sent_);
}

void session::sent(std::size_t bytes) noexcept {
  const lock held(mutex_);
  sent_ += bytes;
}

std::error_code session::send_what_fits() noexcept {
  const runtime::detail::descriptor_use by(below_.descriptor());
  if (!by) return make_error_code(runtime::io_errc::closed);
  for (auto rest = output(); !rest.empty(); rest = output()) {
    const auto taken = seam::send(by->fd(), rest);
    if (!taken) return taken.error() == std::errc::operation_would_block ? std::error_code() : taken.error();
    sent(*taken);
  }
  return {};
}

bool session::has_more_to_send() const noexcept {
  const lock held(mutex_);
  return has_output();
}

bool session::send_now() noexcept {
  const runtime::task_lock sender = sending_.try_lock();
  if (sender) static_cast<void>(send_what_fits());
  const lock held(mutex_);
  return !has_output() || std::exchange(task_sends_, true);
}

void session::no_task_sends() noexcept {
  const lock held(mutex_);
  task_sends_ = false;
}

bool session::begin_read() noexcept {
  const lock held(mutex_);
  return !std::exchange(reading_, true);
}

void session::end_read() noexcept {
  const lock held(mutex_);
  reading_ = false;
}

}  // namespace foliot::tls::detail
