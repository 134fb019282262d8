// Which certificates connections get: those of the start, and those that have replaced them in the files.
#include "server/core/tls_certificates.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/with_timeout.hpp>
#include <foliot/tls/tls_stream.hpp>

#include "programs/temporary_directory.hpp"
#include "server/core/stream_over.hpp"
#include "support/virtual_time.hpp"
#include "text/failure.hpp"
#include "tls/certificates.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using test::authority;
using test::identity;
using test::issue;
using test::other_authority;
using test::wish;

/// The wall clock, from where the test sets it.
class settable_clock final : public clock {
 public:
  [[nodiscard]] instant now() const noexcept override { return wall_clock::instance().now() + ahead; }
  duration ahead{};
};

identity named(const std::string& name) {
  wish what;
  what.common_name = name;
  return issue(what, &authority());
}

identity valid_for_days(int first, int last) {
  wish what;
  what.first_day = first;
  what.last_day = last;
  return issue(what, &authority());
}

std::string half(const std::string& text) { return text.substr(0, text.size() / 2); }

class TlsCertificates : public testing::Test {
 protected:
  /// Each time another file, so that no change is too quick for the clock of the file system.
  void put(const std::string& name, const std::string& text) {
    put_contents(folder / "new", text);
    std::filesystem::rename(folder / "new", folder / name);
  }
  void put(const identity& who) {
    put("cert.pem", who.certificate);
    put("key.pem", who.key);
  }
  [[nodiscard]] tls_files files() const { return {folder / "cert.pem", folder / "key.pem", ""}; }
  [[nodiscard]] tls_files files_with_clients() const {
    return {folder / "cert.pem", folder / "key.pem", folder / "clients.pem"};
  }
  /// The warnings since the last call.
  std::vector<std::string> warnings() { return std::exchange(lines, {}); }
  /// As often as watch() looks in three seconds.
  static void look_for_a_while(tls_certificates& at) {
    for (int i = 0; i < 3; ++i) at.look();
  }
  std::string why_not(const tls_files& which) {
    try {
      const tls_certificates made(which, log, wall);
    } catch (const failure& error) {
      return error.what();
    }
    return "it is taken";
  }

  temporary_directory folder;
  settable_clock wall;
  std::vector<std::string> lines;
  server_log log{true, monotonic_clock::instance(),
                 [this](std::string_view line) { lines.emplace_back(line.substr(line.find(' ') + 1)); }};
};

using texts = std::vector<std::string>;

// ---------------------------------------------------------------- what connections get

struct both_ends {
  both_ends(std::unique_ptr<byte_stream> of_server, tls::or_error<tls::tls_stream> of_client)
      : server(std::move(of_server)), client(std::move(of_client)) {}

  /// What the client sees of the server.
  [[nodiscard]] std::string subject() const { return client ? client->peer_certificate()->subject : "none"; }

  std::unique_ptr<byte_stream> server;
  tls::or_error<tls::tls_stream> client;
};

task<both_ends> meet(tls_certificates& at, tls::tls_context who) {
  auto below = runtime::stream::pair().value();
  const listener::opening opens = at.opening();
  auto opening = runtime::spawn(opens(std::move(below.first)), "opens");
  auto connecting = tls::tls_stream::connect(std::move(below.second), who, "localhost");
  auto client = co_await connecting;
  std::unique_ptr<byte_stream> server = co_await opening.join();
  co_return both_ends(std::move(server), std::move(client));
}

task<std::string> subject_for_next(tls_certificates& at) {
  auto meeting = meet(at, test::client());
  const both_ends made = co_await meeting;
  co_return made.subject();
}

std::string next_subject(tls_certificates& at) {
  std::string seen;
  const auto look = [&]() -> task<> {
    auto asking = subject_for_next(at);
    seen = co_await asking;
  };
  test::on_virtual_time(look);
  return seen;
}

// ---------------------------------------------------------------- the start

