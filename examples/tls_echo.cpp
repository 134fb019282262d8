// An echo server with TLS, and a client for it.
//
//   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=echo
//     -addext subjectAltName=DNS:localhost -keyout key.pem -out chain.pem      (one line)
//   tls_echo serve chain.pem key.pem              prints its address, and serves until it is killed
//   tls_echo ask 127.0.0.1:PORT chain.pem TEXT    prints what comes back
#include <foliot/runtime.hpp>
#include <foliot/runtime/net.hpp>
#include <foliot/tls.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

using namespace std::chrono_literals;
using namespace foliot::runtime;
using namespace foliot::tls;

namespace {

foliot::task<> echo(stream connection, tls_context context) {
  auto peer = co_await tls_stream::accept(std::move(connection), context, now() + 10s);
  if (!peer) {
    std::printf("refused: %s\n", peer.error().message().c_str());
    co_return;
  }
  std::array<char, 512> buffer;
  for (;;) {
    peer->set_read_deadline(60s);
    const auto got = co_await peer->read_some(buffer);
    if (!got) co_return;   // cut off, silent for a minute, …
    if (*got == 0) break;  // the client writes no more
    const auto sent = co_await peer->write_all(std::string_view(buffer.data(), *got));
    if (!sent) co_return;
  }
  static_cast<void>(co_await peer->shutdown());
}

foliot::task<int> serve(std::string chain, std::string key) {
  tls_options options;
  options.certificate_chain = pem::file(chain);
  options.private_key = pem::file(key);
  const auto context = tls_context::server(options);
  if (!context) {
    std::fprintf(stderr, "%s: %s\n", chain.c_str(), context.error().message().c_str());
    co_return 1;
  }
  auto gate = listener::listen(address::loopback(0));  // any free port
  if (!gate) co_return 1;
  std::printf("listening at %s\n", gate->local_address().value().to_string().c_str());
  std::fflush(stdout);
  for (;;) {
    auto connection = co_await gate->accept();
    if (connection) {
      spawn(echo(std::move(*connection), *context));
    } else {
      co_await sleep(10ms);  // as when there is no descriptor left
    }
  }
}

foliot::task<int> ask(std::string server, std::string roots, std::string text) {
  tls_options options;
  options.roots.push_back(pem::file(roots));  // without any: the system's
  const auto context = tls_context::client(options);
  const auto where = address::parse(server);
  if (!context || !where) co_return 2;
  const auto deadline = now() + 10s;
  auto connection = co_await stream::connect(*where, deadline);
  if (!connection) co_return 1;
  auto peer = co_await tls_stream::connect(std::move(*connection), *context, "localhost", deadline);
  if (!peer) {
    std::fprintf(stderr, "%s\n", peer.error().message().c_str());  // "certificate verify failed: …"
    co_return 1;
  }
  const auto sent = co_await peer->write_all(std::string_view(text));
  if (!sent) co_return 1;
  std::string back(text.size(), ' ');
  const auto got = co_await peer->read_all(std::span<char>(back));
  std::printf("%s\n", back.substr(0, got.value_or(0)).c_str());
  const std::error_code ended = co_await peer->shutdown();  // both sides have said that they write no more
  co_return got.value_or(0) == text.size() && !ended ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::span words(arguments, static_cast<std::size_t>(count));
  if (words.size() == 4 && words[1] == std::string_view("serve")) return foliot::run(serve(words[2], words[3]));
  if (words.size() == 5 && words[1] == std::string_view("ask")) {
    return foliot::run(ask(words[2], words[3], words[4]));
  }
  std::fprintf(stderr, "usage: tls_echo serve CHAIN KEY | ask ADDRESS ROOTS TEXT\n");
  return 2;
}
