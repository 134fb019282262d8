// A folder of time zones of the test's own: names with the data of any zone of the system, and a version.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include <foliot/schedule/zone.hpp>

#include "jobs/kit/temporary_folder.hpp"

namespace foliot::program {

class zone_folder {
 public:
  /// The zones with these names have the data of the system's zones behind them. An empty version: the folder does not
  /// tell it.
  using content = std::map<std::string, std::string>;

  zone_folder(const std::string& version, const content& zones) { replace(version, zones); }

  void replace(const std::string& version, const content& zones) {
    const std::filesystem::path root = path();
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
    for (const auto& [name, source] : zones) {
      const std::filesystem::path file = root / name;
      std::filesystem::create_directories(file.parent_path());
      std::filesystem::copy_file(std::filesystem::path(schedule::zone_directory().folder()) / source, file,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    if (!version.empty()) std::ofstream(root / "tzdata.zi") << "# version " << version << "\n";
  }
  [[nodiscard]] schedule::zone_directory directory() const { return schedule::zone_directory(path().string()); }

 private:
  [[nodiscard]] std::filesystem::path path() const { return std::filesystem::path(folder_.path()) / "zones"; }

  const foliot_test::temporary_folder folder_;
};

}  // namespace foliot::program