TEST_F(TlsCertificates, OfTheStart) {
  put(named("first"));
  tls_certificates all(files(), log, wall);
  EXPECT_EQ(next_subject(all), "CN=first");
  const tls_figures seen = all.figures();
  const auto left = seen.ends - std::chrono::floor<std::chrono::seconds>(wall_clock::to_sys(wall.now()));
  EXPECT_GT(left, 29 * 24h);
  EXPECT_LE(left, 30 * 24h);
  EXPECT_EQ(seen.taken, 1U);
  EXPECT_FALSE(seen.is_refused);
  EXPECT_EQ(seen.failed, 0U);
  EXPECT_EQ(warnings(), texts());
}

TEST_F(TlsCertificates, TheKeyMayBeInTheSameFile) {
  const identity who = named("whole");
  put("cert.pem", who.certificate + who.key);
  tls_certificates all({folder / "cert.pem", "", ""}, log, wall);
  EXPECT_EQ(next_subject(all), "CN=whole");
}

TEST_F(TlsCertificates, ABadStartSaysWhatIsWrong) {
  const identity good = named("good");
  const std::string cert = folder / "cert.pem";
  const std::string key = folder / "key.pem";
  EXPECT_EQ(why_not(files()), "cannot read '" + cert + "': No such file or directory");
  put(good);
  EXPECT_EQ(why_not(files()), "it is taken");
  EXPECT_EQ(why_not({folder / ".", key, ""}), "'" + (folder / ".") + "' is no regular file");
  EXPECT_EQ(why_not(files_with_clients()), "cannot read '" + (folder / "clients.pem") + "': No such file or directory");
  put("clients.pem", "nothing");
  EXPECT_EQ(why_not(files_with_clients()), "'" + (folder / "clients.pem") + "' has no certificate");
  put("clients.pem", authority().certificate + half(other_authority().certificate));
  EXPECT_TRUE(
      why_not(files_with_clients()).starts_with("the certificates in '" + (folder / "clients.pem") + "' cannot"));

  const std::string pair = "the certificate in '" + cert + "' and the key in '" + key + "' cannot be used: ";
  put("key.pem", named("other").key);
  EXPECT_EQ(why_not(files()), pair + "key values mismatch");
  for (const std::string& none : {std::string(), good.certificate}) {
    put("key.pem", none);
    EXPECT_EQ(why_not(files()), "'" + key + "' has no private key");
  }
  EXPECT_EQ(why_not({cert, "", ""}), "'" + cert + "' has no private key: name the file of the key by --tls-key");
  put("key.pem", half(good.key));
  EXPECT_NE(why_not(files()), "it is taken");
  put("key.pem", test::encrypted_key(good, "secret"));
  EXPECT_TRUE(why_not(files()).starts_with("the key in '" + key + "' is encrypted with a password: "))
      << why_not(files());
  put("key.pem", good.key);
  put("cert.pem", half(good.certificate));
  EXPECT_TRUE(why_not(files()).starts_with(pair)) << why_not(files());
  put("cert.pem", "");
  EXPECT_EQ(why_not(files()), "'" + cert + "' has no certificate");
  put("cert.pem", std::string((std::size_t{1} << 20) + 1, 'x'));
  EXPECT_EQ(why_not(files()),
            "'" + cert + "' has 1048577 bytes, and a file with certificates or a key has at most 1048576");
  put(valid_for_days(-3, -1));
  EXPECT_TRUE(why_not(files()).starts_with("the certificate in '" + cert + "' has expired at 2")) << why_not(files());
  put(valid_for_days(1, 3));
  EXPECT_TRUE(why_not(files()).starts_with("the certificate in '" + cert + "' is not valid before 2"));
}

// ---------------------------------------------------------------- changes

TEST_F(TlsCertificates, AChangeIsTakenWhenItLasts) {
  put(named("first"));
  tls_certificates all(files(), log, wall);
  look_for_a_while(all);
  EXPECT_EQ(all.figures().taken, 1U) << "nothing has changed";
  const identity second = named("second");
  put("cert.pem", second.certificate);
  all.look();
  put("key.pem", second.key);  // a second later
  all.look();
  EXPECT_EQ(next_subject(all), "CN=first");
  all.look();
  EXPECT_EQ(next_subject(all), "CN=second");
  look_for_a_while(all);
  EXPECT_EQ(all.figures().taken, 2U);
  EXPECT_EQ(warnings(), texts()) << "a pair that is half written is no bad one";
}

