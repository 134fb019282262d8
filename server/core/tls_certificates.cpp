#include "tls_certificates.hpp"

#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/tls/tls_error.hpp>
#if defined(FOLIOT_HAS_TLS)
#include <foliot/tls/tls_stream.hpp>
#endif

#include "client_source.hpp"
#include "process_end.hpp"
#include "stream_over.hpp"
#include "text/failure.hpp"
#include "text/timestamp.hpp"

namespace foliot::program {

namespace {

std::string text_of(std::chrono::sys_seconds time) {
  std::string text;
  append_iso_time(text, wall_clock::from_sys(time));
  return text;
}

#if defined(FOLIOT_HAS_TLS)
std::string why_no_pair(const tls_files& files, std::error_code error) {
  if (error == tls::tls_errc::no_certificate) return fmt::format("'{}' has no certificate", files.certificate);
  if (error == tls::tls_errc::no_private_key) {
    return fmt::format("'{}' has no private key{}", files.of_key(),
                       files.key.empty() ? ": name the file of the key by --tls-key" : "");
  }
  if (error == tls::tls_errc::wrong_password) {
    return fmt::format(
        "the key in '{}' is encrypted with a password: store it without one, as 'openssl pkey -in FILE -out FILE' does",
        files.of_key());
  }
  return fmt::format("the certificate in '{}' and the key in '{}' cannot be used: {}", files.certificate,
                     files.of_key(), error.message());
}

/// Counts a handshake as failed, also where it ends because it has taken too long, unless it is done.
class counted_failure {
 public:
  explicit counted_failure(seam::atomic<std::uint64_t>& in) noexcept : in_(&in) {}
  counted_failure(const counted_failure&) = delete;
  counted_failure& operator=(const counted_failure&) = delete;
  ~counted_failure() {
    if (in_ != nullptr) in_->fetch_add(1, seam::relaxed);
  }
  void is_none() noexcept { in_ = nullptr; }

