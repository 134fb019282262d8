// Handshakes: what both sides agree on, which peers they refuse, and the message of each refusal.
#include <fstream>
#include <string>
#include <vector>

#include <foliot/runtime/net/io_error.hpp>

#include "peers.hpp"
#include "verdicts.hpp"

namespace foliot::tls {
namespace {

using test::authority;
using test::error_of;
using test::everywhere;
using test::identified;
using test::identity;
using test::in_virtual_worlds;
using test::issue;
using test::judge;
using test::local_pair;
using test::shake;
using test::shaken;
using test::trusting;
using test::verdict;
using test::verdicts;

tls_context server_with(const identity& who) { return tls_context::server(identified(who)).value(); }

TEST(Handshake, AgreesOnEverything) {
  tls_options ours = trusting();
  ours.protocols = {"h2", "http/1.1"};
  const tls_context client = tls_context::client(ours).value();
  tls_options theirs = identified(issue({}, &authority()));
  theirs.protocols = {"spdy", "http/1.1", "h2"};
  const tls_context server = tls_context::server(theirs).value();
  everywhere([&]() -> task<> {
    auto made = co_await shake(local_pair(), client, server, "www.example.com.");
    EXPECT_TRUE(made.client.has_value()) << verdict(made.client);
    EXPECT_TRUE(made.server.has_value()) << verdict(made.server);
    if (!made.client || !made.server) co_return;
    for (const tls_stream* each : {&*made.client, &*made.server}) {
      EXPECT_TRUE(*each);
      EXPECT_EQ(each->version(), tls_version::tls_1_3);
      EXPECT_EQ(each->protocol(), "http/1.1");  // the server's order decides
      EXPECT_TRUE(each->cipher().starts_with("TLS_"));
      EXPECT_EQ(each->server_name(), "www.example.com");
      EXPECT_TRUE(each->local_address().has_value());
      EXPECT_TRUE(each->peer_address().has_value());
    }
    EXPECT_FALSE(made.server->peer_certificate().has_value());
    const auto shown = made.client->peer_certificate();
    EXPECT_TRUE(shown.has_value());
    if (!shown) co_return;
    EXPECT_EQ(shown->subject, "CN=server");
    EXPECT_EQ(shown->issuer, "CN=authority");
    EXPECT_EQ(shown->names, (std::vector<std::string>{"localhost", "*.example.com", "127.0.0.1", "::1"}));
    EXPECT_EQ(shown->not_after - shown->not_before, std::chrono::days(31));
    EXPECT_EQ(shown->fingerprint.size(), 64U);
    EXPECT_EQ(shown->pem, theirs.certificate_chain.value());
    EXPECT_FALSE(shown->serial_number.empty());
    made.client->close();
    EXPECT_EQ(made.client->version(), tls_version::tls_1_3);
    EXPECT_FALSE(*made.client);
  });
}

TEST(Handshake, AcceptsTheHostsOfTheCertificate) {
  for (const char* const host : {"localhost", "LOCALHOST", "localhost.", "a.example.com", "127.0.0.1", "::1"}) {
    EXPECT_EQ(judge(test::client(), test::server(), host), verdicts()) << host;
  }
}

TEST(Handshake, RefusesOtherHosts) {
  for (const char* host : {"example.org", "example.com", "a.b.example.com", "server"}) {
    EXPECT_EQ(judge(test::client(), test::server(), host).client, "certificate verify failed: hostname mismatch")
        << host;
  }
  const auto both = judge(test::client(), test::server(), "127.0.0.2");
  EXPECT_EQ(both.client, "certificate verify failed: IP address mismatch");
  EXPECT_EQ(both.server, "sslv3 alert bad certificate");
  // For OpenSSL alone ".com" would be any name below "com", and the text would end at a NUL.
  for (const std::string& host :
       {std::string(), std::string("."), std::string(".example.com"), std::string("localhost\0.evil.org", 19),
        std::string(254, 'a'), std::string(300, 'a'), std::string(100'000, 'a')}) {
    EXPECT_EQ(judge(test::client(), test::server(), host).client,
              std::make_error_code(std::errc::invalid_argument).message());
  }
  const std::string longest =
      std::string(63, 'a') + "." + std::string(63, 'b') + "." + std::string(63, 'c') + "." + std::string(61, 'd');
  for (const std::string& host : {longest, longest + "."}) {
    EXPECT_EQ(judge(test::client(), test::server(), host).client, "certificate verify failed: hostname mismatch");
  }
}

TEST(Handshake, RefusesCertificatesThatAreNotValid) {
  const tls_context expired = server_with(issue({.first_day = -30, .last_day = -1}, &authority()));
  EXPECT_EQ(judge(test::client(), expired),
            (verdicts{"certificate verify failed: certificate has expired", "sslv3 alert certificate expired"}));
  const tls_context early = server_with(issue({.first_day = 2}, &authority()));
  EXPECT_EQ(judge(test::client(), early),
            (verdicts{"certificate verify failed: certificate is not yet valid", "sslv3 alert bad certificate"}));
  const tls_context self_signed = server_with(issue({}, nullptr));
  EXPECT_EQ(judge(test::client(), self_signed),
            (verdicts{"certificate verify failed: self-signed certificate", "tlsv1 alert unknown ca"}));
  const tls_context stranger = server_with(issue({}, &test::other_authority()));
  EXPECT_EQ(judge(test::client(), stranger),
            (verdicts{"certificate verify failed: unable to get local issuer certificate", "tlsv1 alert unknown ca"}));
  // The names are in the extension, or there are none.
  const tls_context old_style = server_with(issue({.common_name = "localhost", .names = {}}, &authority()));
  EXPECT_EQ(judge(test::client(), old_style).client, "certificate verify failed: hostname mismatch");
  // The system does not know the test's authority.
  const tls_context system = tls_context::client().value();
  EXPECT_EQ(judge(system, test::server()).server, "tlsv1 alert unknown ca");
}

TEST(Handshake, NamesCertificateErrors) {
  in_virtual_worlds([]() -> task<> {
    const auto made = co_await shake(local_pair(), test::client(), test::server(), "example.org");
    EXPECT_FALSE(made.client.has_value());
    EXPECT_TRUE(is_certificate_error(made.client.error()));
    EXPECT_STREQ(made.client.error().category().name(), "foliot.tls");
    EXPECT_FALSE(made.server.has_value());
    EXPECT_FALSE(is_certificate_error(made.server.error()));
  });
}

TEST(Handshake, AcceptsAnyServerIfItIsAskedTo) {
  tls_options careless;
  careless.verify_server = false;
  const tls_context client = tls_context::client(careless).value();
  EXPECT_EQ(judge(client, server_with(issue({}, nullptr)), ""), verdicts());
  EXPECT_EQ(judge(client, server_with(issue({}, nullptr)), "anything"), verdicts());
}

TEST(Handshake, TrustsAChain) {
  const identity middle = issue({.common_name = "middle", .names = {}, .authority = true}, &authority());
  identity leaf = issue({}, &middle);
  EXPECT_EQ(judge(test::client(), server_with(leaf)).client,
            "certificate verify failed: unable to get local issuer certificate");
  leaf.certificate += middle.certificate;
  EXPECT_EQ(judge(test::client(), server_with(leaf)), verdicts());
}

TEST(Handshake, TrustsEachOfSeveralRoots) {
  tls_options both = trusting();
  both.roots.push_back(pem::text(test::other_authority().certificate));
  const tls_context client = tls_context::client(both).value();
  EXPECT_EQ(judge(client, test::server()), verdicts());
  EXPECT_EQ(judge(client, server_with(issue({}, &test::other_authority()))), verdicts());
}

TEST(Handshake, VerifiesClients) {
  tls_options wanted = identified(issue({}, &authority()));
  wanted.roots = trusting().roots;
  wanted.from_clients = client_certificates::required;
  wanted.maximum = tls_version::tls_1_2;  // so that the client learns of it at once
  const tls_context server = tls_context::server(wanted).value();
  EXPECT_EQ(judge(test::client(), server),
            (verdicts{"sslv3 alert handshake failure", "peer did not return a certificate"}));

  const auto client_with = [](const identity& who) {
    tls_options options = identified(who);
    options.roots = trusting().roots;
    return tls_context::client(options).value();
  };
  const tls_context stranger = client_with(issue({.common_name = "mallory"}, nullptr));
  EXPECT_EQ(judge(stranger, server),
            (verdicts{"tlsv1 alert unknown ca", "certificate verify failed: self-signed certificate"}));

  const tls_context known = client_with(issue({.common_name = "alice", .names = {}}, &authority()));
  in_virtual_worlds([&]() -> task<> {
    const auto made = co_await shake(local_pair(), known, server);
    EXPECT_TRUE(made.client.has_value()) << verdict(made.client);
    EXPECT_TRUE(made.server.has_value()) << verdict(made.server);
    if (made.server) {
      EXPECT_EQ(made.server->peer_certificate().value_or(tls_certificate()).subject, "CN=alice");
    }
  });

  wanted.from_clients = client_certificates::optional;
  EXPECT_EQ(judge(test::client(), tls_context::server(wanted).value()), verdicts());
}

TEST(Handshake, TellsAClientOfTheRefusalByTheFirstReadInTls13) {
  tls_options wanted = identified(issue({}, &authority()));
  wanted.roots = trusting().roots;
  wanted.from_clients = client_certificates::required;
  const tls_context server = tls_context::server(wanted).value();
  in_virtual_worlds([&]() -> task<> {
    auto made = co_await shake(local_pair(), test::client(), server);
    EXPECT_TRUE(made.client.has_value());
    EXPECT_EQ(verdict(made.server), "peer did not return a certificate");
    if (!made.client) co_return;
    std::string into(10, ' ');
    for (int i = 0; i < 2; ++i) {  // the error stays
      const auto got = co_await made.client->read_some(std::span<char>(into));
      EXPECT_FALSE(got.has_value());
      if (!got) {
        EXPECT_EQ(got.error().message(), "tlsv13 alert certificate required");
      }
    }
    const auto sent = co_await made.client->write_some(into);
    EXPECT_FALSE(sent.has_value());
  });
}

TEST(Handshake, KeepsToTheVersions) {
  tls_options old = trusting();
  old.maximum = tls_version::tls_1_2;
  const tls_context old_client = tls_context::client(old).value();
  tls_options modern = identified(issue({}, &authority()));
  modern.minimum = tls_version::tls_1_3;
  EXPECT_EQ(judge(old_client, tls_context::server(modern).value()),
            (verdicts{"tlsv1 alert protocol version", "unsupported protocol"}));
  in_virtual_worlds([&]() -> task<> {
    auto [here, there] = co_await test::tls_pair(old_client);
    EXPECT_EQ(here.version(), tls_version::tls_1_2);
    EXPECT_EQ(there.version(), tls_version::tls_1_2);
  });
}

TEST(Handshake, RefusesOtherProtocolsButServesClientsWithoutAny) {
  tls_options options = identified(issue({}, &authority()));
  options.protocols = {"h2"};
  const tls_context server = tls_context::server(options).value();
  tls_options other = trusting();
  other.protocols = {"h", "h22", "http/1.1"};
  EXPECT_EQ(judge(tls_context::client(other).value(), server),
            (verdicts{"tlsv1 alert no application protocol", "no application protocol"}));
  EXPECT_EQ(judge(test::client(), server), verdicts());
  other.protocols = {"h", "h2"};
  EXPECT_EQ(judge(tls_context::client(other).value(), test::server()), verdicts());
}

TEST(Handshake, RefusesAPeerWithoutTls) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    const auto sent = co_await here.write_all(std::string_view("GET / HTTP/1.1\r\n\r\n"));
    EXPECT_TRUE(sent.has_value());
    const auto made = co_await tls_stream::accept(std::move(there), test::server());
    EXPECT_EQ(verdict(made), "http request");
    std::string back(100, ' ');
    const auto got = co_await here.read_some(std::span<char>(back));
    EXPECT_EQ(got.value_or(1), 0U);  // the end
  });
}

TEST(Handshake, RefusesAPeerThatEnds) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    EXPECT_FALSE(here.close_write());
    const auto made = co_await tls_stream::accept(std::move(there), test::server());
    EXPECT_EQ(error_of(made), tls_errc::truncated);
    EXPECT_FALSE(there);
  });
}