TEST_F(TlsCertificates, WhatIsAskedForIsReadAtOnce) {
  put(named("first"));
  tls_certificates all(files(), log, wall);
  put(named("second"));
  all.reread();
  EXPECT_EQ(next_subject(all), "CN=second");
  look_for_a_while(all);
  EXPECT_EQ(all.figures().taken, 2U) << "the looks see nothing new";
}

// As certbot does it: each path is a link to a file, and the links are replaced.
TEST_F(TlsCertificates, LinksThatAreReplaced) {
  const auto link = [this](const std::string& name, const std::string& to) {
    std::filesystem::remove(folder / "link");
    std::filesystem::create_symlink(to, folder / "link");
    std::filesystem::rename(folder / "link", folder / name);
  };
  put(named("first"));
  for (const std::string name : {"cert", "key"}) {
    std::filesystem::rename(folder / (name + ".pem"), folder / (name + "1.pem"));
    link(name + ".pem", name + "1.pem");
  }
  tls_certificates all(files(), log, wall);
  const identity second = named("second");
  put("cert2.pem", second.certificate);
  put("key2.pem", second.key);
  look_for_a_while(all);
  EXPECT_EQ(next_subject(all), "CN=first");
  link("cert.pem", "cert2.pem");
  link("key.pem", "key2.pem");
  look_for_a_while(all);
  EXPECT_EQ(next_subject(all), "CN=second");
  EXPECT_EQ(warnings(), texts());
}

// As Kubernetes does it: the paths lead through a link to a folder, and that is replaced.
TEST_F(TlsCertificates, AFolderThatIsReplaced) {
  for (const std::string name : {"first", "second"}) {
    const identity who = named(name);
    std::filesystem::create_directory(folder / name);
    put_contents(folder / name + "/tls.crt", who.certificate);
    put_contents(folder / name + "/tls.key", who.key);
  }
  std::filesystem::create_symlink("first", folder / "..data");
  std::filesystem::create_symlink("..data/tls.crt", folder / "cert.pem");
  std::filesystem::create_symlink("..data/tls.key", folder / "key.pem");
  tls_certificates all(files(), log, wall);
  EXPECT_EQ(next_subject(all), "CN=first");
  std::filesystem::create_symlink("second", folder / "..data_tmp");
  std::filesystem::rename(folder / "..data_tmp", folder / "..data");
  look_for_a_while(all);
  EXPECT_EQ(next_subject(all), "CN=second");
}

TEST_F(TlsCertificates, WhatIsTakenBackIsRefusedNoMore) {
  const identity first = named("first");
  std::filesystem::create_directory(folder / "good");
  std::filesystem::create_directory(folder / "bad");
  put_contents(folder / "good/cert.pem", first.certificate + first.key);
  put_contents(folder / "bad/cert.pem", half(first.certificate));
  const auto point_to = [this](const char* name) {
    std::filesystem::create_symlink(name, folder / "new");
    std::filesystem::rename(folder / "new", folder / "live");
  };
  point_to("good");
  tls_certificates all({folder / "live/cert.pem", "", ""}, log, wall);
  for (int i = 0; i < 2; ++i) {
    point_to("bad");
    look_for_a_while(all);
    EXPECT_TRUE(all.figures().is_refused);
    EXPECT_EQ(warnings().size(), 1U);
    point_to("good");
    look_for_a_while(all);
    EXPECT_FALSE(all.figures().is_refused);
  }
  EXPECT_EQ(all.figures().taken, 1U);
  EXPECT_EQ(warnings(), texts());
}

