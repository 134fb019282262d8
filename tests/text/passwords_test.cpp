#include "text/passwords.hpp"

#include <array>
#include <span>
#include <string>

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

std::string hidden(std::string argument) {
  hide_passwords(std::span<char>(argument));
  return argument;
}

TEST(Passwords, OfKeywordsAndValuesAreHidden) {
  EXPECT_EQ(hidden("host=db1 password=secret dbname=jobs"), "host=db1 password=xxxxxx dbname=jobs");
  EXPECT_EQ(hidden("password = secret"), "password = xxxxxx");
  EXPECT_EQ(hidden("password='a b\\' c' dbname=jobs"), "password=xxxxxxxx' dbname=jobs");
  EXPECT_EQ(hidden("password=a\\ b dbname=jobs"), "password=xxxx dbname=jobs");
  EXPECT_EQ(hidden("--store=host=db1 password=secret"), "--store=host=db1 password=xxxxxx");
  EXPECT_EQ(hidden("password=a sslpassword=b\n"), "password=x sslpassword=x\n");
  EXPECT_EQ(hidden("password=\\"), "password=x");
  EXPECT_EQ(hidden("password='open"), "password=xxxxx");
}

/// What looks like a URI may be a password.
TEST(Passwords, WithTheMarkOfAUriAreHidden) {
  EXPECT_EQ(hidden("user=postgres password = a://b&c dbname=jobs"), "user=postgres password = xxxxxxx dbname=jobs");
  EXPECT_EQ(hidden("--store=user=postgres password='a://b&c'"), "--store=user=postgres password=xxxxxxxx'");
  EXPECT_EQ(hidden("password=postgres://b&c"), "password=" + std::string(14, 'x'));
}

TEST(Passwords, OfUrisAreHidden) {
  EXPECT_EQ(hidden("postgresql://foliot:secret@db1:5432/jobs"), "postgresql://foliot:xxxxxx@db1:5432/jobs");
  EXPECT_EQ(hidden("postgres://foliot:se@c/ret@db1/jobs"), "postgres://foliot:xxxxxxxx@db1/jobs") << "not escaped";
  EXPECT_EQ(hidden("--store=postgresql://foliot:secret@/jobs"), "--store=postgresql://foliot:xxxxxx@/jobs");
  EXPECT_EQ(hidden("postgresql://db1/jobs?password=secret&sslmode=require&sslpassword=b"),
            "postgresql://db1/jobs?password=xxxxxx&sslmode=require&sslpassword=x");
}

TEST(Passwords, OtherTextsStayAsTheyAre) {
  for (const std::string each : {"", "password", "password=", "host=db1 passfile=/secret",
                                 "postgresql://foliot@db1:5432/jobs", "postgresql://db1:5432,db2:5433/jobs",
                                 "postgresql://", "://", "127.0.0.1:11300", "http://a:b@c", "password dbname=jobs"}) {
    EXPECT_EQ(hidden(each), each);
  }
}

TEST(Passwords, OfAllArgumentsAreHidden) {
  std::string command = "serve";
  std::string store = "password=secret";
  const std::array<char*, 2> all{command.data(), store.data()};
  hide_passwords(std::span<char* const>(all));
  EXPECT_EQ(command, "serve");
  EXPECT_EQ(store, "password=xxxxxx");
}

}  // namespace
}  // namespace foliot::program
