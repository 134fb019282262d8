#include "job/server_address.hpp"

#include <string>

#include <gtest/gtest.h>

#include "job/api_client.hpp"
#include "text/failure.hpp"

namespace foliot::program::terminal {
namespace {

TEST(ServerAddress, IsWhatUsersWrite) {
  struct row {
    std::string text, base;
    bool is_tls, is_local;
  };
  for (const row& each : {
           row{"http://127.0.0.1:11380", "http://127.0.0.1:11380", false, true},
           row{"11400", "http://127.0.0.1:11400", false, true},
           row{"localhost", "http://localhost:11380", false, true},
           row{"jobs.example.com:80", "http://jobs.example.com:80", false, false},
           row{"[::1]:1", "http://[::1]:1", false, true},
           row{"[::1]", "http://[::1]:11380", false, true},
           row{"https://jobs.example.com", "https://jobs.example.com", true, false},
           row{"https://jobs.example.com/foliot/", "https://jobs.example.com/foliot", true, false},
           row{"http://127.evil.example:1", "http://127.evil.example:1", false, false},
       }) {
    const server_address found = parse_server(each.text);
    EXPECT_EQ(found.base, each.base) << each.text;
    EXPECT_EQ(found.is_tls, each.is_tls) << each.text;
    EXPECT_EQ(found.is_local, each.is_local) << each.text;
    EXPECT_EQ(found.path, "") << each.text;
  }
}

TEST(ServerAddress, MayBeAPath) {
  const server_address plain = parse_server("unix:/run/foliot/http");
  EXPECT_EQ(plain.path, "/run/foliot/http");
  EXPECT_EQ(plain.base, "http://localhost");
  EXPECT_FALSE(plain.is_tls);
  EXPECT_TRUE(plain.is_local);
  const server_address by_tls = parse_server("https+unix:a b");
  EXPECT_EQ(by_tls.path, "a b");
  EXPECT_TRUE(by_tls.is_tls);
}

TEST(ServerAddress, RefusesOthers) {
  for (const char* const each : {"", "unix:", "ftp://host", "http://", "http://a b", "http://host\r\nX: y", "host:port",
                                 "http://me:secret@host", "http://host?a=b", "http://host/#a"}) {
    EXPECT_THROW(static_cast<void>(parse_server(each)), failure) << each;
  }
}

TEST(PercentEncoded, LeavesNothingThatAPathOrAQueryKnows) {
  EXPECT_EQ(percent_encoded("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_encoded("a/b?c&d=e%\n+ \xc3\xa4"), "a%2Fb%3Fc%26d%3De%25%0A%2B%20%C3%A4");
}

}  // namespace
}  // namespace foliot::program::terminal
