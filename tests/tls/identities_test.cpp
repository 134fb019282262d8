// A server for several hosts, each with its own certificate.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "peers.hpp"
#include "verdicts.hpp"

namespace foliot::tls {
namespace {

using test::authority;
using test::encrypted_key;
using test::identified;
using test::identity;
using test::issue;
using test::judge;
using test::local_pair;
using test::shake;
using test::trusting;
using test::verdict;
using test::verdicts;
using test::wish;

/// The names in the certificate that the server shows to a client that asks for `host`, in either version of TLS.
std::string shown_for(const std::string& host, const tls_context& server, tls_version version) {
  tls_options wants;
  wants.verify_server = false;
  wants.maximum = version;
  const tls_context client = tls_context::client(wants).value();
  std::string names;
  const auto look = [&]() -> task<> {
    const auto made = co_await shake(local_pair(), client, server, host);
    EXPECT_TRUE(made.client.has_value()) << verdict(made.client);
    if (!made.client) co_return;
    const tls_certificate shown = made.client->peer_certificate().value();
    for (const std::string& each : shown.names) names += each + " ";
  };
  virtual_clock clock;
  runtime::run_options options;
  options.clock = &clock;
  runtime::run(look, options);
  return names;
}

TEST(Identities, OfTheHostThatIsAskedForIsShown) {
  const auto for_names = [](std::vector<std::string> names) {
    wish what;
    what.common_name = "any.example";  // counts for nothing
    what.names = std::move(names);
    return issue(what, &authority());
  };
  tls_options options = identified(for_names({"DNS:a.example", "DNS:*.wild.example"}));
  const identity second = for_names({"DNS:b.example", "DNS:a.example"});
  const identity third = for_names({"DNS:c.example"});
  options.further_identities.push_back({pem::text(second.certificate), pem::text(second.key), ""});
  options.further_identities.push_back({pem::text(third.certificate + encrypted_key(third, "secret")), {}, "secret"});
  const tls_context server = tls_context::server(options).value();
  for (const tls_version version : {tls_version::tls_1_2, tls_version::tls_1_3}) {
    EXPECT_EQ(shown_for("b.example", server, version), "b.example a.example ");
    EXPECT_EQ(shown_for("C.EXAMPLE", server, version), "c.example ");
    EXPECT_EQ(shown_for("a.example", server, version), "a.example *.wild.example ");  // the first of two
    EXPECT_EQ(shown_for("x.wild.example", server, version), "a.example *.wild.example ");
    EXPECT_EQ(shown_for("any.example", server, version), "a.example *.wild.example ");
    EXPECT_EQ(shown_for("127.0.0.1", server, version), "a.example *.wild.example ");  // sends no name
  }
  // The client verifies the certificate that it is shown.
  EXPECT_EQ(judge(tls_context::client(trusting()).value(), server, "c.example"), verdicts{});
  EXPECT_EQ(judge(tls_context::client(trusting()).value(), server, "d.example").client,
            "certificate verify failed: hostname mismatch");
}

/// An identity that an authority between it and the root has signed.
identity with_chain(const std::string& host, bool rsa) {
  const identity between = issue({.common_name = "between", .names = {}, .authority = true}, &authority());
  identity made = issue({.names = {"DNS:" + host}, .rsa = rsa}, &between);
  made.certificate += between.certificate;
  return made;
}

// The own certificate would suit each client as well, or better, if the kind of its key decided.
TEST(Identities, TheKindOfKeyAndTheChainAreThoseOfTheHost) {
  const tls_context client = tls_context::client(trusting()).value();
  for (const bool own_is_rsa : {false, true}) {
    for (const bool own_has_chain : {false, true}) {
      const auto issued = [&](const std::string& host, bool rsa, bool chain) {
        return chain ? with_chain(host, rsa) : issue({.names = {"DNS:" + host}, .rsa = rsa}, &authority());
      };
      tls_options options = identified(issued("a.example", own_is_rsa, own_has_chain));
      const identity other = issued("b.example", !own_is_rsa, !own_has_chain);
      options.further_identities = {{pem::text(other.certificate), pem::text(other.key), ""}};
      for (const tls_version newest : {tls_version::tls_1_2, tls_version::tls_1_3}) {
        options.maximum = newest;
        const tls_context server = tls_context::server(options).value();
        EXPECT_EQ(judge(client, server, "a.example"), verdicts{});
        EXPECT_EQ(judge(client, server, "b.example"), verdicts{});
      }
    }
  }
}

TEST(Identities, AContextKnowsItsOwnCertificate) {
  const identity first = issue({.common_name = "first"}, &authority());
  tls_options options = identified(first);
  options.certificate_chain = pem::text(first.certificate + authority().certificate);
  const auto own = tls_context::server(options).value().own_certificate();
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->subject, "CN=first");
  EXPECT_EQ(own->pem, first.certificate);
  EXPECT_FALSE(test::client().own_certificate().has_value());
  EXPECT_FALSE(tls_context().own_certificate().has_value());
}

TEST(Identities, EachMustBeWhole) {
  tls_options options = identified(issue({}, &authority()));
  const identity good = issue({}, &authority());
  options.further_identities = {{}};
  EXPECT_EQ(tls_context::server(options).error(), tls_errc::no_certificate);
  options.further_identities = {{pem::text(good.certificate), pem::text(issue({}, &authority()).key), ""}};
  EXPECT_EQ(tls_context::server(options).error().message(), "key values mismatch");
  options.further_identities = {{pem::text(good.certificate), {}, ""}};
  EXPECT_FALSE(tls_context::server(options).has_value());
  tls_options of_client = trusting();
  of_client.further_identities = {{pem::text(good.certificate), pem::text(good.key), ""}};
  EXPECT_EQ(tls_context::client(of_client).error(), std::errc::invalid_argument);
}

}  // namespace
}  // namespace foliot::tls
