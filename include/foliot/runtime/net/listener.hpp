// Accepts connections at an address: a port, or a path.
//
//   auto gate = listener::listen(address::loopback(0));     // any free port: gate->local_address()
//   for (;;) {
//     auto peer = co_await gate->accept();
//     if (!peer) break;                                     // closed, or past the deadline
//     spawn(serve(std::move(*peer)));
//   }
//
// Errors, deadlines (set_read_deadline) and thread safety: as in stream.hpp. Only one task at a time may wait in
// accept().
#pragma once

#include <system_error>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/seam/socket_file.hpp>
#include <foliot/runtime/net/deadlines.hpp>
#include <foliot/runtime/net/stream.hpp>

namespace foliot::runtime {

/// A socket that accepts connections. Move-only; the destructor closes it.
class FOLIOT_EXPORT listener : public detail::with_deadlines {
 public:
  /// No socket: every operation fails with io_errc::closed.
  listener() noexcept = default;
  listener(listener&&) noexcept = default;
  /// Closes this listener, then takes over the socket of `other`.
  listener& operator=(listener&& other) noexcept {
    if (this != &other) {
      close();
      with_deadlines::operator=(std::move(other));
      file_ = std::move(other.file_);
    }
    return *this;
  }
  /// Closes the listener.
  ~listener() { close(); }

  /// Listens at that address, with room for `backlog` connections that are not accepted yet. A port may be taken over
  /// from lingering connections; an IPv6 port does not include IPv4; a path must not exist yet. Throws std::logic_error
  /// outside of a runtime, std::bad_alloc.
  [[nodiscard]] static or_error<listener> listen(const address& at, int backlog = 4096);

  /// The next connection; TCP connections have no delay for small pieces (stream::set_no_delay). If the process or the
  /// system has no descriptor left, accept() waits 10 ms, tries once more, and then returns that error; the connection
  /// stays in the backlog, and a loop that goes on does not spin. Throws as the functions of a stream do.
  [[nodiscard]] task<or_error<stream>> accept() const;

  /// Accepts no more connections, and resets those that are not accepted yet. accept() returns io_errc::closed. The
  /// file of a path is removed, also after a chdir and after the end of the runtime; a file that another process has
  /// created there instead stays (core/seam/socket_file.hpp describes a remaining race). In the child of a fork the
  /// file stays too. May be called repeatedly.
  void close() noexcept;

  /// The address at which it listens, with the port that the system chose. io_errc::closed after close().
  [[nodiscard]] or_error<address> local_address() const noexcept;

 private:
  listener(detail::descriptor_ptr descriptor, seam::socket_file file) noexcept
      : with_deadlines(std::move(descriptor)), file_(std::move(file)) {}

  seam::socket_file file_;  // if the address is a path; removed by the one close() that has begun
};

}  // namespace foliot::runtime
