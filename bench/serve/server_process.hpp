// A server that the benchmark has started: it ends with this object, and with this process, however that ends.
//
// Thread safety: none, one thread, which must live as long as the process: the system ends the server with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/net/address.hpp>
#include <sys/types.h>

#include "client_socket.hpp"
#include "server_kind.hpp"
#include "server_place.hpp"

namespace foliot::program::bench {

enum class transport : std::uint8_t {
  tcp,   ///< a free port on 127.0.0.1
  local  ///< a socket in the folder
};

struct server_settings {
  transport way = transport::tcp;
  std::size_t max_body = std::size_t{1} << 20;
  std::size_t connections = 0;          ///< that it must allow; 0: as many as it does by itself
  std::filesystem::path old_program{};  ///< of --old
  bool nats_syncs = true;               ///< whether NATS syncs each change
};

/// The memory and the processor time that a server has taken so far.
struct server_usage {
  std::uint64_t resident_bytes = 0;
  duration processor_time{};  ///< of all its threads, user and system
};

class server_process {
 public:
  /// Starts a server whose data are in `folder`/data, made if missing, and whose messages go to `folder`/log; with a
  /// certificate and an access token of its own, if the kind has them. Returns when it has answered a
  /// command. The folder must exist; a server that has ended may have left its data there. Throws failure if the server
  /// ends before, with its last message, or does not answer within 10 minutes.
  server_process(const server_kind& kind, const std::filesystem::path& folder, const server_settings& settings = {});
  /// Kills it.
  ~server_process();
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;

  [[nodiscard]] const server_kind& kind() const noexcept { return kind_; }
  /// Where its clients connect, and what they speak.
  [[nodiscard]] const server_place& place() const noexcept { return place_; }
  /// Where it is asked about itself, by the beanstalk protocol or that of NATS; where it is measured by that, the same
  /// place.
  [[nodiscard]] const server_place& control() const noexcept { return control_; }
  [[nodiscard]] const runtime::address& address() const noexcept { return place_.address; }
  /// From its start until it answered the first command; the time of retries with another port excluded.
  [[nodiscard]] duration start_up_time() const noexcept { return start_up_time_; }
  /// Throws failure if it has ended.
  [[nodiscard]] server_usage usage() const;

  /// Ends it with SIGTERM and waits; kills it after 10 minutes. Throws failure if it ended before by itself, or if
  /// foliot's exit code is not 0.
  void end_in_order();
  /// Ends it with SIGKILL and waits.
  void kill() noexcept;
  /// Throws failure if it has ended, with its last message.
  void check_running();

 private:
  void make_files();
  void write_settings_of_nats() const;
  void choose_place();
  [[nodiscard]] bool try_start();
  [[nodiscard]] bool answers() const;
  [[nodiscard]] bool has_ended() noexcept;
  [[nodiscard]] std::string last_message() const;
  [[noreturn]] void throw_ended() const;

  const server_kind kind_;
  const std::filesystem::path folder_;
  const server_settings settings_;
  server_arguments given_{};
  std::string token_{};                      // empty: it has none
  std::shared_ptr<const tls_client> tls_{};  // null: it speaks in plain
  server_place place_{runtime::address()};
  server_place control_{runtime::address()};  // where it is asked whether it runs
  duration start_up_time_{};
  pid_t child_ = -1;  // -1: there is none, or none any more
  int status_ = 0;    // with which it ended
};

}  // namespace foliot::program::bench
