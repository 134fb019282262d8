// Where a server of the beanstalk protocol is, and whether it is spoken to in plain or by TLS, as a user writes it: an
// address (address_text.hpp), with `tls:` in front for TLS, such as tls:jobs.example.com:11300. What follows `tls:` is
// also what the server's certificate must be for; at a path that is localhost.
//
// Thread safety: not inside of a runtime, because it may look up a name.
#pragma once

#include <string>
#include <string_view>

#include <foliot/client/endpoint.hpp>

namespace foliot::program::copying {

/// What the text means. `authorities`: the file with those that a server's certificate may be signed by; empty: the
/// system's. Throws failure, which begins with `argument`, if the text is none, if there is no such host, or if the
/// authorities cannot be read.
[[nodiscard]] client::endpoint find_place(std::string_view argument, std::string_view text,
                                          const std::string& authorities);

}  // namespace foliot::program::copying
