// The connection strings of a PostgreSQL store.
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/job_store.hpp>

#include "jobs/kit/temporary_folder.hpp"
#include "jobs/postgresql/target.hpp"

namespace foliot::jobs::detail {
namespace {

std::map<std::string, std::string> options_of(const target::arguments& given) {
  std::map<std::string, std::string> all;
  for (int i = 0; given.keywords()[i] != nullptr; ++i) {
    EXPECT_TRUE(all.emplace(given.keywords()[i], given.values()[i]).second) << given.keywords()[i] << " twice";
  }
  return all;
}

std::map<std::string, std::string> next_of(target& from) { return options_of(from.next()); }

/// Why the string is refused; empty: it is not.
std::string refusal(const std::string& database) {
  try {
    const target where(database);
    return "";
  } catch (const store_failure& error) {
    return error.what();
  }
}

/// Without what the environment of the tests says of databases, until a test sets it.
class Target : public ::testing::Test {
 protected:
  Target() {
    for (const char* const each : {"PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE",
                                   "PGSERVICEFILE", "PGSYSCONFDIR", "PGTARGETSESSIONATTRS", "PGSSLMODE"}) {
      const char* const text = std::getenv(each);
      before_.emplace_back(each, text == nullptr ? std::nullopt : std::optional<std::string>(text));
      ::unsetenv(each);
    }
    set("PGUSER", "me");
  }
  ~Target() override {
    for (const auto& [name, text] : before_) text ? set(name, *text) : static_cast<void>(::unsetenv(name));
  }
  static void set(const char* name, const std::string& text) { ::setenv(name, text.c_str(), 1); }

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

/// Where the next connection goes: hosts, addresses and ports.
std::string place_of_next(target& from) {
  auto given = next_of(from);
  return given["host"] + " " + given["hostaddr"] + " " + given["port"];
}

TEST_F(Target, AsksForWhatAStoreNeeds) {
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

TEST_F(Target, KeepsWhatWasGivenButForTheEncoding) {
  target where("target_session_attrs=any tcp_user_timeout=7 keepalives_idle=8 client_encoding=LATIN1");
  auto given = next_of(where);
  EXPECT_EQ(given["target_session_attrs"], "any");
  EXPECT_EQ(given["tcp_user_timeout"], "7");
  EXPECT_EQ(given["keepalives_idle"], "8");
  EXPECT_EQ(given["client_encoding"], "UTF8");
}

TEST_F(Target, BeginsWithTheNextHostEachTime) {
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

// A value that is empty by itself libpq would take from the environment.
TEST_F(Target, HasEachHostAlone) {
  const target where("host=a,,c hostaddr=10.0.0.1,,10.0.0.3 port=1,2,3 dbname=d");
  auto first = options_of(where.only(0));
  EXPECT_EQ(first["host"] + " " + first["hostaddr"] + " " + first["port"], "a,a 10.0.0.1,10.0.0.1 1,1");
  auto second = options_of(where.only(1));
  EXPECT_EQ(second["host"] + " " + second["hostaddr"] + " " + second["port"], ", , 2,2");
  EXPECT_EQ(second["dbname"], "d");
  const target with_one_port("host=a,b port=7");
  EXPECT_EQ(options_of(with_one_port.only(1))["host"], "b,b");
  EXPECT_EQ(options_of(with_one_port.only(1))["port"], "7");
}

TEST_F(Target, OnePortIsThatOfAllHosts) {
  target where("host=a,b,c port=7");
  for (const char* const hosts : {"a,b,c", "b,c,a", "c,a,b"}) {
    auto given = next_of(where);
    EXPECT_EQ(given["host"], hosts);
    EXPECT_EQ(given["port"], "7");
  }
}

TEST_F(Target, HostsOfTheEnvironmentTakeTurns) {
  set("PGHOST", "a,b,c");
  set("PGPORT", "1,2,3");
  target where("dbname=jobs");
  EXPECT_EQ(where.hosts(), 3U);
  EXPECT_EQ(where.to_string(), "a:1,b:2,c:3/jobs");
  for (const char* const place : {"a,b,c  1,2,3", "b,c,a  2,3,1", "c,a,b  3,1,2", "a,b,c  1,2,3"}) {
    EXPECT_EQ(place_of_next(where), place);
  }
}

TEST_F(Target, AddressesOfTheEnvironmentTakeTurns) {
  set("PGHOSTADDR", "10.0.0.1,10.0.0.2");
  target where("dbname=jobs");
  EXPECT_EQ(where.to_string(), "10.0.0.1,10.0.0.2/jobs");
  EXPECT_EQ(place_of_next(where), " 10.0.0.1,10.0.0.2 ");
  EXPECT_EQ(place_of_next(where), " 10.0.0.2,10.0.0.1 ");
}

// The hosts are the string's, and libpq would give them the addresses and ports of the environment in their order.
TEST_F(Target, WhatTheEnvironmentHasOfAHostStaysWithIt) {
  set("PGHOSTADDR", "10.0.0.1,10.0.0.2");
  set("PGPORT", "1,2");
  target where("host=a,b dbname=jobs");
  EXPECT_EQ(place_of_next(where), "a,b 10.0.0.1,10.0.0.2 1,2");
  EXPECT_EQ(place_of_next(where), "b,a 10.0.0.2,10.0.0.1 2,1");
}

TEST_F(Target, HostsOfAServiceTakeTurns) {
  const foliot_test::temporary_folder folder;
  const std::string file = folder.path() + "/services";
  std::ofstream(file) << "[jobs]\nhost=a,b\nport=1,2\ndbname=work\n";
  set("PGSERVICEFILE", file);
  set("PGHOST", "elsewhere");
  for (const char* const database : {"service=jobs", "postgresql://?service=jobs", "password=p"}) {
    if (database == std::string("password=p")) set("PGSERVICE", "jobs");
    target where(database);
    EXPECT_EQ(where.to_string(), "a:1,b:2/work");
    EXPECT_EQ(place_of_next(where), "a,b  1,2");
    EXPECT_EQ(place_of_next(where), "b,a  2,1");
  }
  EXPECT_EQ(target("host=c port=3 dbname=d").to_string(), "c:3/d") << "the string comes first";
}

TEST_F(Target, TheKindOfServerMayComeFromElsewhere) {
  const foliot_test::temporary_folder folder;
  const std::string file = folder.path() + "/services";
  std::ofstream(file) << "[jobs]\nhost=a,b\ntarget_session_attrs=primary\nsslmode=disable\n";
  set("PGSERVICEFILE", file);
  set("PGTARGETSESSIONATTRS", "prefer-standby");
  target of_service("service=jobs");
  EXPECT_EQ(next_of(of_service)["target_session_attrs"], "primary");
  EXPECT_EQ(next_of(of_service).count("sslmode"), 0U) << "libpq takes it from the service";
  target of_environment("host=c");
  EXPECT_EQ(next_of(of_environment)["target_session_attrs"], "prefer-standby");
  target of_string("host=c target_session_attrs=any sslmode=prefer");
  EXPECT_EQ(next_of(of_string)["target_session_attrs"], "any");
  EXPECT_EQ(next_of(of_string)["sslmode"], "prefer");
  set("PGTARGETSESSIONATTRS", "any");  // libpq's default, which is no choice
  target of_default("host=c");
  EXPECT_EQ(next_of(of_default)["target_session_attrs"], "read-write");
}

// Each connection fails with libpq's reason, so that a service may be added while a node waits.
TEST_F(Target, AServiceThatIsNotThereIsLeftToLibpq) {
  set("PGSERVICEFILE", "/nowhere");
  target where("service=jobs");
  EXPECT_EQ(where.hosts(), 1U);
  EXPECT_EQ(next_of(where)["service"], "jobs");
}

TEST_F(Target, LooksForItsHostsWithoutAConnection) {
  const foliot_test::temporary_folder folder;
  const int listening = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  (folder.path() + "/.s.PGSQL.1").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listening, 1), 0);
  set("PGHOST", folder.path());
  set("PGPORT", "1");
  EXPECT_EQ(target("dbname=jobs").to_string(), folder.path() + ":1/jobs");
  EXPECT_EQ(::accept(listening, nullptr, nullptr), -1);
  EXPECT_EQ(errno, EAGAIN);
  ::close(listening);
}

TEST_F(Target, IsShownWithoutItsPassword) {
  EXPECT_EQ(target("postgresql://me:secret@db1:5432,db2:5433/jobs").to_string(), "db1:5432,db2:5433/jobs");
  EXPECT_EQ(target("postgresql://me:p%40%2F%3A@db1/jobs?sslpassword=secret").to_string(), "db1/jobs");
  EXPECT_EQ(target("host=a,b port=7 dbname=jobs password='se cret'").to_string(), "a:7,b:7/jobs");
  EXPECT_EQ(target("host=/run/postgresql dbname=jobs").to_string(), "/run/postgresql/jobs");
  EXPECT_EQ(target("host=@abstract dbname=jobs").to_string(), "@abstract/jobs");
  EXPECT_EQ(target("hostaddr=10.0.0.1").to_string(), "10.0.0.1/me");
  set("PGDATABASE", "postgresql://me:secret@db/jobs");
  EXPECT_EQ(target("host=db").to_string(), "db");
  EXPECT_EQ(target("postgresql://[::1]:5432/jobs").to_string(), "[::1]:5432/jobs");
  EXPECT_EQ(target("dbname=a@b").to_string(), "localhost/a@b");
}

TEST_F(Target, ARefusalHasTheReasonOfLibpq) {
  EXPECT_NE(refusal("jobs").find("(missing \"=\" after \"…\" in connection info string)"), std::string::npos)
      << refusal("jobs");
  EXPECT_NE(refusal("host=a passwort=secret").find("(invalid connection option \"…\")"), std::string::npos)
      << refusal("host=a passwort=secret");
  EXPECT_NE(refusal("host='a").find("(unterminated quoted string in connection info string)"), std::string::npos);
}

/// Each has the word secret in its password, as the user meant it.
TEST_F(Target, ARefusalHasNoPieceOfThePassword) {
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
  set("PGHOST", "postgresql://me:secret@db/jobs");
  EXPECT_NE(refusal("dbname=jobs").find("PGHOST"), std::string::npos);
  EXPECT_EQ(refusal("dbname=jobs").find("secret"), std::string::npos);
}

}  // namespace
}  // namespace foliot::jobs::detail
