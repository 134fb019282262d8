#include "sign_in.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "http_line.hpp"
#include "parser.hpp"
#include "server/access/access_token.hpp"
#include "server/access/failed_attempts.hpp"
#include "writer.hpp"

#include "server/core/client_source.hpp"

namespace foliot::program::beanstalk {

namespace {

constexpr duration time_to_sign_in = std::chrono::seconds(10);
constexpr std::string_view command = "x-auth ";

/// What a client has sent up to now, and whether that has a line. Leaves no secret in the memory.
struct first_bytes {
  first_bytes() = default;
  first_bytes(const first_bytes&) = delete;
  first_bytes& operator=(const first_bytes&) = delete;
  ~first_bytes() { ::explicit_bzero(bytes.data(), bytes.size()); }

  std::array<char, 1024> bytes{};
  std::size_t size = 0;

  [[nodiscard]] std::string_view text() const noexcept { return {bytes.data(), size}; }
  /// Where the line ends; npos while it has not come, or is too long.
  [[nodiscard]] std::size_t end_of_line() const noexcept { return text().substr(0, longest_line).find("\r\n"); }
  /// Whether it can be no sign-in any more, whatever comes.
  [[nodiscard]] bool is_hopeless() const noexcept {
    return size >= longest_line || !command.starts_with(text().substr(0, command.size()));
  }
};

/// Waits for the first line, or for the bytes by which it is another one than a sign-in. A client that may be silent
/// has no time limit before its first byte.
task<> read_line(byte_stream& peer, first_bytes& into, bool may_be_silent) {
  bool is_timed = !may_be_silent;
  if (is_timed) peer.set_read_deadline(time_to_sign_in);
  while (into.end_of_line() == std::string_view::npos && !into.is_hopeless()) {
    if (!is_timed && into.size > 0) {
      is_timed = true;
      peer.set_read_deadline(time_to_sign_in);
    }
    const auto got = co_await peer.read_some(std::span(into.bytes).subspan(into.size));
    if (!got || *got == 0) break;
    into.size += *got;
  }
  peer.set_read_deadline(instant::never());
}

/// Writes the answer to a client that does not come in, and ends the connection.
task<> refuse(byte_stream& peer, std::string_view answer) {
  peer.set_write_deadline(time_to_sign_in);
  const bool written = co_await write_all(peer, answer);
  if (written) co_await drop_the_rest(peer);
}

/// The answer to a client that has shown this, and has no access by it. Empty: none.
std::string_view refusal_of(std::string_view line, const runtime::address& from, watched_tokens& tokens,
                            const server_log& log) {
  using enum failed_attempts::verdict;
  const failed_attempts::verdict deserved = tokens.attempts().note_failure(from).deserves;
  if (deserved == ignored) return {};
  if (deserved == last) {
    log.warning("access", fmt::format("too many failed attempts to sign in from {}: for a minute they get no answer",
                                      shown_address(from)));
  }
  if (!line.starts_with(command)) return begins_as_http(line) ? reply::http : reply::not_authenticated;
  if (!access_token::parse(line.substr(command.size()))) return reply::bad_token;
  log.warning("access",
              fmt::format("an access token from {} lets nobody in: it was revoked, or has ended", shown_address(from)));
  return reply::not_authenticated;
}

}  // namespace

std::shared_ptr<const rights> rights_of_certificate(const byte_stream& peer, const authority& who) {
  const auto fingerprint = parse_digest(peer.certificate_fingerprint());
  return fingerprint ? who.of_certificate(*fingerprint) : nullptr;
}

task<signed_in> sign_in(byte_stream& peer, std::shared_ptr<const rights> by_certificate, watched_tokens& tokens,
                        const server_log& log) {
  first_bytes came;
  signed_in done;
  done.given = std::move(by_certificate);
  if (done.given != nullptr) {
    const rights_holder meanwhile(&tokens.who(), done.given, [&peer] { peer.close(); });
    co_await read_line(peer, came, true);
  } else {
    co_await read_line(peer, came, false);
  }
  const std::size_t end = came.end_of_line();
  const std::string_view line = came.text().substr(0, end);
  if (done.given != nullptr && !line.starts_with(command)) {
    done.unread = came.text();
    co_return done;
  }
  done.given = nullptr;
  if (came.size == 0) co_return done;  // as those who only see whether somebody listens
  if (end != std::string_view::npos && line.starts_with(command)) {
    done.given = tokens.who().of_token(line.substr(command.size()));
  }
  if (done.given == nullptr) {
    const std::string_view answer = refusal_of(line, peer.peer_address(), tokens, log);
    if (!answer.empty()) co_await refuse(peer, answer);
    co_return done;
  }
  const std::string answer = fmt::format("AUTHENTICATED {}\r\n", done.given->id());
  peer.set_write_deadline(time_to_sign_in);
  const bool written = co_await write_all(peer, answer);
  peer.set_write_deadline(duration::forever());
  if (!written) done.given = nullptr;
  done.unread = came.text().substr(end + 2);
  co_return done;
}

}  // namespace foliot::program::beanstalk
