// A folder that exists until this object is destroyed, with all that is in it.
//
// Thread safety: none, one thread.
#pragma once

#include <filesystem>

namespace foliot::program::bench {

class temporary_folder {
 public:
  /// Makes `foliot-bench-…` in this folder. Throws failure.
  explicit temporary_folder(const std::filesystem::path& in);
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Removes all that is in it. Throws failure.
  void clear() const;

 private:
  std::filesystem::path path_;
};

/// Whether the folder is in a file system that keeps its files in memory, where a sync costs nothing.
[[nodiscard]] bool is_in_memory(const std::filesystem::path& folder) noexcept;

}  // namespace foliot::program::bench
