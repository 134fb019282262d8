// The text of access tokens: its form, and that typing errors are found.
#include "server/access/access_token.hpp"

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/access/digest.hpp"

namespace foliot::program {
namespace {

std::array<std::byte, access_token::secret_bytes> secret_of(unsigned first) {
  std::array<std::byte, access_token::secret_bytes> secret{};
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::byte>(first + i);
  return secret;
}

token_flaw flaw_of(std::string_view text) {
  const auto read = access_token::parse(text);
  EXPECT_FALSE(read) << text;
  return read ? token_flaw::no_token : read.error();
}

TEST(AccessToken, HasAStatedForm) {
  const std::string text = access_token::make("4f7k2m9q", secret_of(1));
  // Computed apart from this code: Python's zlib.crc32, and int.from_bytes() in base 62.
  EXPECT_EQ(text, "foliot_4f7k2m9q_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno1IPc3C");
  EXPECT_EQ(text.size(), access_token::length);
  const auto read = access_token::parse(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id(), "4f7k2m9q");
  EXPECT_EQ(read->digest(), sha256_of(text));
}

TEST(AccessToken, TheSmallestAndTheLargestSecretHaveTheSameLength) {
  std::array<std::byte, access_token::secret_bytes> secret{};
  EXPECT_TRUE(access_token::parse(access_token::make("aaaaaaaa", secret)));
  secret.fill(std::byte{0xFF});
  const std::string largest = access_token::make("99999999", secret);
  EXPECT_EQ(largest.size(), access_token::length);
  EXPECT_TRUE(access_token::parse(largest));
}

TEST(AccessToken, EachOneIsNew) {
  std::set<std::string> texts;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = access_token::make();
    ASSERT_TRUE(access_token::parse(text)) << text;
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
}

TEST(AccessToken, EachWrongCharacterIsFound) {
  const std::string right = access_token::make("4f7k2m9q", secret_of(100));
  for (std::size_t at = access_token::prefix.size(); at < right.size(); ++at) {
    for (int c = 1; c < 256; ++c) {
      std::string wrong = right;
      if (wrong[at] == static_cast<char>(c)) continue;
      wrong[at] = static_cast<char>(c);
      EXPECT_EQ(flaw_of(wrong), token_flaw::mistyped) << wrong;
    }
  }
}

TEST(AccessToken, ExchangedLostAndDoubledCharactersAreFound) {
  const std::string right = access_token::make("4f7k2m9q", secret_of(7));
  for (std::size_t at = access_token::prefix.size(); at < right.size(); ++at) {
    std::string exchanged = right;
    if (at + 1 < right.size()) std::swap(exchanged[at], exchanged[at + 1]);
    if (exchanged != right) {
      EXPECT_EQ(flaw_of(exchanged), token_flaw::mistyped) << exchanged;
    }
    std::string lost = right;
    lost.erase(at, 1);
    EXPECT_EQ(flaw_of(lost), token_flaw::mistyped) << lost;
    std::string doubled = right;
    doubled.insert(at, 1, right[at]);
    EXPECT_EQ(flaw_of(doubled), token_flaw::mistyped) << doubled;
    EXPECT_EQ(flaw_of(std::string_view(right).substr(0, at)), token_flaw::mistyped);
  }
}

TEST(AccessToken, AnotherTextIsNoToken) {
  EXPECT_EQ(flaw_of(""), token_flaw::no_token);
  EXPECT_EQ(flaw_of("ghp_16C7e42F292c6912E7710c838347Ae178B4a"), token_flaw::no_token);
  EXPECT_EQ(flaw_of("Foliot_4f7k2m9q"), token_flaw::no_token);
  EXPECT_EQ(flaw_of(std::string(1'000'000, 'x')), token_flaw::no_token);
  EXPECT_EQ(flaw_of("foliot_" + std::string(1'000'000, 'x')), token_flaw::mistyped);
}

TEST(Digest, IsThatOfFips180) {
  EXPECT_EQ(hexadecimal(sha256_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hexadecimal(sha256_of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Digest, IsTheSameOnEachThreadWhateverCameBefore) {
  const auto text = [](std::size_t size) { return std::string(size, static_cast<char>('a' + size % 26)); };
  std::vector<sha256_digest> expected;
  std::string all;
  for (std::size_t size = 0; size < 200; ++size) {
    expected.push_back(sha256_of(text(size)));
    all += hexadecimal(expected.back());
  }
  // Computed apart from this code: Python's hashlib.
  EXPECT_EQ(hexadecimal(sha256_of(all)), "d85f3ab7682c0ec6e7bd412e8350455c2cdcf0df7213e7aeecabe97c048834dc");
  const auto digest_all = [&](std::size_t step) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::size_t size = i * step % expected.size();
      EXPECT_EQ(sha256_of(text(size)), expected[size]) << size;
    }
  };
  const std::jthread one(digest_all, 1);
  const std::jthread other(digest_all, 199);
  digest_all(7);
}

TEST(Digest, IsReadAsPeopleAndOpensslWriteIt) {
  const sha256_digest abc = sha256_of("abc");
  EXPECT_EQ(parse_digest(hexadecimal(abc)), abc);
  EXPECT_EQ(parse_digest("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"), abc);
  constexpr std::string_view with_colons =
      "BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD";
  EXPECT_EQ(parse_digest(with_colons), abc);
  EXPECT_EQ(parse_digest("sha256 Fingerprint=" + std::string(with_colons)), abc);
  EXPECT_FALSE(parse_digest(""));
  EXPECT_FALSE(parse_digest(with_colons.substr(1)));
  EXPECT_FALSE(parse_digest(hexadecimal(abc).substr(1)));
  EXPECT_FALSE(parse_digest(hexadecimal(abc) + "0"));
  EXPECT_FALSE(parse_digest(hexadecimal(abc).replace(5, 1, "g")));
  EXPECT_FALSE(parse_digest(std::string(with_colons).replace(2, 1, "-")));
}

TEST(Digest, IsComparedAsAWhole) {
  const sha256_digest one = sha256_of("abc");
  EXPECT_TRUE(is_same_digest(one, one));
  for (std::size_t i = 0; i < one.size(); ++i) {
    sha256_digest other = one;
    other[i] ^= 1U;
    EXPECT_FALSE(is_same_digest(one, other)) << i;
  }
}

}  // namespace
}  // namespace foliot::program
