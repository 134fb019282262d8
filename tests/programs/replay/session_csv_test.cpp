#include "replay/session_csv.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "programs/temporary_directory.hpp"

namespace foliot::program {
namespace {

std::string field(std::string_view text) {
  std::string quoted;
  append_csv_field(quoted, text);
  return quoted;
}

instant at_second(std::int64_t second) { return instant::from_nanoseconds(second * 1'000'000'000); }

TEST(SessionCsv, QuotesWhatHasToBe) {
  EXPECT_EQ(field("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(field(""), "");
  EXPECT_EQ(field("a,b"), "\"a,b\"");
  EXPECT_EQ(field("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(field("\""), "\"\"\"\"");
  EXPECT_EQ(field("a\nb"), "\"a\nb\"");
  EXPECT_EQ(field("a\rb"), "\"a\rb\"");
  EXPECT_EQ(field("a;=b"), "\"a;=b\"");
  EXPECT_EQ(field("a'b c"), "a'b c");
}

std::string client(std::string_view name) {
  std::string written;
  append_csv_client(written, name);
  return written;
}

TEST(SessionCsv, AClientIsNoFormula) {
  EXPECT_EQ(client("=cmd|'/C"), "'=cmd|'/C");
  EXPECT_EQ(client("+1"), "'+1");
  EXPECT_EQ(client("-1"), "'-1");
  EXPECT_EQ(client("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(client("=a,\"b\""), "\"'=a,\"\"b\"\"\"") << "guarded, and then quoted";
  EXPECT_EQ(client("\xef\xbc\x9d"
                   "1"),
            "'\xef\xbc\x9d"
            "1")
      << "U+FF1D";
  for (const char* const harmless :
       {"192.0.2.7", "::1", "2001:db8::7", "host.example.net", "-", "a=b", "1+1", "", "\xef\xbc\x91"}) {
    EXPECT_EQ(client(harmless), harmless);
  }
}

TEST(SessionCsv, AClientComesBackWithoutItsFirstApostrophe) {
  std::set<std::string> written;
  const std::string characters = "'=+-@a";
  for (const char a : characters) {
    for (const char b : characters) {
      const std::string name{a, b};
      const std::string as_written = client(name);
      written.insert(as_written);
      EXPECT_EQ(as_written.starts_with('\'') ? as_written.substr(1) : as_written, name);
    }
  }
  EXPECT_EQ(written.size(), characters.size() * characters.size());
}

TEST(SessionCsv, WritesRowsInOrder) {
  const temporary_directory here;
  output_file out(here / "csv");
  session_csv csv(out);
  csv.add({"b", at_second(0), at_second(5), 2, at_second(10)});
  csv.add({"a,x", at_second(1), at_second(5), 3, at_second(10)});
  csv.add({"B", at_second(2), at_second(5), 4, at_second(10)});
  csv.add({"\xff", at_second(2), at_second(5), 5, at_second(10)});
  csv.add({"A", at_second(6), at_second(6), 1, at_second(11)});
  csv.finish();
  out.publish();
  EXPECT_EQ(contents(here / "csv"),
            "client,start,last_request,requests,expired\n"
            "B,1970-01-01T00:00:02Z,1970-01-01T00:00:05Z,4,1970-01-01T00:00:10Z\n"
            "\"a,x\",1970-01-01T00:00:01Z,1970-01-01T00:00:05Z,3,1970-01-01T00:00:10Z\n"
            "b,1970-01-01T00:00:00Z,1970-01-01T00:00:05Z,2,1970-01-01T00:00:10Z\n"
            "\xff,1970-01-01T00:00:02Z,1970-01-01T00:00:05Z,5,1970-01-01T00:00:10Z\n"
            "A,1970-01-01T00:00:06Z,1970-01-01T00:00:06Z,1,1970-01-01T00:00:11Z\n");
}

TEST(SessionCsv, WithoutSessionsIsAHeader) {
  const temporary_directory here;
  output_file out(here / "csv");
  session_csv csv(out);
  csv.finish();
  out.publish();
  EXPECT_EQ(contents(here / "csv"), "client,start,last_request,requests,expired\n");
}

}  // namespace
}  // namespace foliot::program
