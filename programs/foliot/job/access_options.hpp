// How a server is reached, as a command line says.
//
// Thread safety: a value.
#pragma once

#include <string>
#include <string_view>

namespace foliot::program::terminal {

inline constexpr std::string_view default_server = "http://127.0.0.1:11380";

struct access_options {
  std::string server = std::string(default_server);
  std::string token_file;   ///< empty: the environment variable FOLIOT_TOKEN, if there is one
  std::string authorities;  ///< a file in PEM; empty: the system's
  std::string certificate;  ///< of this client, a file in PEM; empty: none
  std::string key;          ///< the same; empty: it is in the file of the certificate
  bool insecure = false;    ///< an access token may be sent in the clear
};

}  // namespace foliot::program::terminal
