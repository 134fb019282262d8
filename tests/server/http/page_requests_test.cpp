// The page and its files, which need no access token, and what it asks besides: what is due soon, and what a token may.
#include "server/http/requests.hpp"

#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "server/access/token_file.hpp"
#include "server/http/api_client.hpp"
#include "server/page/page_files.hpp"

namespace foliot::program::http {
namespace {

/// The value of a field of the head; empty if there is none.
std::string field_of(const received& got, const std::string& name) {
  const std::size_t at = got.head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 4;
  return got.head.substr(begin, got.head.find('\r', begin) - begin);
}

/// The names of all files to which the page, and its scripts, lead.
std::set<std::string> files_named_by_the_page() {
  std::set<std::string> found;
  std::vector<std::string> left{"index.html"};
  while (!left.empty()) {
    const std::string name = left.back();
    left.pop_back();
    if (!found.insert(name).second) continue;
    const page_file* const file = find_page_file(name);
    if (file == nullptr) continue;
    const std::string text(file->text);
    const std::regex leads(name == "index.html" ? "\"page/([^\"]+)\"" : "from \"\\./([^\"]+)\"");
    for (std::sregex_iterator at(text.begin(), text.end(), leads); at != std::sregex_iterator(); ++at) {
      left.push_back((*at)[1].str());
    }
  }
  return found;
}

TEST(Page, HasEachFileThatItNames) {
  const std::set<std::string> names = files_named_by_the_page();
  EXPECT_GT(names.size(), 8u);
  for (const std::string& each : names) {
    const page_file* const file = find_page_file(each);
    ASSERT_NE(file, nullptr) << each;
    EXPECT_GT(file->text.size(), 100u) << each;
  }
  EXPECT_EQ(find_page_file(""), nullptr);
  EXPECT_EQ(find_page_file("../index.html"), nullptr);
}

/// With a policy for what the page may load, that would be a violation; and a proxy may have a path of its own.
TEST(Page, HasNoScriptInItAndNoAbsoluteUrl) {
  for (const std::string& each : files_named_by_the_page()) {
    const std::string text(find_page_file(each)->text);
    for (const std::string_view wrong :
         {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=\"", " onclick=\"", "=\"/",
          "document.cookie", "navigator.clipboard", "crypto.subtle"}) {
      EXPECT_FALSE(text.contains(wrong)) << each << " has " << wrong;
    }
  }
}

TEST(PageRequests, SendTheFilesWithTheirRules) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received page = co_await client.ask("GET", "/");
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.body, find_page_file("index.html")->text);
    EXPECT_EQ(field_of(page, "Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(field_of(page, "Content-Security-Policy"),
              "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
              "base-uri 'none'; form-action 'self'; frame-ancestors 'none'");
    EXPECT_EQ(field_of(page, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(field_of(page, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(field_of(page, "Cross-Origin-Opener-Policy"), "same-origin");
    EXPECT_EQ(field_of(page, "Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_EQ(field_of(page, "Cache-Control"), "no-cache");
    EXPECT_EQ(field_of(page, "Set-Cookie"), "");
    const received script = co_await client.ask("GET", "/page/page.js");
    EXPECT_EQ(field_of(script, "Content-Type"), "text/javascript; charset=utf-8");
    const received style = co_await client.ask("GET", "/page/page.css");
    EXPECT_EQ(field_of(style, "Content-Type"), "text/css; charset=utf-8");
    const received icon = co_await client.ask("GET", "/page/icon.svg");
    EXPECT_EQ(field_of(icon, "Content-Type"), "image/svg+xml");
    for (const std::string target : {"/page/", "/page/none.js", "/page/page.js/more", "/index.html"}) {
      const received none = co_await client.ask("GET", target);
      EXPECT_EQ(none.status, 404) << target;
    }
    const received changed = co_await client.ask("POST", "/");
    EXPECT_EQ(changed.status, 405);
    const received asked = co_await client.ask("GET", "/?token=x");
    EXPECT_EQ(asked.status, 400) << "nothing is read from there";
    co_await client.send("HEAD", "/");
    const received head = co_await client.read(false);
    EXPECT_EQ(head.status, 200);
    co_await client.leave();
  });
}

TEST(PageRequests, AnUnchangedFileIsNotSentAgain) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received first = co_await client.ask("GET", "/page/page.js");
    const std::string etag = field_of(first, "ETag");
    EXPECT_EQ(etag.size(), 34u) << etag;
    for (const std::string& shown : {etag, "W/" + etag, "\"x\", " + etag, std::string("*")}) {
      const received same = co_await client.ask("GET", "/page/page.js", extras("If-None-Match: " + shown + "\r\n"));
      EXPECT_EQ(same.status, 304) << shown;
      EXPECT_EQ(same.body, "");
      EXPECT_EQ(field_of(same, "ETag"), etag);
    }
    const received other = co_await client.ask("GET", "/page/page.css", extras("If-None-Match: " + etag + "\r\n"));
    EXPECT_EQ(other.status, 200);
    co_await client.leave();
  });
}

class PageWithTokens : public testing::Test {
 protected:
  PageWithTokens() {
    scope_set looks;
    looks.add(scope::look);
    std::ofstream(path_) << entry_of(token_, scope_set::all(), {""}, instant::never())
                         << entry_of(narrow_, looks, {"bill.", "mail."}, far_);
    ::chmod(path_.c_str(), 0600);
  }

  [[nodiscard]] static std::string entry_of(const std::string& token, scope_set scopes,
                                            std::vector<std::string> prefixes, instant ends) {
    access_entry made;
    made.given = std::make_shared<const rights>(std::string(access_token::parse(token)->id()), "a test", scopes,
                                                std::move(prefixes), ends, sha256_of(token));
    return text_of(made);
  }
  [[nodiscard]] static extras shows(const std::string& token) {
    return extras("Authorization: Bearer " + token + "\r\n");
  }

  foliot_test::temporary_folder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  const std::string token_ = access_token::make();
  const std::string narrow_ = access_token::make();
  const instant far_ = instant::from_nanoseconds(4'102'444'800'000'000'000);
  const server_log log_{true};
};

TEST_F(PageWithTokens, TheFilesNeedNone) {
  watched_tokens tokens(path_, log_);
  const auto body = [this](http_server& in) -> task<> {
    http_client client(in);
    for (const std::string target : {"/", "/page/page.js", "/page/none"}) {
      for (const extras& each : {extras(), shows(token_), shows(access_token::make()), extras("Authorization: x\r\n"),
                                 extras("X-Forwarded-For: 192.0.2.1\r\n")}) {
        const received got = co_await client.ask("GET", target, each);
        EXPECT_EQ(got.status, target == "/page/none" ? 404 : 200) << target << each.fields;
      }
    }
    for (const extras& each : {extras("Content-Length: 1\r\n", ""), extras("Transfer-Encoding: chunked\r\n")}) {
      http_client other(in);
      const received got = co_await other.ask("GET", "/", each);
      EXPECT_EQ(got.status, 401) << each.fields;
      co_await other.leave();
    }
    extras rebound;
    rebound.host = "evil.example";
    const received unknown = co_await client.ask("GET", "/", std::move(rebound));
    EXPECT_EQ(unknown.status, 421);
    const received data = co_await client.ask("GET", "/v1/tubes");
    EXPECT_EQ(data.status, 401);
    co_await client.leave();
  };
  with_server(body, &tokens, &log_);
}

TEST_F(PageWithTokens, ATokenLearnsWhatItMay) {
  watched_tokens tokens(path_, log_);
  const auto body = [this](http_server& in) -> task<> {
    http_client client(in);
    const received all = co_await client.ask("GET", "/v1/access", shows(token_));
    EXPECT_EQ(all.body, fmt::format(R"({{"tokens":true,"id":"{}","name":"a test","scopes":["put","reserve","look",)"
                                    R"("change","administer"],"tubes":["*"]}})"
                                    "\n",
                                    access_token::parse(token_)->id()));
    const received narrow = co_await client.ask("GET", "/v1/access", shows(narrow_));
    EXPECT_EQ(narrow.body,
              fmt::format(R"({{"tokens":true,"id":"{}","name":"a test","scopes":["look"],"tubes":["bill.","mail."],)"
                          R"("ends":"2100-01-01T00:00:00Z"}})"
                          "\n",
                          access_token::parse(narrow_)->id()));
    co_await client.leave();
  };
  with_server(body, &tokens, &log_);
}

TEST(Access, IsEverythingWithoutTokens) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received got = co_await client.ask("GET", "/v1/access");
    EXPECT_EQ(
        got.body,
        "{\"tokens\":false,\"scopes\":[\"put\",\"reserve\",\"look\",\"change\",\"administer\"],\"tubes\":[\"*\"]}\n");
    const received other = co_await client.ask("GET", "/v1/access", extras("X-Forwarded-For: 192.0.2.1\r\n"));
    EXPECT_EQ(other.status, 401);
    co_await client.leave();
  });
}

