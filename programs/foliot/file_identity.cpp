#include "file_identity.hpp"

#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "output_file.hpp"

namespace foliot::program {

file_identity file_identity::of_output(const std::string& name) {
  return output_file::is_standard_output(name) ? file_identity(STDOUT_FILENO) : file_identity(name);
}

file_identity file_identity::of_input(const std::string& name) {
  return name == "-" ? file_identity(STDIN_FILENO) : file_identity(name);
}

file_identity::file_identity(int stream) noexcept : stream_(stream) {
  struct stat found{};
  if (::fstat(stream, &found) == 0) note(found);
}

file_identity::file_identity(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0) {
    note(found);
    return;
  }
  std::error_code ignored;
  path_ = std::filesystem::weakly_canonical(std::filesystem::absolute(end_of_links(path), ignored), ignored).string();
}

void file_identity::note(const struct ::stat& found) noexcept {
  inode_ = {found.st_dev, found.st_ino};
  regular_ = S_ISREG(found.st_mode);
}

std::string end_of_links(const std::string& name) {
  constexpr int longest_chain = 40;  // Linux'
  std::filesystem::path path = name;
  for (int i = 0; i < longest_chain; ++i) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) return path.string();
    path = path.parent_path() / target;  // the target itself, if it is absolute
  }
  return name;
}

}  // namespace foliot::program
