// URLs of targets, special addresses, and the operator's rules.
#include "server/webhooks/address_rules.hpp"

#include <set>

#include <gmock/gmock.h>

#include "server/webhooks/reference_cases.hpp"
#include "server/webhooks/target_url.hpp"

namespace foliot::program::webhooks {
namespace {

using test::addresses_in;
using test::urls_in;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

address_rules rules_of(std::vector<std::string> allow, bool allows_http = true, std::vector<std::string> nat64 = {}) {
  auto made = address_rules::make({.allow = std::move(allow), .nat64 = std::move(nat64), .allows_http = allows_http});
  if (!made) throw std::runtime_error(made.error());
  return *std::move(made);
}

ip_address address_of(const std::string& text) {
  const auto read = ip_address::parse(text);
  if (!read) throw std::runtime_error(text + " is no address");
  return *read;
}

/// Why there can be no such target; "" if there can.
std::string refusal_of(const std::string& url, const address_rules& rules) {
  const auto parsed = target_url::parse(url, rules.urls());
  if (!parsed) return parsed.error();
  const auto vetted = rules.vet_target(*parsed);
  return vetted ? "" : vetted.error();
}

using AddressCases = test::ReferenceCases;

// Each URL of these is refused when the target is made, by a server that allows every public host and http.
TEST_F(AddressCases, AreRefusedAsTargets) {
  const address_rules rules = rules_of({"*"});
  for (const char* const id : {"W020", "W021", "W023", "W025", "W029", "W031", "W038", "W039", "W041", "W045"}) {
    const auto urls = urls_in(at(id).text);
    EXPECT_FALSE(urls.empty()) << id;
    for (const std::string& url : urls) EXPECT_NE(refusal_of(url, rules), "") << id << ": " << url;
  }
  for (const std::string url :
       {"http:/127.0.0.1/", "http:///127.0.0.1/", "http://127.0.0.1 :1/", "https://example.com/\t",
        "https://example.com/\r\nx: y", "https:example.com", "//example.com/", "example.com"})
    EXPECT_NE(refusal_of(url, rules), "") << "W042: " << url;
}

// The address of each is denied also where a name leads to it, which only the connect shows.
TEST_F(AddressCases, AreDeniedAtTheConnect) {
  const address_rules rules = rules_of({"*"});
  for (const char* const id : {"W021", "W023", "W025", "W029", "W031", "W032", "W034", "W035"}) {
    std::string text = at(id).text + (std::string(id) == "W021" ? " " + at(id).expected : "");
    text =
        std::regex_replace(text, std::regex(R"(::/96|https?://\d+/|https?://0x[0-9a-f.]+/|https?://(127\.1|0)/)"), "");
    const auto addresses = addresses_in(text);
    EXPECT_FALSE(addresses.empty()) << id;
    for (const std::string& each : addresses) {
      const auto address = ip_address::parse(each);
      if (!address) continue;  // "https:" and the like
      EXPECT_FALSE(rules.vet_address(*address, "example.com", 443)) << id << ": " << each;
    }
  }
}

TEST_F(AddressCases, W035AMetadataAddressHasARowOfItsOwn) {
  for (const char* const each : {"168.63.129.16", "169.254.169.254", "169.254.170.2", "fd00:ec2::254"}) {
    const special_network* const row = find_special(address_of(each));
    ASSERT_NE(row, nullptr) << each;
    EXPECT_THAT(std::string(row->name), HasSubstr("metadata")) << each;
  }
  EXPECT_EQ(find_special(address_of("168.63.129.15")), nullptr);
}

TEST_F(AddressCases, W044APortIsNamed) {
  const address_rules rules = rules_of({"*"}, false);
  for (const std::string port : {"22", "25", "6379", "80", "8443"})
    EXPECT_THAT(refusal_of("https://example.com:" + port + "/", rules), HasSubstr("'example.com:" + port + "'"))
        << port;
  EXPECT_EQ(refusal_of("https://example.com/", rules), "");
  EXPECT_EQ(refusal_of("https://example.com:443/", rules), "");
  EXPECT_EQ(refusal_of("https://example.com:8443/", rules_of({"*", "example.com:8443"})), "");
  EXPECT_EQ(refusal_of("http://example.com/", rules_of({"*"})), "");
}

TEST_F(AddressCases, W053AnInternalTargetIsAllowedByARule) {
  const std::string why = refusal_of("https://10.1.2.3/", rules_of({"*"}));
  EXPECT_THAT(why, HasSubstr("private use"));
  EXPECT_THAT(why, HasSubstr("'10.1.2.3'"));
  EXPECT_EQ(refusal_of("https://10.1.2.3/", rules_of({"10.1.0.0/16"})), "");
  EXPECT_NE(refusal_of("https://10.2.2.3/", rules_of({"10.1.0.0/16"})), "");
  const address_rules by_name = rules_of({"hooks.internal=10.1.0.0/16"});
  EXPECT_EQ(refusal_of("https://hooks.internal/", by_name), "");
  EXPECT_TRUE(by_name.vet_address(address_of("10.1.2.3"), "hooks.internal", 443));
  EXPECT_FALSE(by_name.vet_address(address_of("10.1.2.3"), "other.internal", 443));
  EXPECT_FALSE(by_name.vet_address(address_of("10.2.2.3"), "hooks.internal", 443));
  EXPECT_FALSE(by_name.vet_address(address_of("8.8.8.8"), "hooks.internal", 443))
      << "this host is at those addresses alone";
  EXPECT_THAT(rules_of({"0.0.0.0/0"}).warnings(), SizeIs(1));
  EXPECT_THAT(rules_of({"::/0"}).warnings(), SizeIs(1));
  EXPECT_THAT(rules_of({"*", "10.0.0.0/8"}).warnings(), IsEmpty());
}

TEST_F(AddressCases, W054NothingIsAllowedByDefault) {
  const address_rules rules;
  EXPECT_THAT(refusal_of("https://example.com/", rules), HasSubstr("no rule allows the host example.com"));
  EXPECT_NE(refusal_of("https://8.8.8.8/", rules), "");
  EXPECT_THAT(refusal_of("http://example.com/", rules), HasSubstr("https://"));
}

TEST_F(AddressCases, AreAllTested) {
  // Those that a delivery shows are in delivery_test.cpp, target_gate_test.cpp and retry_after_test.cpp. W051 is an
  // option that is never set, and W081 is about jobs, which this library does not know.
  const std::set<std::string> elsewhere{"W002", "W003", "W007", "W008", "W009", "W011", "W018", "W047", "W050", "W051",
                                        "W052", "W055", "W056", "W057", "W059", "W060", "W062", "W064", "W065", "W066",
                                        "W068", "W070", "W072", "W073", "W075", "W076", "W079", "W081", "W084"};
  const std::set<std::string> here{"W020", "W021", "W023", "W025", "W029", "W031", "W032", "W034", "W035",
                                   "W038", "W039", "W041", "W042", "W044", "W045", "W053", "W054"};
  for (const auto& one : all())
    EXPECT_EQ(here.count(one.id) + elsewhere.count(one.id), 1U) << one.id << ": " << one.text;
  EXPECT_THAT(all(), SizeIs(here.size() + elsewhere.size()));
}

// First, last and both neighbours of each row.
TEST(SpecialNetworks, HaveTheirEnds) {
  EXPECT_GE(special_networks().size(), 55U);
  for (const special_network& row : special_networks()) {
    SCOPED_TRACE(row.network.to_string());
    for (const ip_address& inside : {row.network.first(), row.network.last()}) {
      const special_network* const found = find_special(inside);
      ASSERT_NE(found, nullptr);
      EXPECT_GE(found->network.prefix(), row.network.prefix()) << "a wider row hides this one";
      EXPECT_TRUE(row.network.contains(inside));
    }
    for (const auto& outside : {row.network.first().previous(), row.network.last().next()}) {
      if (!outside) continue;
      EXPECT_FALSE(row.network.contains(*outside)) << outside->to_string();
    }
  }
}

TEST(SpecialNetworks, LeaveWhatIsPublic) {
  for (const char* const each : {"1.1.1.1",         "8.8.8.8",
                                 "9.255.255.255",   "11.0.0.0",
                                 "100.63.255.255",  "100.128.0.0",
                                 "126.255.255.255", "128.0.0.0",
                                 "169.253.255.255", "169.255.0.0",
                                 "172.15.255.255",  "172.32.0.0",
                                 "192.0.1.0",       "192.0.3.0",
                                 "192.167.255.255", "192.169.0.0",
                                 "198.17.255.255",  "198.20.0.0",
                                 "223.255.255.255", "2000::1",
                                 "2001:200::1",     "2001:4860:4860::8888",
                                 "2606:4700::1111", "2620:4f:7fff::1",
                                 "2620:4f:8001::",  "2003::",
                                 "3ffe:ffff::1",    "3fff:1000::"})
    EXPECT_EQ(find_special(address_of(each)), nullptr) << each;
  for (const char* const each :
       {"::ffff:8.8.8.8", "64:ff9b::808:808", "100::1", "4000::1", "200::1", "fe00::1", "fec0::1", "::808:808"})
    EXPECT_NE(find_special(address_of(each)), nullptr) << each;
}

TEST(AddressRules, UnwrapNat64IfAsked) {
  const address_rules rules = rules_of({"*"}, false, {"64:ff9b::/96"});
  EXPECT_TRUE(rules.vet_address(address_of("64:ff9b::808:808"), "example.com", 443));
  const auto denied = rules.vet_address(address_of("64:ff9b::7f00:1"), "example.com", 443);
  ASSERT_FALSE(denied);
  EXPECT_THAT(denied.error(), HasSubstr("127.0.0.1 (64:ff9b::7f00:1)"));
  EXPECT_FALSE(rules.vet_address(address_of("64:ff9b:1::808:808"), "example.com", 443));
  EXPECT_FALSE(rules_of({"*"}).vet_address(address_of("64:ff9b::808:808"), "example.com", 443));
  EXPECT_FALSE(address_rules::make({.allow = {}, .nat64 = {"64:ff9b::/64"}}));
}

TEST(AddressRules, MatchHosts) {
  const address_rules rules = rules_of({"Hooks.Example.com", "*.example.org", "one.example.net:8443"}, false);
  for (const std::string url : {"https://hooks.example.com/", "https://HOOKS.example.COM/", "https://a.example.org/",
                                "https://a.b.example.org/", "https://one.example.net:8443/"})
    EXPECT_EQ(refusal_of(url, rules), "") << url;
  for (const std::string url :
       {"https://example.com/", "https://xhooks.example.com/", "https://example.org/", "https://aexample.org/",
        "https://one.example.net/", "https://hooks.example.com:8443/", "https://hooks.example.com.evil.net/"})
    EXPECT_NE(refusal_of(url, rules), "") << url;
}

TEST(AddressRules, RefuseOtherTexts) {
  for (const std::string text : {"", " ", "a b", "https://example.com", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/08",
                                 "*example.com", "a..b", ".example.com", "example.com:0", "example.com:99999",
                                 "example.com:", "a=b", "a=10.0.0.1/8", "=10.0.0.0/8", "[fd00::/8", "*.*"})
    EXPECT_FALSE(address_rules::make({.allow = {text}, .nat64 = {}})) << text;
  for (const std::string text :
       {"fd00::/8", "[fd00::/8]:8443", "127.0.0.1:8080", "::1", "[::1]:80", "*:8080", "*.x=fd00::/8"})
    EXPECT_TRUE(address_rules::make({.allow = {text}, .nat64 = {}})) << text;
  EXPECT_EQ(refusal_of("https://[fd00::1]:8443/", rules_of({"[fd00::/8]:8443"})), "");
  EXPECT_NE(refusal_of("https://[fd00::1]/", rules_of({"[fd00::/8]:8443"})), "");
}

TEST(TargetUrl, HasItsParts) {
  const auto url = target_url::parse("https://Hooks.Example.com:8443/in?from=foliot%20x");
  ASSERT_TRUE(url) << url.error();
  EXPECT_EQ(url->host(), "hooks.example.com");
  EXPECT_EQ(url->port(), 8443);
  EXPECT_EQ(url->origin(), "https://hooks.example.com:8443");
  EXPECT_TRUE(url->is_https());
  EXPECT_FALSE(url->has_address());
  const auto v6 = target_url::parse("http://[2001:db8::1]/", {.allows_http = true});
  ASSERT_TRUE(v6) << v6.error();
  EXPECT_EQ(v6->origin(), "http://[2001:db8::1]:80");
  EXPECT_TRUE(v6->has_address());
}

TEST(TargetUrl, IsRefusedWithAReason) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"http://example.com/", "https://"},
      {"https://user@example.com/", "user information"},
      {"https://@example.com/", "user information"},
      {"https://exa%6dple.com/", "percent sign"},
      {"https://127.0.0.1%2f/", "percent sign"},
      {"https://[fe80::1%25eth0]/", "percent sign"},
      {"https://example.com/#part", "fragment"},
      {"https://example.com\\@127.0.0.1/", "back slash"},
      {"https://ex ample.com/", "blank"},
      {"https://b\xc3\xbc"
       "cher.example/",
       "A-label"},
      {"https://127.1/", "four decimal numbers"},
      {"https://1.2.3.4.5/", "four decimal numbers"},
      {"https://256.1.1.1/", "four decimal numbers"},
      {"https://0x7f000001/", "four decimal numbers"},
      {"https://1.2.3.4./", "full stop"},
      {"https://example.com./", "full stop"},
      {"https://a..b/", "no host name"},
      {"https://-a.b/", "no host name"},
      {"https://a_b!.c/", "no host name"},
      {"https://example.com:/", "no port"},
      {"https://example.com:0/", "no port"},
      {"https://example.com:65536/", "no port"},
      {"https://example.com:0443/", "no port"},
      {"https://example.com:+1/", "no port"},
      {"https://[2001:DB8:0::1]/", "is written [2001:db8::1]"},
      {"https://[1.2.3.4]/", "IPv6"},
      {"https://[v1.x]/", "IPv6"},
      {"https://2001:db8::1/", "brackets"},
      {"https://[2001:db8::1]x/", "only a port"},
      {"https://[2001:db8::1/", "bracket"},
      {"https:///path", "no host"},
      {"https://?x", "no host"},
      {"ftp://example.com/", "begins with https://"},
      {"", "begins with https://"},
  };
  for (const auto& [text, why] : wrong) {
    const auto url = target_url::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_THAT(url.error(), HasSubstr(why)) << text;
  }
  EXPECT_FALSE(target_url::parse("https://example.com/" + std::string(target_url::longest, 'a')));
}

}  // namespace
}  // namespace foliot::program::webhooks
