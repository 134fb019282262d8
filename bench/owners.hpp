// What the system gives, and takes back when its owner is destroyed.
//
// Thread safety: none, one thread.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "text/failure.hpp"

namespace foliot::program::bench {

/// A descriptor of the system that is closed with its owner.
class owned_descriptor {
 public:
  owned_descriptor() noexcept = default;
  /// Owns the descriptor; none if it is negative.
  explicit owned_descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  owned_descriptor(owned_descriptor&& from) noexcept : descriptor_(std::exchange(from.descriptor_, -1)) {}
  owned_descriptor& operator=(owned_descriptor&& from) noexcept {
    std::swap(descriptor_, from.descriptor_);
    return *this;
  }
  ~owned_descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// -1 if it owns none.
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// A folder that exists until this object is destroyed, with all that is in it.
class temporary_folder {
 public:
  /// Makes `foliot-bench-…` in this folder. Throws failure.
  explicit temporary_folder(const std::filesystem::path& in) {
    std::string name = (std::filesystem::absolute(in) / "foliot-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw system_failure("make a folder in", in.string(), errno);
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace foliot::program::bench