TEST(Handshake, RefusesAContextOfTheOtherSide) {
  in_virtual_worlds([]() -> task<> {
    auto [here, there] = local_pair();
    const auto one = co_await tls_stream::connect(std::move(here), test::server(), "localhost");
    EXPECT_EQ(error_of(one), std::errc::invalid_argument);
    const auto other = co_await tls_stream::accept(std::move(there), tls_context());
    EXPECT_EQ(error_of(other), std::errc::invalid_argument);
    const auto closed = co_await tls_stream::accept(runtime::stream(), test::server());
    EXPECT_EQ(error_of(closed), runtime::io_errc::closed);
  });
}

// ---------------------------------------------------------------- contexts

std::string failure(const std::expected<tls_context, std::error_code>& made) {
  return made ? std::string() : made.error().message();
}

TEST(Context, ReadsFiles) {
  const identity who = issue({}, &authority());
  const std::string folder = ::testing::TempDir();
  const std::string both = folder + "foliot_tls_both.pem";
  std::ofstream(both) << "A certificate:\n" << who.certificate << "and its key:\n" << who.key;
  const std::string roots = folder + "foliot_tls_roots.pem";
  std::ofstream(roots) << test::other_authority().certificate << authority().certificate;
  tls_options options;
  options.certificate_chain = pem::file(both);
  const auto server = tls_context::server(options);
  EXPECT_EQ(failure(server), "");
  tls_options trusts;
  trusts.roots.push_back(pem::file(roots));
  const auto client = tls_context::client(trusts);
  EXPECT_EQ(failure(client), "");
  if (client && server) {
    EXPECT_EQ(judge(*client, *server), verdicts());
  }

  options.certificate_chain = pem::file(folder + "foliot_tls_missing.pem");
  EXPECT_EQ(error_of(tls_context::server(options)), std::errc::no_such_file_or_directory);
}