task<> put_after(http_client& client, std::string delay, int jobs = 1, std::string tube = "mail") {
  for (int i = 0; i < jobs; ++i) {
    const received put = co_await client.ask("POST", "/v1/jobs?tube=" + tube + "&delay=" + delay, extras("", "x"));
    EXPECT_EQ(put.status, 201);
  }
}

int sum_of(const nlohmann::json& pieces) {
  return std::accumulate(pieces["counts"].begin(), pieces["counts"].end(), 0,
                         [](int sum, const nlohmann::json& each) { return sum + each.get<int>(); });
}

TEST(DueCounts, HaveEachJobInItsPiece) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const char* const delay : {"4s", "4999ms", "7s", "58s", "61s", "59m", "61m", "23h", "25h", "100d"}) {
      co_await put_after(client, delay);
    }
    co_await put_after(client, "0s");  // is ready
    const nlohmann::json got = (co_await client.ask("GET", "/v1/due/counts")).value();
    EXPECT_FALSE(got.contains("counted_until")) << got;
    EXPECT_EQ(got["minute"]["counts"], nlohmann::json({2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
    EXPECT_EQ(got["hour"]["counts"], nlohmann::json({5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
    EXPECT_EQ(sum_of(got["day"]), 8);
    EXPECT_EQ(got["day"]["counts"][0], 6);
    EXPECT_EQ(got["day"]["counts"][1], 1);
    EXPECT_EQ(got["day"]["counts"][23], 1);
    for (const char* const scale : {"minute", "hour", "day"}) EXPECT_FALSE(got[scale]["at_least"].get<bool>()) << scale;
    const received wrong = co_await client.ask("GET", "/v1/due/counts?at_most=10001");
    EXPECT_EQ(wrong.wrong(), "400 parameter at_most");
    co_await client.leave();
  });
}

TEST(DueCounts, EndWhereSoManyAreCounted) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put_after(client, "2s", 3);
    co_await put_after(client, "12s", 4);
    co_await put_after(client, "2h");
    co_await put_after(client, "2s", 1, "other");
    const nlohmann::json got = (co_await client.ask("GET", "/v1/due/counts?at_most=5&prefix=mail")).value();
    EXPECT_TRUE(got.contains("counted_until"));
    EXPECT_EQ(got["minute"]["counts"], nlohmann::json({3, 0, 2})) << "what comes behind is not known";
    EXPECT_EQ(got["hour"]["counts"], nlohmann::json({5}));
    for (const char* const scale : {"minute", "hour", "day"}) EXPECT_TRUE(got[scale]["at_least"].get<bool>()) << scale;
    const nlohmann::json most = (co_await client.ask("GET", "/v1/due/counts?at_most=8&prefix=mail")).value();
    EXPECT_EQ(sum_of(most["minute"]), 7);
    EXPECT_FALSE(most["minute"]["at_least"].get<bool>()) << "the last one is due later than that";
    EXPECT_EQ(sum_of(most["day"]), 8);
    co_await client.leave();
  });
}

TEST(DueCounts, GoOverSeveralPages) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put_after(client, "2s", 1100);
    const nlohmann::json all = (co_await client.ask("GET", "/v1/due/counts?at_most=2000")).value();
    EXPECT_EQ(all["minute"]["counts"][0], 1100);
    EXPECT_FALSE(all["minute"]["at_least"].get<bool>());
    const nlohmann::json some = (co_await client.ask("GET", "/v1/due/counts?at_most=1050")).value();
    EXPECT_EQ(some["minute"]["counts"], nlohmann::json({1050}));
    EXPECT_TRUE(some["minute"]["at_least"].get<bool>());
    co_await client.leave();
  });
}

}  // namespace
}  // namespace foliot::program::http
