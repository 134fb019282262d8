// How much memory the control groups allow.
#include "server/core/machine_memory.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "programs/temporary_directory.hpp"

namespace foliot::program {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(MachineMemory, IsTheLeastOfTheGroupsAboveTheProcess) {
  const temporary_directory root;
  const std::uint64_t whole = usable_memory(root / "");
  EXPECT_GT(whole, 64 * mebibyte);
  write(root / "proc/self/cgroup", "0::/system.slice/foliot.service\n");
  write(root / "sys/fs/cgroup/system.slice/foliot.service/memory.max", "max\n");
  EXPECT_EQ(usable_memory(root / ""), whole);
  write(root / "sys/fs/cgroup/system.slice/memory.max", std::to_string(48 * mebibyte) + "\n");
  EXPECT_EQ(usable_memory(root / ""), 48 * mebibyte);
  write(root / "sys/fs/cgroup/system.slice/foliot.service/memory.max", std::to_string(32 * mebibyte) + "\n");
  EXPECT_EQ(usable_memory(root / ""), 32 * mebibyte);
}

TEST(MachineMemory, KnowsTheFirstVersionOfGroups) {
  const temporary_directory root;
  write(root / "proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\nnonsense\n");
  write(root / "sys/fs/cgroup/memory/a/memory.limit_in_bytes", std::to_string(24 * mebibyte) + "\n");
  EXPECT_EQ(usable_memory(root / ""), 24 * mebibyte);
}

TEST(MachineMemory, AnEighthOfItIsBuffered) {
  EXPECT_EQ(default_max_buffered(0), 16 * mebibyte);
  EXPECT_EQ(default_max_buffered(2048 * mebibyte), 256 * mebibyte);
  EXPECT_EQ(default_max_buffered(1'000'000 * mebibyte), 4096 * mebibyte);
}

}  // namespace
}  // namespace foliot::program
