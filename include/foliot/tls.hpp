// TLS over the connections of a runtime: all of foliot/tls. The library is foliot::tls, which needs OpenSSL.
#pragma once

#include <foliot/tls/tls_certificate.hpp>
#include <foliot/tls/tls_context.hpp>
#include <foliot/tls/tls_error.hpp>
#include <foliot/tls/tls_stream.hpp>
