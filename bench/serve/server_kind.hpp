// The servers that `foliot bench serve` can start: foliot's own, Debian's beanstalkd and NATS, each with the settings
// that decide when a change is durable.
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

enum class spoken_protocol : std::uint8_t { beanstalk, http, nats };

struct server_kind {
  std::string_view name;
  bool is_foliot = false;
  durability keeps = durability::none;
  std::string_view remark;
  spoken_protocol speaks = spoken_protocol::beanstalk;
  bool has_tls = false;
  bool has_token = false;  ///< its clients show an access token
  bool is_old = false;     ///< the program of another version, which --old names

  /// Whether its clients speak the beanstalk protocol as they always did. The others take part where that is compared.
  [[nodiscard]] constexpr bool is_usual() const noexcept {
    return speaks == spoken_protocol::beanstalk && !has_tls && !has_token && !is_old;
  }
  /// Whether it takes part where delayed jobs are measured.
  [[nodiscard]] constexpr bool delays_jobs() const noexcept { return is_usual() || speaks == spoken_protocol::nats; }
};

inline constexpr std::array server_kinds = {
    server_kind{"foliot", true, durability::each_change, "foliot serve: each change is synced before its reply"},
    server_kind{"foliot-memory", true, durability::none, "foliot serve --memory"},
    server_kind{"beanstalkd-f0", false, durability::each_change, "beanstalkd -b DIR -f0: each change is synced"},
    server_kind{"beanstalkd-F", false, durability::unsynced, "beanstalkd -b DIR -F: a log that is never synced"},
    server_kind{"beanstalkd", false, durability::none, "beanstalkd: no log"},
    server_kind{
        .name = "nats",
        .keeps = durability::each_change,
        .remark =
            "NATS JetStream, file storage, sync_interval: always; delayed jobs are messages with a schedule (@at)",
        .speaks = spoken_protocol::nats},
    server_kind{.name = "foliot-tls",
                .is_foliot = true,
                .keeps = durability::each_change,
                .remark = "as foliot, under TLS",
                .has_tls = true},
    server_kind{.name = "foliot-token",
                .is_foliot = true,
                .keeps = durability::each_change,
                .remark = "as foliot, with access tokens",
                .has_token = true},
    server_kind{.name = "foliot-http",
                .is_foliot = true,
                .keeps = durability::each_change,
                .remark = "as foliot, by HTTP",
                .speaks = spoken_protocol::http},
    server_kind{.name = "foliot-http-tls",
                .is_foliot = true,
                .keeps = durability::each_change,
                .remark = "as foliot, by HTTP under TLS",
                .speaks = spoken_protocol::http,
                .has_tls = true},
    server_kind{.name = "foliot-http-token",
                .is_foliot = true,
                .keeps = durability::each_change,
                .remark = "as foliot, by HTTP with access tokens",
                .speaks = spoken_protocol::http,
                .has_token = true},
    server_kind{.name = "foliot-old",
                .is_foliot = true,
                .keeps = durability::each_change,
                .remark = "as foliot, the program of --old",
                .is_old = true},
};

/// What a server gets on its command line.
struct server_arguments {
  std::string address{};            ///< where its clients connect: unix:PATH or 127.0.0.1:PORT
  std::filesystem::path folder{};   ///< with its data, and with what server_kind says of TLS and tokens
  std::size_t max_body = 0;         ///< bytes of a job
  std::size_t connections = 0;      ///< 0: as many as it allows by itself
  std::filesystem::path program{};  ///< as program_of() has found it

  [[nodiscard]] std::filesystem::path data() const { return folder / "data"; }
  [[nodiscard]] std::filesystem::path certificate() const { return folder / "certificate.pem"; }
  [[nodiscard]] std::filesystem::path key() const { return folder / "key.pem"; }
  [[nodiscard]] std::filesystem::path tokens() const { return folder / "tokens"; }
  /// The socket at which a server that is measured by HTTP listens for clients of the beanstalk protocol: whether it
  /// runs is asked there.
  [[nodiscard]] std::filesystem::path control() const { return folder / "control"; }
  [[nodiscard]] std::filesystem::path settings_of_nats() const { return folder / "nats.conf"; }
};

/// Null if there is none of this name.
[[nodiscard]] const server_kind* find_server_kind(std::string_view name) noexcept;

/// The program of these servers: this one, that of --old, beanstalkd in one of the folders of $PATH, or NATS as
/// build_nats() has built it; nothing if it is not there.
[[nodiscard]] std::optional<std::filesystem::path> program_of(const server_kind& kind,
                                                              const std::filesystem::path& old = {});
/// Builds the server of NATS, in the version that bench/peers/nats/go.mod names. Go downloads the modules that are
/// missing. Prints a line before it begins. Throws failure.
void build_nats();
/// What the program prints for its version. Empty if the program does not run.
[[nodiscard]] std::string version_of(const server_kind& kind, const std::filesystem::path& old = {});

/// The words of its command line.
[[nodiscard]] std::vector<std::string> command_of(const server_kind& kind, const server_arguments& given);

}  // namespace foliot::program::bench
