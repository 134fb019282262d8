#include "job/server_address.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <curl/curl.h>
#include <fmt/format.h>

#include "text/failure.hpp"

namespace foliot::program::terminal {

namespace {

constexpr std::string_view by_path = "unix:";
constexpr std::string_view by_path_and_tls = "https+unix:";
constexpr std::string_view default_port = "11380";

failure no_address(std::string_view text) {
  return failure(
      fmt::format("--server: '{}' is no address of a server: write one such as {}, https://jobs.example.com:"
                  "11380, localhost:11380 or unix:PATH",
                  text, default_server));
}

server_address at_path(std::string_view text, std::string_view scheme) {
  server_address found;
  found.name = text;
  found.path = text.substr(scheme.size());
  found.is_tls = scheme == by_path_and_tls;
  found.is_local = true;
  found.base = found.is_tls ? "https://localhost" : "http://localhost";
  if (found.path.empty()) throw no_address(text);
  return found;
}

class parsed_url {
 public:
  explicit parsed_url(const std::string& text) : url_(curl_url(), &curl_url_cleanup) {
    is_right_ = url_ && curl_url_set(url_.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
  }

  [[nodiscard]] bool is_right() const noexcept { return is_right_; }
  /// Empty if the URL has no such part.
  [[nodiscard]] std::string part(CURLUPart which) const {
    char* text = nullptr;
    if (curl_url_get(url_.get(), which, &text, 0) != CURLUE_OK) return {};
    const std::unique_ptr<char, decltype(&curl_free)> kept(text, &curl_free);
    return text;
  }

 private:
  std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url_;
  bool is_right_ = false;
};

bool is_number(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_loopback(std::string_view host) noexcept {
  const bool is_ipv4 = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "[::1]" || (is_ipv4 && host.starts_with("127."));
}

/// With a scheme. Without one, the port is the server's default port unless the text names another one.
std::string with_scheme(std::string_view text) {
  if (text.find("://") != std::string_view::npos) return std::string(text);
  if (is_number(text)) return fmt::format("http://127.0.0.1:{}", text);
  const std::size_t end_of_host = text.starts_with('[') ? text.find(']') : 0;
  const bool has_port = end_of_host != std::string_view::npos && text.find(':', end_of_host) != std::string_view::npos;
  return has_port ? fmt::format("http://{}", text) : fmt::format("http://{}:{}", text, default_port);
}

}  // namespace

server_address parse_server(std::string_view text) {
  if (text.starts_with(by_path)) return at_path(text, by_path);
  if (text.starts_with(by_path_and_tls)) return at_path(text, by_path_and_tls);
  const bool is_odd = std::ranges::any_of(text, [](char c) { return c >= 0 && c <= ' '; });
  const parsed_url url(with_scheme(text));
  if (text.empty() || is_odd || !url.is_right()) throw no_address(text);
  const std::string scheme = url.part(CURLUPART_SCHEME);
  const std::string host = url.part(CURLUPART_HOST);
  if ((scheme != "http" && scheme != "https") || host.empty()) throw no_address(text);
  for (const CURLUPart each : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT}) {
    if (!url.part(each).empty()) {
      throw failure(
          "--server: the address has more than a host, a port and a path: access tokens are shown by "
          "--token-file or FOLIOT_TOKEN");
    }
  }
  const std::string port = url.part(CURLUPART_PORT);
  std::string path = url.part(CURLUPART_PATH);
  while (path.ends_with('/')) path.pop_back();
  server_address found;
  found.is_tls = scheme == "https";
  found.is_local = is_loopback(host);
  found.base = fmt::format("{}://{}{}{}{}", scheme, host, port.empty() ? "" : ":", port, path);
  found.name = found.base;
  return found;
}

}  // namespace foliot::program::terminal
