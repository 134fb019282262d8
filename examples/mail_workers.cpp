// Workers of a job server, and a program that gives them work. The server may be killed and started again meanwhile:
// the workers go on when it is there, and no mail is lost.
//
//   foliot serve --data jobs &
//   mail_workers 127.0.0.1:11300 put 100       # puts 100 mails, which are due at once
//   mail_workers 127.0.0.1:11300 work 100      # sends them, and ends
//
// Each mail has a key. So a put whose answer was lost with its connection is sent again, and there is one mail, as long
// as a worker has not sent it meanwhile. A program that must not send a mail twice sets
// client_options::repeats_keyed_puts to false, and looks for the job when the error says that the put is in doubt.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/client/blocking_client.hpp>
#include <foliot/client/job_client.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>

namespace client = foliot::client;
namespace jobs = foliot::jobs;
using namespace std::chrono_literals;

namespace {

/// From any thread: a web server's, for instance.
bool put_mails(const client::client_options& options, std::size_t count) {
  client::blocking_client server(options);
  for (std::size_t i = 1; i <= count; ++i) {
    const std::string name = "mail " + std::to_string(i);
    const auto put = server.ask(jobs::put{.tube = "mail", .key = "mail-" + std::to_string(i), .body = name});
    if (put) continue;
    const char* const then = put.error().is_in_doubt ? "it may be there" : "it is not there";
    std::fprintf(stderr, "%s: %s, %s\n", name.c_str(), put.error().text.c_str(), then);
    return false;
  }
  return true;
}

/// One of many tasks. It has a client of its own, because its reserve waits at the server.
foliot::task<> work(client::client_options options, std::set<jobs::job_id>& sent, std::size_t count) {
  client::job_client server(options);
  while (sent.size() < count) {
    auto reserving = server.ask(client::reserve{{"mail"}, 1s});
    const auto got = co_await reserving;
    if (!got) {
      std::fprintf(stderr, "%s\n", got.error().text.c_str());  // there was no server for a minute
      co_return;
    }
    if (!got->job) continue;
    if (sent.insert(got->job->token.id).second) std::printf("sent %s\n", got->job->body.c_str());
    auto finishing = server.ask(jobs::finish{got->job->token});
    const auto done = co_await finishing;
    if (!done) std::fprintf(stderr, "%s\n", done.error().text.c_str());  // another worker gets it once more
  }
}

foliot::task<bool> work_all(client::client_options options, std::size_t count) {
  std::set<jobs::job_id> sent;
  std::vector<foliot::runtime::join_handle<>> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(foliot::runtime::spawn(work(options, sent, count), "worker"));
  for (auto& each : workers) co_await each.join();
  co_return sent.size() >= count;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 4 ? argv[2] : "";
  const auto server = foliot::runtime::address::parse(argc == 4 ? argv[1] : "");
  const std::size_t count = argc == 4 ? std::strtoul(argv[3], nullptr, 10) : 0;
  if (!server || (what != "put" && what != "work")) {
    std::fprintf(stderr, "usage: mail_workers ADDRESS put COUNT | mail_workers ADDRESS work COUNT\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  client::client_options options;
  options.server = client::endpoint_at(*server);
  if (what == "put") return put_mails(options, count) ? 0 : 1;
  foliot::runtime::run_options one;
  one.processors = 1;  // the workers share `sent`
  return foliot::run(work_all(options, count), one) ? 0 : 1;
}
