// A program of a user of foliot::tls: a server without a certificate is refused, and errors have OpenSSL's text.
#include <foliot/runtime.hpp>
#include <foliot/tls.hpp>
#include <foliot/version.hpp>

#include <cstdio>

namespace {

foliot::task<bool> refuses_plain_text() {
  auto both = foliot::runtime::stream::pair();
  const auto context = foliot::tls::tls_context::client();
  if (!both || !context) co_return false;
  const auto sent = co_await both->second.write_all(std::string_view("no TLS here"));
  if (!sent) co_return false;
  const auto made = co_await foliot::tls::tls_stream::connect(std::move(both->first), *context, "localhost");
  co_return !made && made.error().message() == "wrong version number";
}

}  // namespace

int main() {
  const auto server = foliot::tls::tls_context::server({});
  if (server || server.error() != foliot::tls::tls_errc::no_certificate) return 1;
  if (!foliot::run(refuses_plain_text())) return 1;
  std::puts("foliot " FOLIOT_VERSION " works");
  return 0;
}
