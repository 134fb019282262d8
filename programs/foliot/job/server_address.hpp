// Where the HTTP interface of a server is, as users write it: http://HOST:PORT, https://HOST:PORT, HOST, HOST:PORT, a
// port alone, unix:PATH, or https+unix:PATH for TLS over a socket at a path. A path behind the host is the prefix at
// which a reverse proxy has the server.
//
// Thread safety: a value.
#pragma once

#include <string>
#include <string_view>

namespace foliot::program::terminal {

struct server_address {
  std::string name;  ///< for messages: the address with its scheme
  std::string base;  ///< what the paths of the interface follow: a URL without a slash at its end
  std::string path;  ///< of a socket; empty: the host of `base` is connected to
  bool is_tls = false;
  bool is_local = false;  ///< what is sent there does not leave this machine
};

/// What the text means. Throws failure if it is no such address.
[[nodiscard]] server_address parse_server(std::string_view text);

inline constexpr std::string_view default_server = "http://127.0.0.1:11380";

/// How a server is reached, as a command line says.
struct access_options {
  std::string server = std::string(default_server);
  std::string token_file;   ///< empty: the environment variable FOLIOT_TOKEN, if there is one
  std::string authorities;  ///< a file in PEM; empty: the system's
  std::string certificate;  ///< of this client, a file in PEM; empty: none
  std::string key;          ///< the same; empty: it is in the file of the certificate
  bool insecure = false;    ///< an access token may be sent in the clear
};

}  // namespace foliot::program::terminal