TEST_F(TlsCertificates, ABadPairKeepsTheOneBeforeWithOneWarning) {
  const identity first = named("first");
  const identity next = named("next");
  std::uint64_t taken = 0;
  const auto is_refused = [&](const char* what, const auto& change) {
    SCOPED_TRACE(what);
    put(first);
    tls_certificates all(files(), log, wall);
    change();
    look_for_a_while(all);
    look_for_a_while(all);
    EXPECT_EQ(next_subject(all), "CN=first");
    EXPECT_TRUE(all.figures().is_refused);
    const texts said = warnings();
    EXPECT_EQ(said.size(), 1U) << "and no more of the same files";
    if (said.size() == 1) {
      EXPECT_TRUE(said[0].starts_with("warning the new TLS certificate is not used: ")) << said[0];
      EXPECT_TRUE(said[0].contains("; clients still get CN=first, valid until 2")) << said[0];
    }
    all.reread();
    EXPECT_EQ(warnings().size(), 1U) << "who asks again is told again";
    put(next);
    look_for_a_while(all);
    EXPECT_EQ(next_subject(all), "CN=next");
    EXPECT_FALSE(all.figures().is_refused);
    EXPECT_EQ(warnings(), texts());
    taken += all.figures().taken;
  };
  is_refused("a key of another certificate", [&] { put("key.pem", named("other").key); });
  is_refused("expired", [&] { put(valid_for_days(-3, -1)); });
  is_refused("not yet valid", [&] { put(valid_for_days(1, 3)); });
  is_refused("missing", [&] { std::filesystem::remove(folder / "key.pem"); });
  is_refused("half a certificate", [&] { put("cert.pem", half(next.certificate)); });
  is_refused("half a key", [&] { put({next.certificate, half(next.key)}); });
  is_refused("empty", [&] { put({"", ""}); });
  EXPECT_EQ(taken, 14U);
}

TEST_F(TlsCertificates, ABadOneThatComesGoodIsTaken) {
  put(named("first"));
  tls_certificates all(files(), log, wall);
  put(valid_for_days(1, 3));
  look_for_a_while(all);
  EXPECT_TRUE(all.figures().is_refused);
  wall.ahead = 48h;  // the files are the same, but what was wrong with them was not in them
  all.look();
  EXPECT_FALSE(all.figures().is_refused);
  EXPECT_EQ(all.figures().taken, 2U);
}

TEST_F(TlsCertificates, TheEndIsWarnedOfOnce) {
  put(named("first"));
  tls_certificates all(files(), log, wall);
  look_for_a_while(all);
  EXPECT_EQ(warnings(), texts());
  wall.ahead = 31 * 24h;
  look_for_a_while(all);
  const texts said = warnings();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].starts_with("warning the TLS certificate CN=first has expired at 2")) << said[0];
  EXPECT_EQ(next_subject(all), "CN=first") << "there is no better one";
}

// ---------------------------------------------------------------- connections

TEST_F(TlsCertificates, AnOpenConnectionKeepsWhatItHas) {
  put(named("first"));
  tls_certificates all(files(), log, wall);
  const auto live = [&]() -> task<> {
    auto meeting = meet(all, test::client());
    both_ends before = co_await meeting;
    put(named("second"));
    all.reread();
    auto meeting_again = meet(all, test::client());
    both_ends after = co_await meeting_again;
    EXPECT_EQ(before.subject(), "CN=first");
    EXPECT_EQ(after.subject(), "CN=second");
    for (const both_ends* const each : {&before, &after}) {
      const bool written = co_await write_all(*each->server, "hello");
      EXPECT_TRUE(written);
      std::string bytes(5, '\0');
      const auto got = co_await each->client->read_all(std::span(bytes));
      EXPECT_EQ(got.value_or(0), 5U);
      EXPECT_EQ(bytes, "hello");
    }
  };
  test::on_virtual_time(live);
}

