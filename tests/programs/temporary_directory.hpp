// A directory for the files of one test, removed at its end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

namespace foliot::program {

class temporary_directory {
 public:
  temporary_directory() : path_(std::filesystem::temp_directory_path() / "foliot-test-XXXXXX") {
    std::string name = path_.string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~temporary_directory() { std::filesystem::remove_all(path_); }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  [[nodiscard]] std::string operator/(std::string_view name) const { return (path_ / name).string(); }

  /// The names of all files in it.
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) all.insert(entry.path().filename().string());
    return all;
  }

 private:
  std::filesystem::path path_;
};

inline std::string contents(const std::string& path) {
  std::string text(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

inline void put_contents(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace foliot::program
