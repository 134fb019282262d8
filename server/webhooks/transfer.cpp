#include "transfer.hpp"

#include <algorithm>
#include <charconv>
#include <new>

#include <fmt/format.h>

#include "retry_after.hpp"

namespace foliot::program::webhooks {

namespace {

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLE_OK)
    throw std::runtime_error(
        fmt::format("libcurl refuses option {}: {}", static_cast<int>(option), curl_easy_strerror(code)));
}

template <class Value>
Value info_of(CURL* easy, CURLINFO which) noexcept {
  Value value{};
  curl_easy_getinfo(easy, which, &value);
  return value;
}

long milliseconds_of(duration length) noexcept {
  constexpr std::int64_t one = 1'000'000;
  return static_cast<long>(std::clamp<std::int64_t>(length.count() / one, 1, 86'400'000));
}

/// The value of a header, if it has that name, in lower case.
std::optional<std::string_view> value_if(std::string_view line, std::string_view name) noexcept {
  if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
  if (curl_strnequal(line.data(), name.data(), name.size()) == 0) return std::nullopt;
  line.remove_prefix(name.size() + 1);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  return line;
}

/// A text of a stranger, for the operator.
std::string shown(std::string_view text, std::size_t longest) {
  std::string safe(text.substr(0, longest));
  for (char& c : safe) c = c >= ' ' && c < 0x7f ? c : '?';
  return text.size() > longest ? safe + "…" : safe;
}

}  // namespace

transfer::transfer(const engine_options& options, const engine_callbacks& engine)
    : options_(options), engine_(engine), easy_(curl_easy_init(), [](CURL* made) { curl_easy_cleanup(made); }) {
  if (!easy_) throw std::bad_alloc();
  CURL* const easy = easy_.get();
  set(easy, CURLOPT_PRIVATE, this);
  set(easy, CURLOPT_NOSIGNAL, 1L);
  // Else the end of a delivery whose name is still looked up waits for the look-up, and all others with it
  // (curl/curl#4852, #8515).
  set(easy, CURLOPT_QUICK_EXIT, 1L);
  set(easy, CURLOPT_POST, 1L);
  set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(easy, CURLOPT_PIPEWAIT, 0L);
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(easy, CURLOPT_PROXY, "");
  set(easy, CURLOPT_NOPROXY, "*");
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  if (!options.authorities.empty()) {
    set(easy, CURLOPT_CAINFO, options.authorities.c_str());
    set(easy, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds_of(options.connect_time));
  set(easy, CURLOPT_OPENSOCKETFUNCTION, engine.open);
  set(easy, CURLOPT_OPENSOCKETDATA, this);
  set(easy, CURLOPT_CLOSESOCKETFUNCTION, engine.close);
  set(easy, CURLOPT_CLOSESOCKETDATA, engine.engine);
  set(easy, CURLOPT_HEADERFUNCTION, &transfer::take_header);
  set(easy, CURLOPT_HEADERDATA, this);
  set(easy, CURLOPT_WRITEFUNCTION, &transfer::take_body);
  set(easy, CURLOPT_WRITEDATA, this);
  set(easy, CURLOPT_ERRORBUFFER, error_.data());
}

void transfer::set_headers(const std::string& signature, std::int64_t timestamp) {
  lines_.clear();
  // Behind the colon of an empty one libcurl leaves a header out that it would send by itself: for a long body it would
  // ask whether it may send it, and wait a second for receivers that do not know the question.
  lines_.emplace_back("Expect:");
  lines_.push_back(fmt::format("Content-Type: {}", request_->content_type));
  lines_.push_back(fmt::format("{}: {}", id_header, request_->id));
  lines_.push_back(fmt::format("{}: {}", timestamp_header, timestamp));
  if (!signature.empty()) lines_.push_back(fmt::format("{}: {}", signature_header, signature));
  for (const auto& [name, value] : request_->headers) lines_.push_back(fmt::format("{}: {}", name, value));
  links_.resize(lines_.size());
  for (std::size_t i = 0; i < lines_.size(); ++i)
    links_[i] = {.data = lines_[i].data(), .next = i + 1 < lines_.size() ? &links_[i + 1] : nullptr};
}

void transfer::prepare(delivery_request request, std::string signature, std::int64_t timestamp) {
  request_ = std::move(request);
  set_headers(signature, timestamp);
  CURL* const handle = easy_.get();
  set(handle, CURLOPT_CURLU, request_->url.handle());
  set(handle, CURLOPT_PROTOCOLS_STR, request_->url.is_https() ? "https" : "http");
  set(handle, CURLOPT_POSTFIELDS, request_->body.data());
  set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_->body.size()));
  set(handle, CURLOPT_HTTPHEADER, links_.data());
  set(handle, CURLOPT_TIMEOUT_MS, milliseconds_of(request_->time_out));
  error_[0] = '\0';
}

