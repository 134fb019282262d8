// The servers that `foliot bench serve` can start: foliot's own and Debian's beanstalkd, each with the settings that
// decide when a change is durable.
//
// Thread safety: constants and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::program::bench {

enum class durability : std::uint8_t {
  each_change,  ///< a change is synced before it is acknowledged
  unsynced,     ///< a change is written, and the system syncs it when it likes
  none,         ///< jobs are in memory only
};

struct server_kind {
  std::string_view name;
  bool is_foliot = false;
  durability keeps = durability::none;
  std::string_view remark;
};

inline constexpr std::array server_kinds = {
    server_kind{"foliot", true, durability::each_change, "foliot serve: each change is synced before its reply"},
    server_kind{"foliot-memory", true, durability::none, "foliot serve --memory"},
    server_kind{"beanstalkd-f0", false, durability::each_change, "beanstalkd -b DIR -f0: each change is synced"},
    server_kind{"beanstalkd-F", false, durability::unsynced, "beanstalkd -b DIR -F: a log that is never synced"},
    server_kind{"beanstalkd", false, durability::none, "beanstalkd: no log"},
};

/// Null if there is none of this name.
[[nodiscard]] const server_kind* find_server_kind(std::string_view name) noexcept;

/// The program of these servers: this one, or beanstalkd in one of the folders of $PATH; nothing if it is not there.
[[nodiscard]] std::optional<std::filesystem::path> program_of(const server_kind& kind);
/// What `beanstalkd -v` prints, or foliot and its version. Empty if the program does not run.
[[nodiscard]] std::string version_of(const server_kind& kind);

/// The words of its command line. `address` is unix:PATH or 127.0.0.1:PORT; `data` is a folder that exists, of a server
/// that has one; bodies have up to `max_body` bytes. Precondition: program_of() has found its program.
[[nodiscard]] std::vector<std::string> command_of(const server_kind& kind, const std::string& address,
                                                  const std::filesystem::path& data, std::size_t max_body);

}  // namespace foliot::program::bench
