// Any file descriptor that epoll takes, known to the runtime: a pipe, a signalfd, a device, another library's socket.
//
//   auto watched = watched_descriptor::watch(fd);
//   const auto ready = co_await watched->readable();    // as poll(2) has it: data, the end, or a failure
//   … read(fd, …) …
//
// That it is ready is now and then told for nothing, so let fd not block (O_NONBLOCK). It stays its owner's: unwatch,
// or destroy this object, before it is closed. A descriptor is watched once at a time.
//
// Deadlines, errors and threads as in stream.hpp. What readable() and writable() return may be one of the cases of a
// select.
#pragma once

#include <expected>
#include <system_error>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/readiness.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/net/deadlines.hpp>
#include <foliot/runtime/net/io_error.hpp>

namespace foliot::runtime {

namespace detail {

/// An operation: a descriptor is ready in one direction.
class FOLIOT_EXPORT readiness_operation {
 public:
  readiness_operation(const descriptor_ptr& descriptor, direction way) noexcept : descriptor_(descriptor), way_(way) {}
  readiness_operation(const readiness_operation&) = delete;
  readiness_operation& operator=(const readiness_operation&) = delete;

  [[nodiscard]] bool try_complete() noexcept;
  void begin(wait_point& wait, wait_word::source by) { wait_.emplace(*descriptor_, way_).begin(wait, by); }
  void end() noexcept {
    if (wait_) wait_->end();
  }
  [[nodiscard]] std::expected<void, std::error_code> result() noexcept;

 private:
  const descriptor_ptr descriptor_;
  const direction way_;
  std::optional<descriptor_wait> wait_;
  std::error_code failure_;  // of try_complete()
};

}  // namespace detail

class FOLIOT_EXPORT watched_descriptor : public detail::with_deadlines {
 public:
  using awaiter = detail::operation_awaiter<detail::readiness_operation>;

  watched_descriptor() noexcept = default;
  watched_descriptor(watched_descriptor&&) noexcept = default;
  watched_descriptor& operator=(watched_descriptor&& other) noexcept {
    if (this != &other) {
      unwatch();
      with_deadlines::operator=(std::move(other));
    }
    return *this;
  }
  ~watched_descriptor() { unwatch(); }

  /// errc::operation_not_permitted for what is always ready, such as a file; errc::file_exists where it is watched
  /// already; errc::bad_file_descriptor. Throws std::logic_error outside of a runtime.
  [[nodiscard]] static std::expected<watched_descriptor, std::error_code> watch(int fd);

  /// Awaited, they give nothing, or the error: io_errc::deadline_exceeded or io_errc::closed.
  [[nodiscard]] awaiter readable() const noexcept { return awaiter(descriptor_, detail::direction::in); }
  [[nodiscard]] awaiter writable() const noexcept { return awaiter(descriptor_, detail::direction::out); }

  /// Who waits gets io_errc::closed.
  void unwatch() noexcept { end(); }

 private:
  explicit watched_descriptor(detail::descriptor_ptr descriptor) noexcept : with_deadlines(std::move(descriptor)) {}
};

}  // namespace foliot::runtime
