#include "job/api_client.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <curl/curl.h>
#include <fmt/format.h>
#include <foliot/version.hpp>

#include "interruption.hpp"
#include "job/time_words.hpp"
#include "text/failure.hpp"

namespace foliot::program::terminal {

namespace {

constexpr std::size_t longest_answer = std::size_t{256} << 20;
constexpr std::size_t longest_token = 1024;
constexpr long connect_seconds = 10;
constexpr long answer_seconds = 60;
/// The first second of the year 10000, of which no server tells: it would be out of the range of milliseconds.
constexpr std::time_t end_of_dates = 253'402'300'800;
/// A stream has a comment after 15 s of silence.
constexpr long silent_seconds = 60;

std::string token_in(std::istream& from) {
  std::string text(longest_token + 1, '\0');
  from.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(from.gcount()));
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos) text.pop_back();
  return text;
}

/// Of the file, or of the environment; empty if the user has none.
std::string find_token(const std::string& file) {
  std::string token;
  if (!file.empty()) {
    errno = 0;
    std::ifstream opened(file, std::ios::binary);
    if (!opened) throw system_failure("read", file, errno);
    token = token_in(opened);
    if (token.empty()) throw failure(fmt::format("--token-file: '{}' has no access token in it", file));
  } else if (const char* const given = std::getenv("FOLIOT_TOKEN")) {
    token = given;
  }
  const bool is_one = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_one || token.size() > longest_token) {
    throw failure(fmt::format("{} is no access token: 'foliot token make' prints one, on one line",
                              file.empty() ? "the value of FOLIOT_TOKEN" : fmt::format("what '{}' has", file)));
  }
  return token;
}

std::string query_text(const names_and_values& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    text += text.empty() ? '?' : '&';
    text += percent_encoded(name) + "=" + percent_encoded(value);
  }
  return text;
}

/// Whether the request may have been executed although there is no answer.
bool may_be_executed(const api_request& what, CURLcode why) noexcept {
  return what.method != "GET" && (why == CURLE_RECV_ERROR || why == CURLE_GOT_NOTHING || why == CURLE_PARTIAL_FILE ||
                                  why == CURLE_OPERATION_TIMEDOUT || why == CURLE_SEND_ERROR);
}

/// Whether another attempt would meet the same.
bool is_lasting(CURLcode why) noexcept {
  return why == CURLE_PEER_FAILED_VERIFICATION || why == CURLE_SSL_CACERT_BADFILE || why == CURLE_SSL_CERTPROBLEM ||
         why == CURLE_WEIRD_SERVER_REPLY || why == CURLE_UNSUPPORTED_PROTOCOL;
}

std::string why_not(const server_address& at, CURLcode why, std::string_view more) {
  switch (why) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return fmt::format("there is no host of the name in {}: look for a mistake in it", at.name);
    case CURLE_COULDNT_CONNECT:
      return fmt::format(
          "no server answers at {}: start one by 'foliot serve', or name another by --server or "
          "FOLIOT_SERVER",
          at.name);
    case CURLE_OPERATION_TIMEDOUT: return fmt::format("the server at {} has not answered in time ({})", at.name, more);
    case CURLE_PEER_FAILED_VERIFICATION:
      return fmt::format(
          "the certificate of {} is not trusted ({}): name the authority that has signed it by --ca FILE, "
          "and the server by a name that the certificate has",
          at.name, more);
    case CURLE_SSL_CACERT_BADFILE: return fmt::format("--ca: the file has no certificates that can be used ({})", more);
    case CURLE_SSL_CERTPROBLEM: return fmt::format("--certificate or --certificate-key cannot be used ({})", more);
    case CURLE_SSL_CONNECT_ERROR:
      return fmt::format("TLS with {} has failed ({}): a server without --tls-certificate is reached by http://",
                         at.name, more);
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
      return fmt::format("{} has ended the connection without a whole answer{}", at.name,
                         at.is_tls
                             ? fmt::format(" ({}): it may want a certificate of this client, by --certificate", more)
                             : ": a server that speaks TLS is reached by https://");
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: return fmt::format("what answers at {} does not speak HTTP", at.name);
    default: return fmt::format("the request to {} has failed: {}", at.name, more);
  }
}

struct header_list {
  curl_slist* first = nullptr;

  header_list() = default;
  header_list(const header_list&) = delete;
  header_list& operator=(const header_list&) = delete;
  ~header_list() { curl_slist_free_all(first); }
  void add(const std::string& line) {
    curl_slist* const longer = curl_slist_append(first, line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    first = longer;
  }
};

}  // namespace

/// What a request needs while it runs.
struct api_client::transfer {
  header_list fields;
  std::string url;
  std::string body;
  std::string date;
  api_answer answer;
  CURL* curl = nullptr;
  const std::function<bool(std::string_view)>* take = nullptr;
  bool is_stopped = false;  // by `take`, or without it
  bool is_too_long = false;
  char error[CURL_ERROR_SIZE] = {};

  static std::size_t take_body(const char* data, std::size_t, std::size_t size, void* mine) noexcept {
    auto& all = *static_cast<transfer*>(mine);
    long status = 0;
    curl_easy_getinfo(all.curl, CURLINFO_RESPONSE_CODE, &status);
    if (all.take != nullptr && status == 200) {
      const char* type = nullptr;
      curl_easy_getinfo(all.curl, CURLINFO_CONTENT_TYPE, &type);
      all.is_stopped = !is_event_stream(type == nullptr ? "" : type) || !(*all.take)({data, size});
      return all.is_stopped ? 0 : size;
    }
    all.is_too_long = all.answer.body.size() + size > longest_answer;
    if (all.is_too_long) return 0;
    try {
      all.answer.body.append(data, size);
    } catch (const std::bad_alloc&) {
      return 0;
    }
    return size;
  }