TEST_F(TlsCertificates, AFailedHandshakeOpensNothingAndIsCounted) {
  put(named("first"));
  tls_certificates all(files(), log, wall);
  const auto live = [&]() -> task<> {
    const listener::opening opens = all.opening();
    for (const std::string_view sent :
         {"put 0 0 60 1\r\nx\r\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x05hello", ""}) {
      auto below = runtime::stream::pair().value();
      const auto written = co_await below.second.write_all(sent);
      EXPECT_TRUE(written);
      static_cast<void>(below.second.close_write());
      auto opening = opens(std::move(below.first));
      const std::unique_ptr<byte_stream> opened = co_await opening;
      EXPECT_EQ(opened, nullptr) << sent;
    }
  };
  test::on_virtual_time(live);
  EXPECT_EQ(all.figures().failed, 4U);
  const texts said = warnings();
  ASSERT_EQ(said.size(), 1U) << "clients can cause it any number of times";
  EXPECT_TRUE(said[0].starts_with("warning close the connection from a local socket: its TLS handshake has failed: "))
      << said[0];
}

TEST_F(TlsCertificates, AHandshakeThatTakesTooLongIsCounted) {
  put(named("first"));
  tls_certificates all(files(), log, wall);
  const auto live = [&]() -> task<> {
    auto below = runtime::stream::pair().value();
    const listener::opening opens = all.opening();
    auto opening = runtime::with_timeout(opens(std::move(below.first)), 10s);
    const auto opened = co_await opening;
    EXPECT_FALSE(opened.has_value());
  };
  test::on_virtual_time(live);
  EXPECT_EQ(all.figures().failed, 1U);
  EXPECT_EQ(warnings(), texts()) << "a client that only looks whether somebody listens is no line";
}

TEST_F(TlsCertificates, AClientMayShowACertificateWhereItIsAskedFor) {
  put(named("first"));
  put("clients.pem", authority().certificate);
  tls_certificates asks(files_with_clients(), log, wall);
  tls_certificates ignores(files(), log, wall);
  const auto with = [](const identity& who) {
    tls::tls_options options = test::identified(who);
    options.roots = test::trusting().roots;
    return tls::tls_context::client(options).value();
  };
  const tls::tls_context known = with(named("worker"));
  const tls::tls_context stranger = with(issue({}, &other_authority()));
  const auto live = [&]() -> task<> {
    auto meeting = meet(asks, known);
    const both_ends shown = co_await meeting;
    const std::string own = known.own_certificate()->fingerprint;
    EXPECT_EQ(own.size(), 64U);
    EXPECT_EQ(shown.server == nullptr ? "refused" : shown.server->certificate_fingerprint(), own);
    auto meeting_none = meet(asks, test::client());
    const both_ends none = co_await meeting_none;
    EXPECT_EQ(none.server == nullptr ? "refused" : none.server->certificate_fingerprint(), "");
    auto meeting_stranger = meet(asks, stranger);
    const both_ends refused = co_await meeting_stranger;
    EXPECT_EQ(refused.server, nullptr);
    auto meeting_unasked = meet(ignores, known);
    const both_ends unasked = co_await meeting_unasked;
    EXPECT_EQ(unasked.server == nullptr ? "refused" : unasked.server->certificate_fingerprint(), "");
    auto plain = runtime::stream::pair().value();
    EXPECT_EQ(over(std::move(plain.first))->certificate_fingerprint(), "");
  };
  test::on_virtual_time(live);
}

/// OpenSSL judges by the clock of the system, and not at all where a session is taken up again.
TEST_F(TlsCertificates, ACertificateOfAClientThatHasEndedIsRefusedByTheServersClock) {
  put(named("first"));
  put("clients.pem", authority().certificate);
  tls_certificates asks(files_with_clients(), log, wall);
  tls::tls_options options = test::identified(valid_for_days(-1, 1));
  options.roots = test::trusting().roots;
  const tls::tls_context who = tls::tls_context::client(options).value();
  const auto live = [&]() -> task<> {
    auto meeting = meet(asks, who);
    const both_ends shown = co_await meeting;
    EXPECT_NE(shown.server, nullptr);
    wall.ahead = 48h;
    auto meeting_again = meet(asks, who);
    const both_ends ended = co_await meeting_again;
    EXPECT_EQ(ended.server, nullptr);
    auto meeting_none = meet(asks, test::client());
    const both_ends none = co_await meeting_none;
    EXPECT_NE(none.server, nullptr);
  };
  test::on_virtual_time(live);
  EXPECT_EQ(asks.figures().failed, 1U);
  const texts said = warnings();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(
      said[0].starts_with("warning close the connection from a local socket: the client's certificate has expired "
                          "at 2"))
      << said[0];
}

