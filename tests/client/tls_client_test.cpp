// A client by TLS: of a server that it trusts, and of others; with a certificate of its own.
#include <foliot/client/tls_endpoint.hpp>

#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/runtime/net/listener.hpp>
#include <foliot/tls/tls_error.hpp>

#include "client_kit.hpp"
#include "tls/certificates.hpp"

namespace foliot::client {
namespace {

using namespace std::chrono_literals;

task<> serve_by_tls(server_world& in, runtime::stream accepted, tls::tls_context with) {
  auto shaking = tls::tls_stream::accept(std::move(accepted), with);
  auto shaken = co_await shaking;
  if (!shaken) co_return;
  program::stream_over peer(std::move(*shaken));
  co_await in.speaks.serve(peer);
  co_await peer.close_write();
}

task<> accept_by_tls(server_world& in, const runtime::listener& gate, tls::tls_context with) {
  for (;;) {
    auto accepting = gate.accept();
    auto got = co_await accepting;
    if (!got) co_return;
    in.sessions.push_back(runtime::spawn(serve_by_tls(in, std::move(*got), with), "a session"));
  }
}

/// What a put comes to at a server with this context, whose client has that one and wants this host.
result_of<jobs::put> put_by_tls(tls::tls_context server, tls::tls_context client, std::string host) {
  result_of<jobs::put> got;
  with_server([&](server_world& in) -> task<> {
    const runtime::address at =
        runtime::address::parse("unix:@foliot-tls-client-" + std::to_string(::getpid())).value();
    runtime::listener gate = runtime::listener::listen(at).value();
    auto accepting = runtime::spawn(accept_by_tls(in, gate, server), "accepts");
    {
      client_options options;
      options.server = tls_endpoint_at(at, host, client);
      job_client jobs(options);
      jobs::put mail;
      mail.tube = "mail";
      mail.body = "x";
      auto putting = jobs.ask(mail, 100ms);
      got = co_await putting;
    }
    gate.close();
    co_await accepting.join();
  });
  return got;
}

TEST(ClientByTls, PutsAtAServerThatItTrusts) {
  const auto put = put_by_tls(foliot::test::server(), foliot::test::client(), "localhost");
  EXPECT_TRUE(put) << put.error().text;
}

TEST(ClientByTls, RefusesAServerWithAnotherName) {
  const auto put = put_by_tls(foliot::test::server(), foliot::test::client(), "jobs.example.org");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().what, client_error::kind::unreachable);
  EXPECT_TRUE(tls::is_certificate_error(put.error().cause)) << put.error().text;
  EXPECT_FALSE(put.error().is_in_doubt);
}

TEST(ClientByTls, ShowsItsCertificate) {
  tls::tls_options wanting = foliot::test::identified(foliot::test::issue({}, &foliot::test::authority()));
  wanting.roots = {tls::pem::text(foliot::test::authority().certificate)};
  wanting.from_clients = tls::client_certificates::required;
  const auto server = tls::tls_context::server(wanting).value();
  tls::tls_options own =
      foliot::test::identified(foliot::test::issue({.common_name = "worker"}, &foliot::test::authority()));
  own.roots = foliot::test::trusting().roots;
  const auto shown = put_by_tls(server, tls::tls_context::client(own).value(), "localhost");
  EXPECT_TRUE(shown) << shown.error().text;
  const auto not_shown = put_by_tls(server, foliot::test::client(), "localhost");
  EXPECT_FALSE(not_shown);
}

}  // namespace
}  // namespace foliot::client
