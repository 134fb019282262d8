// Any file descriptor that epoll takes, watched by the runtime: a pipe, a signalfd, a device, another library's socket.
//
//   auto watched = watched_descriptor::watch(fd);
//   const auto ready = co_await watched->readable();    // as by poll(2): data, the end, or a failure
//   … read(fd, …) …
//
// Readiness may be reported although there is nothing to do, so `fd` should not block (O_NONBLOCK). This object does
// not own the descriptor: the owner must call unwatch(), or destroy this object, before it closes the descriptor. A
// descriptor may be watched only once at a time.
//
// Deadlines, errors and thread safety: as in stream.hpp.
#pragma once

#include <expected>
#include <system_error>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/readiness.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/net/deadlines.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime {

namespace detail {

/// An operation, see operation.hpp: completes when a descriptor is ready in one direction.
class FOLIOT_EXPORT readiness_operation {
 public:
  readiness_operation(const descriptor_ptr& descriptor, direction way) noexcept : descriptor_(descriptor), way_(way) {}
  readiness_operation(const readiness_operation&) = delete;
  readiness_operation& operator=(const readiness_operation&) = delete;

  [[nodiscard]] wait_kind kind() const noexcept { return way_ == direction::in ? wait_kind::read : wait_kind::write; }
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
  std::error_code failure_;  // what try_complete() found
};

}  // namespace detail

/// A descriptor of another owner that the runtime watches. Move-only; the destructor ends the watch.
class FOLIOT_EXPORT watched_descriptor : public detail::with_deadlines {
 public:
  /// Await it, or make it a case of a select: see readable().
  using awaiter = detail::operation_awaiter<detail::readiness_operation>;

  /// No descriptor: operations fail with io_errc::closed.
  watched_descriptor() noexcept = default;
  watched_descriptor(watched_descriptor&&) noexcept = default;
  /// Ends this watch, then takes over that of `other`.
  watched_descriptor& operator=(watched_descriptor&& other) noexcept {
    if (this != &other) {
      unwatch();
      with_deadlines::operator=(std::move(other));
    }
    return *this;
  }
  /// Ends the watch.
  ~watched_descriptor() { unwatch(); }

  /// Watches `fd`. Returns errc::operation_not_permitted for a descriptor that is always ready, such as a file's;
  /// errc::file_exists if it is watched already; errc::bad_file_descriptor. Throws std::logic_error outside of a
  /// runtime.
  [[nodiscard]] static std::expected<watched_descriptor, std::error_code> watch(int fd);

  /// Await the result, or make it a case of a select: it waits until the descriptor can be read, and gives nothing or
  /// the error, io_errc::deadline_exceeded or io_errc::closed. The wait throws as those of a stream do.
  [[nodiscard]] awaiter readable() const noexcept { return awaiter(descriptor_, detail::direction::in); }
  /// The same for writing.
  [[nodiscard]] awaiter writable() const noexcept { return awaiter(descriptor_, detail::direction::out); }

  /// Ends the watch. Waits for it end with io_errc::closed. Any task, and repeatedly.
  void unwatch() noexcept { end(); }

 private:
  explicit watched_descriptor(detail::descriptor_ptr descriptor) noexcept : with_deadlines(std::move(descriptor)) {}
};

}  // namespace foliot::runtime
