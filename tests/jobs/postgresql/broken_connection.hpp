// How tests break a connection to PostgreSQL.
#pragma once

#include <sys/socket.h>

#include <array>

namespace foliot_test {

/// From now on nothing can be sent, and nothing comes any more: what has come and was not read yet is dropped, so that
/// it does not depend on chance whether the other side has been quick. What was sent before, the other side gets.
inline void break_connection(int socket) {
  ::shutdown(socket, SHUT_RDWR);
  std::array<char, 4096> dropped;
  while (::recv(socket, dropped.data(), dropped.size(), MSG_DONTWAIT) > 0) {
  }
}

}  // namespace foliot_test