 private:
  seam::atomic<std::uint64_t>* in_;
};

std::string why_no_authorities(const tls_files& files, std::error_code error) {
  if (error == tls::tls_errc::no_certificate) return fmt::format("'{}' has no certificate", files.client_authorities);
  return fmt::format("the certificates in '{}' cannot be used: {}", files.client_authorities, error.message());
}
#endif

}  // namespace

// ---------------------------------------------------------------- what needs OpenSSL

#if defined(FOLIOT_HAS_TLS)
std::expected<tls_certificates::served, std::string> tls_certificates::read(const tls_files& files,
                                                                            std::chrono::sys_seconds now) {
  for (const std::string& each : files.all()) {
    if (std::string why = why_unreadable(each); !why.empty()) return std::unexpected(std::move(why));
  }
  tls::tls_options options;
  options.certificate_chain = tls::pem::file(files.certificate);
  options.private_key = tls::pem::file(files.of_key());
  auto made = tls::tls_context::server(options);
  if (!made) return std::unexpected(why_no_pair(files, made.error()));
  const std::optional<tls::tls_certificate> own = made->own_certificate();
  if (!own) return std::unexpected(why_no_pair(files, tls::tls_errc::no_certificate));
  if (own->not_after < now) {
    return std::unexpected(
        fmt::format("the certificate in '{}' has expired at {}", files.certificate, text_of(own->not_after)));
  }
  if (own->not_before > now) {
    return std::unexpected(
        fmt::format("the certificate in '{}' is not valid before {}", files.certificate, text_of(own->not_before)));
  }
  if (!files.client_authorities.empty()) {  // the pair is good, so an error is theirs
    options.from_clients = tls::client_certificates::optional;
    options.roots.push_back(tls::pem::file(files.client_authorities));
    made = tls::tls_context::server(options);
    if (!made) return std::unexpected(why_no_authorities(files, made.error()));
  }
  return served{*std::move(made), own->subject, own->not_after};
}

task<std::unique_ptr<byte_stream>> tls_certificates::open(runtime::stream accepted) {
  counted_failure unless_done(failed_);
  const tls::tls_context context = current()->context;
  const auto from = accepted.peer_address();
  auto accepting = tls::tls_stream::accept(std::move(accepted), context);
  auto shaken = co_await accepting;
  if (!shaken) {
    say_failed(shaken.error(), from.value_or(runtime::address()));
    co_return nullptr;
  }
  // OpenSSL looks at a certificate in whole handshakes alone, and not where a session is taken up again.
  if (const auto shown = shaken->peer_certificate(); shown && shown->not_after < now()) {
    log_.warning("handshake", fmt::format("close the connection from {}: the client's certificate has expired at {}",
                                          shown_address(from.value_or(runtime::address())), text_of(shown->not_after)));
    co_return nullptr;
  }
  unless_done.is_none();
  co_return over(*std::move(shaken));
}

void tls_certificates::say_failed(std::error_code error, const runtime::address& from) const {
  // A client that goes away in its handshake, as a probe of the port does, is not worth a line.
  if (error.category() != tls::tls_category() || error == tls::tls_errc::truncated) return;
  log_.warning("handshake", fmt::format("close the connection from {}: its TLS handshake has failed: {}",
                                        shown_address(from), error.message()));
}
#else
std::expected<tls_certificates::served, std::string> tls_certificates::read(const tls_files&,
                                                                            std::chrono::sys_seconds) {
  return std::unexpected("this program was built without TLS: leave out --tls-certificate, or build it with OpenSSL 3");
}

task<std::unique_ptr<byte_stream>> tls_certificates::open(runtime::stream) { co_return nullptr; }
#endif

// ---------------------------------------------------------------- reading and looking

tls_certificates::tls_certificates(tls_files files, const server_log& log, const clock& wall)
    : files_(std::move(files)), log_(log), wall_(wall), seen_(state_of(files_)), taken_as_(seen_) {
  auto first = read(files_, now());
  if (!first) throw failure(first.error());
  take(*std::move(first));
}

listener::opening tls_certificates::opening() {
  return [this](runtime::stream accepted) { return open(std::move(accepted)); };
}

task<> tls_certificates::watch() {
  shortage lacking;
  for (;;) {
    try {
      auto what = co_await runtime::select(asked_.receive(), runtime::after(between_looks));
      const bool is_asked = what.index() == 0;
      auto reading = [this, is_asked] { is_asked ? reread() : look(); };
      co_await runtime::blocking(reading);
      lacking.end();
    } catch (const std::bad_alloc&) {
      lacking.note();
    } catch (const std::system_error& error) {  // there is no thread for it
      log_.warning("certificates", fmt::format("cannot look at the files of TLS: {}", error.code().message()));
    }
  }
}

void tls_certificates::look() {
  if (!has_warned_of_end_ && current()->ends < now()) {
    has_warned_of_end_ = true;
    log_.warning(fmt::format("the TLS certificate {} has expired at {}: clients refuse it", current()->subject,
                             text_of(current()->ends)));
  }
  tls_files_state files = state_of(files_);
  const bool is_settled = files == seen_;
  seen_ = std::move(files);
  if (!is_settled) return;
  if (seen_ != taken_as_) {
    read_again(seen_);
  } else {  // what is served is there, perhaps again
    refused_ = {};
    is_refused_.store(false, seam::relaxed);
  }
}

void tls_certificates::reread() {
  refused_ = {};
  read_again(state_of(files_));
}

void tls_certificates::read_again(const tls_files_state& files) {
  auto next = read(files_, now());
  if (state_of(files_) != files) return;  // a later look reads them
  is_refused_.store(!next, seam::relaxed);
  if (next) {
    taken_as_ = files;
    refused_ = {};
    take(*std::move(next));
    return;
  }
  if (std::exchange(refused_, files) == files) return;
  log_.warning(fmt::format("the new TLS certificate is not used: {}; clients still get {}, valid until {}",
                           next.error(), current()->subject, text_of(current()->ends)));
}

void tls_certificates::take(served&& next) {
  const auto taken = std::make_shared<const served>(std::move(next));
  {
    const lock held(lock_);
    current_ = taken;
  }
  has_warned_of_end_ = false;
  taken_.fetch_add(1, seam::relaxed);
  log_.info(
      fmt::format("new connections get the TLS certificate {}, valid until {}", taken->subject, text_of(taken->ends)));
}

tls_certificates::shared_served tls_certificates::current() const {
  const lock held(lock_);
  return current_;
}

std::chrono::sys_seconds tls_certificates::now() const {
  return std::chrono::floor<std::chrono::seconds>(wall_clock::to_sys(wall_.now()));
}

tls_figures tls_certificates::figures() const {
  tls_figures all;
  all.ends = current()->ends;
  all.taken = taken_.load(seam::relaxed);
  all.is_refused = is_refused_.load(seam::relaxed);
  all.failed = failed_.load(seam::relaxed);
  return all;
}

}  // namespace foliot::program
