#include "server_kind.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>

#include <foliot/version.hpp>
#include <unistd.h>

#include "bench/child_process.hpp"

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

}  // namespace

const server_kind* find_server_kind(std::string_view name) noexcept {
  const auto* const known = std::ranges::find(server_kinds, name, &server_kind::name);
  return known == server_kinds.end() ? nullptr : &*known;
}

std::optional<std::filesystem::path> program_of(const server_kind& kind) {
  if (!kind.is_foliot) return find_in_path("beanstalkd");
  std::error_code error;
  std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::nullopt : std::optional(std::move(own));
}

std::string version_of(const server_kind& kind) {
  if (kind.is_foliot) return "foliot " FOLIOT_VERSION;
  const auto program = program_of(kind);
  if (!program) return {};
  std::string said = run_child({.words = {program->string(), "-v"}}, std::chrono::seconds(60)).output;
  said.erase(std::min(said.find('\n'), said.size()));
  return said;
}

std::vector<std::string> command_of(const server_kind& kind, const std::string& address,
                                    const std::filesystem::path& data, std::size_t max_body) {
  const std::string program = program_of(kind).value().string();
  const std::string body = std::to_string(max_body);
  if (kind.is_foliot) {
    std::vector<std::string> words{program, "serve", "--quiet", "--max-job-size", body, "--beanstalk", address};
    if (kind.keeps == durability::none) {
      words.emplace_back("--memory");
    } else {
      words.insert(words.end(), {"--sync", "always", "--data", data.string()});
    }
    return words;
  }
  std::vector<std::string> words{program, "-z", body};
  const std::size_t colon = address.rfind(':');
  if (address.starts_with("unix:")) {
    words.insert(words.end(), {"-l", address});
  } else {
    words.insert(words.end(), {"-l", address.substr(0, colon), "-p", address.substr(colon + 1)});
  }
  if (kind.keeps == durability::none) return words;
  words.insert(words.end(), {"-b", data.string(), kind.keeps == durability::unsynced ? "-F" : "-f0"});
  return words;
}

}  // namespace foliot::program::bench
