// Who may come in, and who is told that their rights are gone.
#include "server/access/authority.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>

#include "server/access/access_token.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

using words = std::vector<std::string>;

scope_set scopes_of(std::initializer_list<scope> some) {
  scope_set set;
  for (const scope each : some) set.add(each);
  return set;
}

/// The entry of a token with this text.
access_entry entry_of(const std::string& text, scope_set scopes = scope_set::all(), words prefixes = {""},
                      instant ends = instant::never()) {
  return {.what = access_entry::kind::token,
          .given = std::make_shared<const rights>(std::string(access_token::parse(text)->id()), "one", scopes,
                                                  std::move(prefixes), ends, sha256_of(text))};
}

TEST(Rights, EverythingIsEverything) {
  const auto all = rights::everything();
  for (const named_scope& each : all_scopes) EXPECT_TRUE(all->may(each.what));
  EXPECT_TRUE(all->has_all_tubes());
  EXPECT_TRUE(all->has_tube("mail"));
  EXPECT_TRUE(all->ends().is_never());
  EXPECT_EQ(all->id(), "");
}

TEST(Rights, AreOfTubesByTheirBeginnings) {
  const rights some("id", "", scopes_of({scope::put}), {"mail.", "a", "mail.in", "z/"}, instant::never());
  EXPECT_EQ(some.prefixes(), (words{"a", "mail.", "z/"}));
  for (const char* const each : {"mail.", "mail.in", "mail.out", "a", "ab", "z/z"}) EXPECT_TRUE(some.has_tube(each));
  for (const char* const each : {"", "mail", "mailx", "b", "z", "zz/", "A"}) EXPECT_FALSE(some.has_tube(each));
  EXPECT_FALSE(some.has_all_tubes());
  EXPECT_EQ(some.prefixes_within(""), (words{"a", "mail.", "z/"}));
  EXPECT_EQ(some.prefixes_within("m"), (words{"mail."}));
  EXPECT_EQ(some.prefixes_within("mail.in"), (words{"mail.in"}));
  EXPECT_EQ(some.prefixes_within("x"), words{});
  const rights none("id", "", scope_set::all(), {}, instant::never());
  EXPECT_FALSE(none.has_tube(""));
  EXPECT_FALSE(none.has_tube("a"));
}

TEST(Rights, CoverWhatTheyAllow) {
  const rights wide("id", "", scopes_of({scope::put, scope::look}), {"mail", "a"}, instant::never());
  const rights same("id", "", scopes_of({scope::put, scope::look}), {"a", "mail"}, instant::never());
  const rights narrow("id", "", scopes_of({scope::look}), {"mail.in"}, instant::never());
  const rights other("id", "", scopes_of({scope::look}), {"mai"}, instant::never());
  EXPECT_TRUE(wide.covers(same) && same.covers(wide) && wide.covers(narrow));
  EXPECT_FALSE(narrow.covers(wide));
  EXPECT_FALSE(wide.covers(other));
  EXPECT_FALSE(wide.covers(*rights::everything()));
  EXPECT_TRUE(rights::everything()->covers(wide));
}

TEST(Authority, LetsInWhoHasTheSecret) {
  const std::string text = access_token::make();
  const authority who({entry_of(text)});
  const auto given = who.of_token(text);
  ASSERT_NE(given, nullptr);
  EXPECT_EQ(given->id(), access_token::parse(text)->id());
  EXPECT_EQ(who.of_token(access_token::make()), nullptr) << "an id that is not there";
  EXPECT_EQ(who.of_token(access_token::make(given->id(), std::array<std::byte, access_token::secret_bytes>{})), nullptr)
      << "its id, with another secret";
  EXPECT_EQ(who.of_token(""), nullptr);
  EXPECT_EQ(who.of_token(text.substr(1)), nullptr);
  EXPECT_EQ(who.of_token(hexadecimal(given->proof())), nullptr) << "what stands in the file is of no use";
}

TEST(Authority, WithoutEntriesLetsNobodyIn) {
  const authority who({});
  EXPECT_EQ(who.of_token(access_token::make()), nullptr);
  EXPECT_EQ(who.of_certificate(sha256_of("")), nullptr);
  EXPECT_EQ(who.of_certificate(sha256_digest{}), nullptr);
}

TEST(Authority, KnowsCertificatesByTheirFingerprints) {
  const sha256_digest fingerprint = sha256_of("a certificate");
  const std::string text = access_token::make();
  const authority who({entry_of(text),
                       {.what = access_entry::kind::certificate,
                        .given = std::make_shared<const rights>("cellar", "", scope_set::all(), words{""},
                                                                instant::never(), fingerprint)}});
  ASSERT_NE(who.of_certificate(fingerprint), nullptr);
  EXPECT_EQ(who.of_certificate(fingerprint)->id(), "cellar");
  EXPECT_EQ(who.of_certificate(sha256_of(text)), nullptr) << "the digest of a token is no fingerprint";
}

class Holders : public testing::Test {
 protected:
  /// Holds the rights of a token from now on.
  struct held {
    held(authority& by, const std::string& text) : here(&by, by.of_token(text), [this] { ++told; }) {}
    int told = 0;
    rights_holder here;
  };

  virtual_clock wall_;
  const std::string one_ = access_token::make();
  const std::string other_ = access_token::make();
  const scope_set all_ = scope_set::all();
};