  static int go_on(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept { return is_interrupted() ? 1 : 0; }
};

bool is_event_stream(std::string_view type) noexcept {
  constexpr std::string_view wanted = "text/event-stream";
  if (type.size() < wanted.size() || curl_strnequal(type.data(), wanted.data(), wanted.size()) == 0) return false;
  return type.size() == wanted.size() || type[wanted.size()] == ';' || type[wanted.size()] == ' ';
}

std::string percent_encoded(std::string_view text) {
  std::string done;
  for (const char c : text) {
    const bool is_plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '.' || c == '_' || c == '~';
    if (is_plain) {
      done += c;
    } else {
      fmt::format_to(std::back_inserter(done), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return done;
}

api_client::api_client(const access_options& options)
    : options_(options),
      at_(parse_server(options.server)),
      token_(find_token(options.token_file)),
      curl_(curl_easy_init(), [](void* made) { curl_easy_cleanup(made); }) {
  if (!curl_) throw failure("libcurl cannot be used on this machine");
  const bool has_files = !options.authorities.empty() || !options.certificate.empty() || !options.key.empty();
  if (has_files && !at_.is_tls) {
    throw failure(fmt::format("--ca, --certificate and --certificate-key are for servers that speak TLS: write {}",
                              at_.path.empty() ? "https://" : "https+unix:PATH"));
  }
  if (!options.key.empty() && options.certificate.empty())
    throw failure("--certificate-key is the key of a certificate: name that by --certificate");
  if (!token_.empty() && !at_.is_tls && !at_.is_local && !options.insecure) {
    throw failure(
        fmt::format("the access token would go to {} in the clear, where others can read it: use https://, or "
                    "--insecure if nobody else is on the way",
                    at_.name));
  }
}

api_client::~api_client() = default;

void api_client::prepare_tls() {
  CURL* const curl = curl_.get();
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!options_.authorities.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, options_.authorities.c_str());
    curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
  }
  if (options_.certificate.empty()) return;
  curl_easy_setopt(curl, CURLOPT_SSLCERT, options_.certificate.c_str());
  curl_easy_setopt(curl, CURLOPT_SSLKEY, (options_.key.empty() ? options_.certificate : options_.key).c_str());
}

void api_client::prepare(const api_request& what, transfer& into) {
  CURL* const curl = curl_.get();
  curl_easy_reset(curl);  // keeps the connection
  into.curl = curl;
  into.url = at_.base + what.path + query_text(what.query);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, into.error);
  curl_easy_setopt(curl, CURLOPT_URL, into.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, at_.is_tls ? "https" : "http");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "foliot/" FOLIOT_VERSION);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, connect_seconds);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);  // a reservation may wait long
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &transfer::go_on);
  if (!at_.path.empty()) curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, at_.path.c_str());
  if (into.take != nullptr) {
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, silent_seconds);
  } else if (!what.waits) {
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, answer_seconds);
  }
  prepare_tls();
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &transfer::take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &into);
  if (what.body || what.method != "GET") {
    into.body = what.body.value_or("");
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, what.method.c_str());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, into.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(into.body.size()));
  }
  into.fields.add(what.content_type.empty() ? "Content-Type:" : "Content-Type: " + what.content_type);
  into.fields.add("Expect:");
  into.fields.add("Accept: */*");
  if (!token_.empty()) into.fields.add("Authorization: Bearer " + token_);
  for (const auto& [name, value] : what.fields) into.fields.add(value.empty() ? name + ";" : name + ": " + value);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, into.fields.first);
}

api_answer api_client::perform(const api_request& what, transfer& into) {
  CURL* const curl = curl_.get();
  const CURLcode done = curl_easy_perform(curl);
  if (done == CURLE_ABORTED_BY_CALLBACK) throw_if_interrupted();
  if (into.is_too_long)
    throw failure(fmt::format("the answer of {} is longer than {} MiB", at_.name, longest_answer >> 20));
  if (done != CURLE_OK && !into.is_stopped) {
    const std::string_view more = into.error[0] != '\0' ? into.error : curl_easy_strerror(done);
    const std::string sentence =
        why_not(at_, done, more) +
        (may_be_executed(what, done) ? "; it is not known whether the request was executed" : "");
    if (is_lasting(done)) throw failure(sentence);
    throw no_answer(sentence);
  }
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &into.answer.status);
  const auto field = [curl](const char* name) {
    curl_header* found = nullptr;
    return curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK ? std::string(found->value)
                                                                                  : std::string();
  };
  into.answer.content_type = field("Content-Type");
  into.answer.retry_after = field("Retry-After");
  const std::time_t at_server = curl_getdate(field("Date").c_str(), nullptr);
  into.answer.now =
      at_server > 0 && at_server < end_of_dates ? jobs::utc_time(std::chrono::seconds(at_server)) : local_now();
  return std::move(into.answer);
}

api_answer api_client::ask(const api_request& what) {
  transfer running;
  prepare(what, running);
  return perform(what, running);
}

api_answer api_client::stream(const api_request& what, const std::function<bool(std::string_view)>& take) {
  transfer running;
  running.take = &take;
  prepare(what, running);
  return perform(what, running);
}

}  // namespace foliot::program::terminal