void transfer::clear() noexcept {
  curl_easy_setopt(easy_.get(), CURLOPT_CURLU, nullptr);
  curl_easy_setopt(easy_.get(), CURLOPT_URL, nullptr);  // the text of the last one, which it keeps
  curl_easy_setopt(easy_.get(), CURLOPT_POSTFIELDS, nullptr);
  curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, nullptr);
  request_.reset();
  multi = nullptr;
  has_socket = is_final_ = false;
  status_ = 0;
  header_bytes_ = informational_ = body_bytes_ = 0;
  fault_ = {};
  for (std::string* const each : {&body_, &retry_after_, &location_, &denied}) each->clear();
}

std::size_t transfer::take_header(char* data, std::size_t, std::size_t size, void* mine) noexcept {
  try {
    return static_cast<transfer*>(mine)->take({data, size}) ? size : 0;
  } catch (const std::bad_alloc&) {
    static_cast<transfer*>(mine)->refuse("there was no memory for the answer");
    return 0;
  }
}

bool transfer::take(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > options_.most_header_bytes) return is_final_ || refuse("the headers of the answer are too long");
  if (is_final_) return true;  // a trailer
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    status_ = 0;
    retry_after_.clear();
    location_.clear();
    if (const std::size_t blank = line.find(' '); blank != std::string_view::npos)
      std::from_chars(line.data() + blank + 1, line.data() + line.size(), status_);
    if (status_ == 101) return refuse("the answer switches protocols (101), which was not asked for");
    if (status_ < 200 && ++informational_ > options_.most_informational)
      return refuse("there are too many answers of 1xx");
  } else if (line.empty()) {
    is_final_ = status_ >= 200;
    if (is_final_) engine_.headers_in(engine_.engine, *this);
  } else if (const auto coding = value_if(line, "transfer-encoding")) {
    if (!(coding->size() == 7 && curl_strnequal(coding->data(), "chunked", 7) != 0))
      return refuse("the answer has a transfer coding other than chunked, which was not asked for");
  } else if (const auto patience = value_if(line, "retry-after")) {
    retry_after_ = patience->substr(0, 64);
  } else if (const auto other_place = value_if(line, "location")) {
    location_ = *other_place;
  }
  return true;
}

std::size_t transfer::take_body(char* data, std::size_t, std::size_t size, void* mine) noexcept {
  auto& all = *static_cast<transfer*>(mine);
  all.body_bytes_ += size;
  try {
    if (all.body_.size() < all.options_.kept_body_bytes)
      all.body_.append(data, std::min(size, all.options_.kept_body_bytes - all.body_.size()));
  } catch (const std::bad_alloc&) {
    // The answer counts, not its body.
  }
  return all.body_bytes_ <= all.options_.most_body_bytes ? size : 0;
}

outcome transfer::kind_of(CURLcode code) const noexcept {
  if (is_final_ && fault_.empty())
    return has_succeeded() ? outcome::delivered : status_ == 410 ? outcome::gone : outcome::rejected;
  if (!has_socket && !denied.empty()) return outcome::forbidden;
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_OUT_OF_MEMORY: return outcome::not_sent;
    // Nothing is sent before the connection is ready for it.
    default:
      return info_of<curl_off_t>(easy_.get(), CURLINFO_PRETRANSFER_TIME_T) == 0 ? outcome::not_sent : outcome::unknown;
  }
}

std::string transfer::reason_of(CURLcode code, outcome what) const {
  switch (what) {
    case outcome::delivered: return {};
    case outcome::gone: return "the target answered 410: it is gone, and wants no more deliveries";
    case outcome::rejected:
      if (status_ / 100 == 3 && !location_.empty())
        return fmt::format("the target answered {}, a redirect to {}, which is not followed", status_,
                           shown(location_, 200));
      return fmt::format("the target answered {}", status_);
    case outcome::forbidden: return denied;
    default: break;
  }
  if (!fault_.empty()) return std::string(fault_);
  if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY) return "what answers does not speak HTTP";
  const std::string_view more = error_[0] != '\0' ? std::string_view(error_.data()) : curl_easy_strerror(code);
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST: return fmt::format("there is no host of the name {}", request_->url.host());
    case CURLE_OPERATION_TIMEDOUT: return fmt::format("no answer in time: {}", shown(more, 200));
    case CURLE_OK: return "the connection ended within the headers of the answer";
    case CURLE_GOT_NOTHING: return "the target ended the connection without an answer";
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR: return fmt::format("the connection broke before an answer: {}", shown(more, 200));
    default: return shown(more, 200);
  }
}

delivery_answer transfer::answer(CURLcode code, std::chrono::sys_seconds now) const {
  delivery_answer made;
  CURL* const handle = easy_.get();
  made.what = kind_of(code);
  made.status = is_final_ ? status_ : 0;
  made.reason = reason_of(code, made.what);
  made.body = body_;
  if (status_ == 429 || status_ == 503)
    made.retry_after = parse_retry_after(retry_after_, now, options_.longest_retry_after);
  made.took = std::chrono::microseconds(info_of<curl_off_t>(handle, CURLINFO_TOTAL_TIME_T));
  if (const char* const address = info_of<char*>(handle, CURLINFO_PRIMARY_IP); address != nullptr)
    made.address = address;
  made.reused = !has_socket && is_final_;
  return made;
}

}  // namespace foliot::program::webhooks
