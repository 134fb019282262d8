#include "temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include <linux/magic.h>
#include <sys/vfs.h>

#include "text/failure.hpp"

namespace foliot::program::bench {

temporary_folder::temporary_folder(const std::filesystem::path& in) {
  std::string name = (std::filesystem::absolute(in) / "foliot-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw system_failure("make a folder in", in.string(), errno);
  path_ = name;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void temporary_folder::clear() const {
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(path_)) {
    std::filesystem::remove_all(each.path(), error);
    if (error) throw system_failure("remove", each.path().string(), error.value());
  }
}

bool is_in_memory(const std::filesystem::path& folder) noexcept {
  struct statfs system{};
  if (::statfs(folder.c_str(), &system) != 0) return false;
  return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

}  // namespace foliot::program::bench
