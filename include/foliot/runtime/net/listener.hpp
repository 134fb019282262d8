// Where others connect to: a port, or a path.
//
//   auto gate = listener::listen(address::loopback(0));     // any free port: gate->local_address()
//   for (;;) {
//     auto peer = co_await gate->accept();
//     if (!peer) break;                                     // closed, or past the deadline
//     spawn(serve(std::move(*peer)));
//   }
//
// Errors, deadlines (set_read_deadline) and threads as in stream.hpp; one task accepts at a time. When the process or
// the system has no descriptor left for a connection, accept() waits 10 ms, tries once more, and says so then: the
// connection stays where it is, and a loop that goes on does not spin.
#pragma once

#include <system_error>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/seam/socket_file.hpp>
#include <foliot/runtime/net/deadlines.hpp>
#include <foliot/runtime/net/stream.hpp>

namespace foliot::runtime {

class FOLIOT_EXPORT listener : public detail::with_deadlines {
 public:
  listener() noexcept = default;
  listener(listener&&) noexcept = default;
  listener& operator=(listener&& other) noexcept {
    if (this != &other) {
      close();
      with_deadlines::operator=(std::move(other));
      file_ = std::move(other.file_);
    }
    return *this;
  }
  ~listener() { close(); }

  /// At that address, with room for so many connections that nobody has accepted yet. A port is taken over from
  /// connections that linger, an IPv6 one is no IPv4 one, and a path must not be there yet.
  [[nodiscard]] static or_error<listener> listen(const address& at, int backlog = 4096);

  /// The next connection. TCP ones do not gather small pieces (stream::set_no_delay).
  [[nodiscard]] task<or_error<stream>> accept() const;

  /// Nobody gets in from now on. Connections that nobody has accepted are reset. The file of a path is removed, also
  /// after a chdir and after the end of the runtime; a file that another process has put in its place stays (but see
  /// core/seam/socket_file.hpp on processes that do so at this very moment). In the child of a fork it stays as well.
  void close() noexcept;

  [[nodiscard]] or_error<address> local_address() const noexcept;

 private:
  listener(detail::descriptor_ptr descriptor, seam::socket_file file) noexcept
      : with_deadlines(std::move(descriptor)), file_(std::move(file)) {}

  seam::socket_file file_;  // none, where the address is no path; else removed by the one close() that has begun
};

}  // namespace foliot::runtime
