// Receives webhooks: verifies the signature, does each message once, and answers.
//
//   usage: WEBHOOK_SECRET=whsec_… example_webhook_receiver [PORT]
//
// WEBHOOK_SECRET may hold several secrets with blanks between them, while one replaces another. It prints one line for
// each message that it does. The signature needs OpenSSL; connections are foliot's.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <foliot/runtime.hpp>
#include <foliot/runtime/net.hpp>

namespace {

constexpr long long tolerance = 300;  // seconds
constexpr std::size_t longest_body = 1 << 20;
constexpr std::size_t most_ids = 100'000;

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes(text.size(), '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  if (size < 0 || static_cast<std::size_t>(size) < padding) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; words.size() < 16 && in >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> keys_of(const std::string& secrets) {
  std::vector<std::string> keys;
  for (const std::string& each : words_in(secrets)) {
    if (const auto key = from_base64(each.substr(each.starts_with("whsec_") ? 6 : 0))) keys.push_back(*key);
  }
  return keys;
}

struct message {
  std::string id, timestamp, signatures, body;
};

// Whether one of the signatures is by one of the keys, and the timestamp is that of an attempt of now.
bool is_genuine(const std::vector<std::string>& keys, const message& one) {
  const bool is_number = !one.timestamp.empty() && one.timestamp.size() < 16 &&
                         one.timestamp.find_first_not_of("0123456789") == std::string::npos;
  const auto now = std::chrono::floor<std::chrono::seconds>(foliot::runtime::wall_now()).time_since_epoch().count();
  if (!is_number || std::llabs(now - std::stoll(one.timestamp)) > tolerance) return false;
  const std::string text = one.id + "." + one.timestamp + "." + one.body;
  for (const std::string& key : keys) {
    std::array<unsigned char, 32> expected{};
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
         text.size(), expected.data(), nullptr);
    for (const std::string& each : words_in(one.signatures)) {
      if (!each.starts_with("v1,")) continue;
      const auto given = from_base64(std::string_view(each).substr(3));
      if (given && given->size() == expected.size() && CRYPTO_memcmp(given->data(), expected.data(), 32) == 0)
        return true;
    }
  }
  return false;
}

// The ids of messages that were done. A real receiver stores the id with what the message does, in one transaction:
// then a crash between the two neither loses a message nor does it twice.
class once {
 public:
  void do_work(const message& one) {
    if (done_.contains(one.id)) return;
    std::cout << "done " << one.id << ": " << one.body.size() << " bytes" << std::endl;
    order_.push_back(done_.insert(one.id).first);
    if (order_.size() <= most_ids) return;
    done_.erase(order_.front());
    order_.pop_front();
  }

 private:
  std::set<std::string> done_;
  std::deque<std::set<std::string>::iterator> order_;
};

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// The fields of a request's head, whose names are in lower case.
std::map<std::string, std::string> fields_of(const std::string& head) {
  std::map<std::string, std::string> fields;
  std::istringstream in(head);
  std::string line;
  std::getline(in, line);  // the request line
  while (std::getline(in, line)) {
    if (line.ends_with('\r')) line.pop_back();
    const auto colon = line.find(':');
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    if (colon != std::string::npos)
      fields[lower(line.substr(0, colon))] = begin == std::string::npos ? "" : line.substr(begin);
  }
  return fields;
}

foliot::task<> serve(foliot::runtime::stream peer, const std::vector<std::string>& keys, once& seen) {
  foliot::runtime::buffered_reader in(peer);
  for (;;) {
    const auto head = co_await in.read_until("\r\n\r\n", 65'536);
    if (!head || !head->complete) co_return;
    auto fields = fields_of(std::string(head->text));
    const std::string length = fields["content-length"];
    if (length.empty() || length.size() > 7 || std::stoul(length) > longest_body) co_return;
    const auto body = co_await in.read_exactly(std::stoul(length));
    if (!body || !body->complete) co_return;
    const message one{fields["webhook-id"], fields["webhook-timestamp"], fields["webhook-signature"],
                      std::string(body->text)};
    const bool genuine = is_genuine(keys, one);
    if (genuine) seen.do_work(one);
    const std::string answer =
        genuine ? "HTTP/1.1 204 No Content\r\n\r\n" : "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    const auto sent = co_await peer.write_all(answer);
    if (!sent) co_return;
  }
}

foliot::task<> receive(std::uint16_t port, const std::vector<std::string>& keys, once& seen) {
  auto gate = foliot::runtime::listener::listen(foliot::runtime::address::loopback(port));
  if (!gate) throw std::system_error(gate.error());
  std::cout << "listening on " << gate->local_address()->port() << std::endl;
  for (;;) {
    auto peer = co_await gate->accept();
    if (!peer) continue;
    foliot::runtime::spawn(serve(std::move(*peer), keys, seen));
  }
}

}  // namespace

int main(int count, char** arguments) {
  const char* const secrets = std::getenv("WEBHOOK_SECRET");
  const std::vector<std::string> keys = keys_of(secrets != nullptr ? secrets : "");
  once seen;
  const int port = count > 1 ? std::atoi(arguments[1]) : 8000;
  foliot::run(receive(static_cast<std::uint16_t>(port), keys, seen), {.processors = 1});
}
