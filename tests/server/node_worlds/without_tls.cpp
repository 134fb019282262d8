// The worlds have no certificates: the sources of TLS, and of the sockets below it, are not compiled for them.
#include "server/core/tls_certificates.hpp"

namespace foliot::program {

tls_figures tls_certificates::figures() const { return {}; }

}  // namespace foliot::program