TEST(Context, SaysWhatIsWrong) {
  const identity who = issue({}, &authority());
  EXPECT_EQ(error_of(tls_context::server({})), tls_errc::no_certificate);
  tls_options options = identified(who);
  options.private_key = pem::text(issue({}, &authority()).key);
  EXPECT_EQ(failure(tls_context::server(options)), "key values mismatch");
  options = identified(who);
  options.certificate_chain = pem::text("nothing");
  EXPECT_EQ(error_of(tls_context::server(options)), tls_errc::no_certificate);
  options = identified(who);
  options.certificate_chain = pem::text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  EXPECT_NE(failure(tls_context::server(options)), "");
  options = identified(who);
  options.private_key = pem::text("");
  EXPECT_EQ(error_of(tls_context::server(options)), tls_errc::no_private_key);
  options.private_key = pem::text(who.certificate);
  EXPECT_EQ(error_of(tls_context::server(options)), tls_errc::no_private_key);
  options.private_key = pem::text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
  EXPECT_NE(failure(tls_context::server(options)), "");
  options = identified(who);
  options.from_clients = client_certificates::required;
  EXPECT_EQ(error_of(tls_context::server(options)), tls_errc::no_roots);
  options = identified(who);
  for (const std::string& wrong : {std::string(), std::string(256, 'x')}) {
    options.protocols = {wrong};
    EXPECT_EQ(error_of(tls_context::server(options)), std::errc::invalid_argument);
  }
  options.protocols = {std::string(255, 'x')};
  EXPECT_EQ(failure(tls_context::server(options)), "");
  tls_options client;
  client.roots.push_back(pem::text(authority().certificate + "-----BEGIN CERTIFICATE-----\nbroken"));
  EXPECT_NE(failure(tls_context::client(client)), "");
}

TEST(Context, TakesAnEncryptedKeyAndNeverAsks) {
  const identity who = issue({}, &authority());
  tls_options options = identified(who);
  options.private_key = pem::text(encrypted_key(who, "secret"));
  EXPECT_EQ(error_of(tls_context::server(options)), tls_errc::wrong_password);  // it would wait here if it asked
  options.key_password = "wrong";
  EXPECT_EQ(error_of(tls_context::server(options)), tls_errc::wrong_password);
  options.key_password = "secret";
  const auto server = tls_context::server(options);
  EXPECT_EQ(failure(server), "");
  if (server) {
    EXPECT_EQ(judge(test::client(), *server), verdicts());
  }
}

}  // namespace
}  // namespace foliot::tls
