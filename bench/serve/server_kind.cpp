#include "server_kind.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>

#include <foliot/version.hpp>
#include <unistd.h>

#include "bench/child_process.hpp"
#include "bench/peer_programs.hpp"
#include "report.hpp"

namespace foliot::program::bench {

namespace {

std::optional<std::filesystem::path> find_in_path(std::string_view name) {
  const char* const variable = std::getenv("PATH");
  const std::string folders = variable == nullptr ? "/usr/bin" : variable;
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::filesystem::path candidate = std::filesystem::path(folders.substr(begin, end - begin)) / name;
    if (candidate.is_absolute() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

std::filesystem::path program_of_nats() { return build_folder_of_peer("nats") / "nats-server"; }

std::vector<std::string> nats_command(const server_arguments& given) {
  const std::size_t colon = given.address.rfind(':');
  return {given.program.string(),         "-c", given.settings_of_nats().string(), "-a",
          given.address.substr(0, colon), "-p", given.address.substr(colon + 1)};
}

}  // namespace

void build_nats() {
  const std::string go = find_go();
  const std::string source = source_of_peer("nats").string();
  report("building nats with Go, which fetches what is missing: the first time, this may take some minutes");
  // Downloads no toolchain, and asks for no state of a repository.
  build_peer(
      {.words = {go, "build", "-buildvcs=false", "-o", program_of_nats().string(), "github.com/nats-io/nats-server/v2"},
       .environment = {"GOTOOLCHAIN=local", "GOWORK=off"},
       .folder = source});
}

const server_kind* find_server_kind(std::string_view name) noexcept {
  const auto* const known = std::ranges::find(server_kinds, name, &server_kind::name);
  return known == server_kinds.end() ? nullptr : &*known;
}

std::optional<std::filesystem::path> program_of(const server_kind& kind, const std::filesystem::path& old) {
  if (kind.speaks == spoken_protocol::nats) {
    const std::filesystem::path built = program_of_nats();
    return std::filesystem::exists(built) ? std::optional(built) : std::nullopt;
  }
  if (!kind.is_foliot) return find_in_path("beanstalkd");
  if (kind.is_old) return old.empty() ? std::nullopt : std::optional(std::filesystem::absolute(old));
  std::error_code error;
  std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::nullopt : std::optional(own.replace_filename("foliot"));  // this is foliot-bench
}

std::string version_of(const server_kind& kind, const std::filesystem::path& old) {
  if (kind.is_foliot && !kind.is_old) return "foliot " FOLIOT_VERSION;
  const auto program = program_of(kind, old);
  if (!program) return {};
  const std::string option = kind.is_foliot ? "--version" : "-v";
  std::string said = run_child({.words = {program->string(), option}}, std::chrono::seconds(60)).output;
  said.erase(std::min(said.find('\n'), said.size()));
  return said;
}

namespace {

std::vector<std::string> foliot_command(const server_kind& kind, const server_arguments& given) {
  std::vector<std::string> words{given.program.string(), "serve", "--quiet", "--max-job-size",
                                 std::to_string(given.max_body)};
  if (kind.speaks == spoken_protocol::http) {
    words.insert(words.end(), {"--http", given.address, "--beanstalk", "unix:" + given.control().string()});
  } else {
    words.insert(words.end(), {"--beanstalk", given.address});
    if (!kind.is_old) words.insert(words.end(), {"--http", "off"});  // an old one may have no such option
  }
  if (given.connections > 0) words.insert(words.end(), {"--max-connections", std::to_string(given.connections)});
  if (kind.has_tls) {
    words.insert(words.end(), {"--tls-certificate", given.certificate().string(), "--tls-key", given.key().string()});
  }
  if (kind.has_token) words.insert(words.end(), {"--tokens", given.tokens().string()});
  if (kind.keeps == durability::none) {
    words.emplace_back("--memory");
  } else {
    words.insert(words.end(), {"--sync", "always", "--data", given.data().string()});
  }
  return words;
}

}  // namespace

std::vector<std::string> command_of(const server_kind& kind, const server_arguments& given) {
  if (kind.is_foliot) return foliot_command(kind, given);
  if (kind.speaks == spoken_protocol::nats) return nats_command(given);
  std::vector<std::string> words{given.program.string(), "-z", std::to_string(given.max_body)};
  const std::string& address = given.address;
  const std::size_t colon = address.rfind(':');
  if (address.starts_with("unix:")) {
    words.insert(words.end(), {"-l", address});
  } else {
    words.insert(words.end(), {"-l", address.substr(0, colon), "-p", address.substr(colon + 1)});
  }
  if (kind.keeps == durability::none) return words;
  words.insert(words.end(), {"-b", given.data().string(), kind.keeps == durability::unsynced ? "-F" : "-f0"});
  return words;
}

}  // namespace foliot::program::bench