TEST_F(Holders, OfWhatWasRevokedAreToldAndNoOthers) {
  authority who({entry_of(one_), entry_of(other_)}, wall_);
  held gone(who, one_);
  held also_gone(who, one_);
  held stays(who, other_);
  EXPECT_EQ(who.generation(), 0U);
  EXPECT_EQ(who.replace({entry_of(other_)}), 2U);
  EXPECT_EQ(who.generation(), 1U);
  EXPECT_EQ(who.entries(), 1U);
  EXPECT_EQ(gone.told, 1);
  EXPECT_EQ(also_gone.told, 1);
  EXPECT_EQ(stays.told, 0);
  EXPECT_TRUE(gone.here.has_ended());
  EXPECT_FALSE(stays.here.has_ended());
  EXPECT_EQ(who.of_token(one_), nullptr);
  EXPECT_EQ(who.replace({entry_of(one_), entry_of(other_)}), 0U) << "each is told once, also if it comes back";
  EXPECT_TRUE(gone.here.has_ended());
  EXPECT_EQ(gone.told, 1);
}

TEST_F(Holders, AreToldOfLessAndNotOfMore) {
  const auto given = [&](scope_set scopes, words prefixes) {
    authority who({entry_of(one_, scopes_of({scope::put, scope::look}), {"mail.", "bill."})}, wall_);
    held one(who, one_);
    who.replace({entry_of(one_, scopes, std::move(prefixes))});
    return one.told;
  };
  EXPECT_EQ(given(scopes_of({scope::put, scope::look}), {"bill.", "mail."}), 0);
  EXPECT_EQ(given(all_, {"bill.", "mail."}), 0);
  EXPECT_EQ(given(all_, {""}), 0);
  EXPECT_EQ(given(scopes_of({scope::put, scope::look}), {"bill", "mail."}), 0);
  EXPECT_EQ(given(scopes_of({scope::put, scope::change}), {"bill.", "mail."}), 1);
  EXPECT_EQ(given(scopes_of({scope::put, scope::look}), {"bill.x", "mail."}), 1);
  EXPECT_EQ(given(scopes_of({scope::put, scope::look}), {"bill."}), 1);
}

TEST_F(Holders, AreToldIfTheirIdHasAnotherSecret) {
  authority who({entry_of(one_)}, wall_);
  held one(who, one_);
  const std::string again =
      access_token::make(access_token::parse(one_)->id(), std::array<std::byte, access_token::secret_bytes>{});
  EXPECT_EQ(who.replace({entry_of(again)}), 1U);
  EXPECT_EQ(one.told, 1);
  EXPECT_EQ(who.of_token(one_), nullptr);
  EXPECT_NE(who.of_token(again), nullptr);
}

TEST_F(Holders, AreToldWhenTheirTimeIsOver) {
  const instant end = wall_.now() + 10s;
  authority who({entry_of(one_, all_, {""}, end), entry_of(other_)}, wall_);
  held one(who, one_);
  held other(who, other_);
  EXPECT_EQ(who.end_expired(), 0U);
  wall_.advance(10s - 1ns);
  EXPECT_EQ(who.end_expired(), 0U);
  EXPECT_NE(who.of_token(one_), nullptr);
  wall_.advance(1ns);
  EXPECT_EQ(who.of_token(one_), nullptr);
  EXPECT_EQ(who.end_expired(), 1U);
  EXPECT_EQ(who.end_expired(), 0U);
  EXPECT_EQ(one.told, 1);
  EXPECT_EQ(other.told, 0);
}

TEST_F(Holders, ALaterEndCountsAtOnceAndSoDoesAnEarlierOne) {
  const instant end = wall_.now() + 10s;
  authority who({entry_of(one_, all_, {""}, end), entry_of(other_, all_, {""}, end)}, wall_);
  held one(who, one_);
  held other(who, other_);
  EXPECT_EQ(who.replace({entry_of(one_, all_, {""}, end + 10s), entry_of(other_, all_, {""}, end - 5s)}), 0U);
  wall_.advance(5s);
  EXPECT_EQ(who.end_expired(), 1U);
  EXPECT_EQ(other.told, 1);
  wall_.advance(14s);
  EXPECT_EQ(who.end_expired(), 0U);
  wall_.advance(1s);
  EXPECT_EQ(who.end_expired(), 1U);
  EXPECT_EQ(one.told, 1);
}

TEST_F(Holders, OneThatComesTooLateIsToldAtOnce) {
  authority who({entry_of(one_)}, wall_);
  const auto given = who.of_token(one_);
  who.replace({});
  int told = 0;
  const rights_holder late(&who, given, [&] { ++told; });
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(late.has_ended());
}

TEST_F(Holders, WhoHasLeftIsNotTold) {
  authority who({entry_of(one_)}, wall_);
  std::optional<held> gone;
  gone.emplace(who, one_);
  held stays(who, one_);
  gone.reset();
  EXPECT_EQ(who.replace({}), 1U);
  EXPECT_EQ(stays.told, 1);
}

TEST_F(Holders, WithoutAnAuthorityNothingEnds) {
  const rights_holder all(nullptr, rights::everything(), [] { FAIL(); });
  EXPECT_FALSE(all.has_ended());
  EXPECT_TRUE(all.held().has_all_tubes());
}

TEST_F(Holders, ComeAndGoWhileEntriesAreReplaced) {
  authority who({entry_of(one_)}, wall_);
  const auto come_and_go = [&] {
    for (int i = 0; i < 500; ++i) {
      const auto given = who.of_token(one_);
      if (given == nullptr) continue;
      bool alive = true;
      int told = 0;
      {
        const rights_holder here(&who, given, [&] { told += alive ? 1 : 1000; });
      }
      alive = false;
      EXPECT_LE(told, 1);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(come_and_go);
  for (int i = 0; i < 200; ++i) {
    who.replace({});
    who.replace({entry_of(one_)});
    who.end_expired();
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(who.generation(), 400U);
}

}  // namespace
}  // namespace foliot::program