/// How a client with this certificate learns that it is refused. With TLS 1.3 it is sending by then.
task<std::string> refusal_of(tls_certificates& at, tls::tls_context who) {
  auto below = runtime::stream::pair().value();
  const listener::opening opens = at.opening();
  auto opening = runtime::spawn(opens(std::move(below.first)), "opens");
  auto connecting = tls::tls_stream::connect(std::move(below.second), who, "localhost");
  auto client = co_await connecting;
  std::string refusal = client ? "none" : client.error().message();
  if (client) {
    co_await runtime::sleep(1ms);  // on virtual time: the server has judged the certificate
    const auto written = co_await client->write_all(std::string_view("stats\r\n"));
    EXPECT_TRUE(written.has_value()) << written.error().message();
    std::string bytes(1, '\0');
    const auto got = co_await client->read_some(std::span(bytes));
    if (!got) refusal = got.error().message();
    client->close();
  }
  const std::unique_ptr<byte_stream> opened = co_await opening.join();
  EXPECT_EQ(opened, nullptr);
  co_return refusal;
}

TEST_F(TlsCertificates, AClientThatIsRefusedLearnsWhy) {
  put(named("first"));
  put("clients.pem", authority().certificate);
  tls_certificates asks(files_with_clients(), log, wall);
  const std::vector<std::pair<identity, std::string>> refused{
      {issue({}, &other_authority()), "tlsv1 alert unknown ca"},
      {issue({}, nullptr), "tlsv1 alert unknown ca"},
      {valid_for_days(-3, -1), "sslv3 alert certificate expired"},
  };
  const auto live = [&]() -> task<> {
    for (const auto& [who, alert] : refused) {
      for (const tls::tls_version version : {tls::tls_version::tls_1_2, tls::tls_version::tls_1_3}) {
        tls::tls_options options = test::identified(who);
        options.roots = test::trusting().roots;
        options.minimum = options.maximum = version;
        auto trying = refusal_of(asks, tls::tls_context::client(options).value());
        const std::string told = co_await trying;
        EXPECT_EQ(told, alert);
      }
    }
  };
  const instant before = monotonic_clock::instance().now();
  test::on_virtual_time(live);
  EXPECT_EQ(asks.figures().failed, 6U);
  const texts said = warnings();
  ASSERT_FALSE(said.empty());
  EXPECT_LE(static_cast<std::int64_t>(said.size()),
            1 + (monotonic_clock::instance().now() - before) / server_log::between_warnings);
  EXPECT_EQ(
      said[0],
      "warning close the connection from a local socket: its TLS handshake has failed: certificate verify failed: "
      "unable to get local issuer certificate\n");
}

TEST_F(TlsCertificates, AreWatched) {
  put(named("first"));
  tls_certificates all(files(), log, wall);
  const auto live = [&]() -> task<> {
    static_cast<void>(runtime::spawn(all.watch(), "watches the certificates"));
    co_await runtime::sleep(10s);
    EXPECT_EQ(all.figures().taken, 1U);
    put(named("second"));
    co_await runtime::sleep(3s);
    EXPECT_EQ(all.figures().taken, 2U);
    put(named("third"));
    all.ask();
    co_await runtime::sleep(1ms);
    EXPECT_EQ(all.figures().taken, 3U);
    auto asking = subject_for_next(all);
    const std::string seen = co_await asking;
    EXPECT_EQ(seen, "CN=third");
  };
  test::on_virtual_time(live);
}

}  // namespace
}  // namespace foliot::program
