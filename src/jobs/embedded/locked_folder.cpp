#include "locked_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <foliot/jobs/job_store.hpp>

#include "disk.hpp"

namespace foliot::jobs::detail {

locked_folder::locked_folder(std::string name)
    : name_(std::move(name)), opened_(::open(name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), maker_(::getpid()) {
  if (opened_ < 0 && errno == EACCES) {
    throw store_failure("cannot open the job store " + name_ +
                        ": the folder cannot be read: make it readable and writable for this user");
  }
  if (opened_ < 0)
    throw_opening_failure(name_, rocksdb::IOStatus::IOError("While opening the folder", std::strerror(errno)));
  if (::flock(opened_, LOCK_EX | LOCK_NB) == 0) return;
  const int refused = errno;
  if (refused == EWOULDBLOCK) {
    ::close(opened_);
    throw store_failure("cannot open the job store " + name_ +
                        ": it is in use by another process, or opened twice in this one: end the other user first");
  }
  try {
    lock_failure_ = std::strerror(refused);
  } catch (const std::bad_alloc&) {
    ::close(opened_);
    throw;
  }
}

locked_folder::locked_folder(locked_folder&& other) noexcept
    : name_(std::move(other.name_)),
      lock_failure_(std::move(other.lock_failure_)),
      opened_(std::exchange(other.opened_, -1)),
      maker_(other.maker_) {}

locked_folder::~locked_folder() {
  if (opened_ < 0) return;
  // Not by the close alone: a child of fork() may have a copy of the descriptor.
  if (maker_ == ::getpid()) ::flock(opened_, LOCK_UN);
  ::close(opened_);
}

bool locked_folder::is_replaced() const noexcept {
  struct stat mine{};
  struct stat found{};
  if (::fstat(opened_, &mine) != 0 || ::stat(name_.c_str(), &found) != 0) return false;
  return mine.st_dev != found.st_dev || mine.st_ino != found.st_ino;
}

}  // namespace foliot::jobs::detail
