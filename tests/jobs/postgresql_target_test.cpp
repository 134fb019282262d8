// The connection strings of a PostgreSQL store.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include <foliot/jobs/job_store.hpp>

#include "../../src/jobs/postgresql/target.hpp"

namespace foliot::jobs::detail {
namespace {

std::map<std::string, std::string> next_of(target& from) {
  const target::arguments given = from.next();
  std::map<std::string, std::string> all;
  for (int i = 0; given.keywords()[i] != nullptr; ++i) {
    EXPECT_TRUE(all.emplace(given.keywords()[i], given.values()[i]).second) << given.keywords()[i] << " twice";
  }
  return all;
}

/// Why the string is refused; empty: it is not.
std::string refusal(const std::string& database) {
  try {
    const target where(database);
    return "";
  } catch (const store_failure& error) {
    return error.what();
  }
}

TEST(Target, AsksForWhatAStoreNeeds) {
  target where("host=db1 dbname=jobs user=u password=p");
  auto given = next_of(where);
  EXPECT_EQ(given["host"], "db1");
  EXPECT_EQ(given["dbname"], "jobs");
  EXPECT_EQ(given["user"], "u");
  EXPECT_EQ(given["password"], "p");
  EXPECT_EQ(given["target_session_attrs"], "read-write");
  EXPECT_EQ(given["fallback_application_name"], "foliot");
  EXPECT_EQ(given["tcp_user_timeout"], "3000");
  EXPECT_TRUE(given.contains("connect_timeout"));
  EXPECT_TRUE(given.contains("keepalives_idle"));
  EXPECT_EQ(given["client_encoding"], "UTF8");
}

TEST(Target, KeepsWhatWasGivenButForTheEncoding) {
  target where("target_session_attrs=any tcp_user_timeout=7 keepalives_idle=8 client_encoding=LATIN1");
  auto given = next_of(where);
  EXPECT_EQ(given["target_session_attrs"], "any");
  EXPECT_EQ(given["tcp_user_timeout"], "7");
  EXPECT_EQ(given["keepalives_idle"], "8");
  EXPECT_EQ(given["client_encoding"], "UTF8");
}

TEST(Target, BeginsWithTheNextHostEachTime) {
  target where("host=a,b,c hostaddr=10.0.0.1,,10.0.0.3 port=1,2,3");
  for (int round = 0; round < 2; ++round) {
    auto first = next_of(where);
    EXPECT_EQ(first["host"] + " " + first["hostaddr"] + " " + first["port"], "a,b,c 10.0.0.1,,10.0.0.3 1,2,3");
    auto second = next_of(where);
    EXPECT_EQ(second["host"] + " " + second["hostaddr"] + " " + second["port"], "b,c,a ,10.0.0.3,10.0.0.1 2,3,1");
    auto third = next_of(where);
    EXPECT_EQ(third["host"] + " " + third["hostaddr"] + " " + third["port"], "c,a,b 10.0.0.3,10.0.0.1, 3,1,2");
  }
}

TEST(Target, OnePortIsThatOfAllHosts) {
  target where("host=a,b,c port=7");
  for (const char* const hosts : {"a,b,c", "b,c,a", "c,a,b"}) {
    auto given = next_of(where);
    EXPECT_EQ(given["host"], hosts);
    EXPECT_EQ(given["port"], "7");
  }
}

TEST(Target, IsShownWithoutItsPassword) {
  EXPECT_EQ(target("postgresql://me:secret@db1:5432,db2:5433/jobs").to_string(), "db1:5432,db2:5433/jobs");
  EXPECT_EQ(target("postgresql://me:p%40%2F%3A@db1/jobs?sslpassword=secret").to_string(), "db1/jobs");
  EXPECT_EQ(target("host=a,b port=7 dbname=jobs password='se cret'").to_string(), "a:7,b:7/jobs");
  EXPECT_EQ(target("host=/run/postgresql dbname=jobs").to_string(), "/run/postgresql/jobs");
  EXPECT_EQ(target("host=@abstract dbname=jobs").to_string(), "@abstract/jobs");
  EXPECT_EQ(target("hostaddr=10.0.0.1").to_string(), "10.0.0.1");
  EXPECT_EQ(target("postgresql://[::1]:5432/jobs").to_string(), "[::1]:5432/jobs");
  EXPECT_EQ(target("dbname=a@b").to_string(), "localhost/a@b");
}

TEST(Target, ARefusalHasTheReasonOfLibpq) {
  EXPECT_NE(refusal("jobs").find("(missing \"=\" after \"…\" in connection info string)"), std::string::npos)
      << refusal("jobs");
  EXPECT_NE(refusal("host=a passwort=secret").find("(invalid connection option \"…\")"), std::string::npos)
      << refusal("host=a passwort=secret");
  EXPECT_NE(refusal("host='a").find("(unterminated quoted string in connection info string)"), std::string::npos);
}

/// Each has the word secret in its password, as the user meant it.
TEST(Target, ARefusalHasNoPieceOfThePassword) {
  for (const char* const each : {
           "password=a secret host=db",
           "password=a secret=b host=db",
           "password=a \"secret\" host=db",
           "password='secret",
           "postgresql://me:%secret@db/jobs",
           "postgresql://me:secret%00@db/jobs",
           "postgresql://me:a@secret@db/jobs",
           "postgresql://me:secret/jobs",
           "postgresql://me:a/secret@db/jobs",
           "postgresql://me:1/secret@db/jobs",
           "postgresql://me:a@b/secret@db/jobs",
           "postgresql://me:a/b?secret@db/jobs",
           "postgresql://me:1/b?secret@db/jobs",
           "postgresql://me:a@[secret@db/jobs",
           "dbname=postgresql://me:secret@db/jobs",
           "dbname='host=db password=secret'",
       }) {
    const std::string text = refusal(each);
    EXPECT_NE(text.find("cannot be read"), std::string::npos) << each;
    EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace foliot::jobs::detail
