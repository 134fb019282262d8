#include <array>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <foliot/core/contract.hpp>
#include <foliot/version.hpp>
#include <sys/utsname.h>
#include <unistd.h>

#include "record.hpp"
#include "resident_memory.hpp"

namespace foliot::program::bench {

namespace {

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

std::string now_in_words() {
  const std::time_t now = std::time(nullptr);  // tidy: allow(seam-clock) it is the date of a report
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, sizeof "2026-01-01 00:00 UTC"> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
  return text.data();
}

}  // namespace

machine_facts describe_machine() {
  struct utsname system{};
  ::uname(&system);
  machine_facts facts;
  const auto add = [&facts](std::string name, std::string value) {
    if (!value.empty()) facts.emplace_back(std::move(name), std::move(value));
  };
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const double gibibytes = static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 0x1p30;
  add("processor", field_of("/proc/cpuinfo", "model name"));
  add("cores", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)));
  add("cache", field_of("/proc/cpuinfo", "cache size"));
  add("memory", fmt::format("{:.1f} GiB", gibibytes));
  add("kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine));
  add("clocksource", first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
  add("huge pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  add("compiler", compiler());
  add("build", fmt::format("{}, contracts {}checked", FOLIOT_BUILD_FLAGS, FOLIOT_ASSERTIONS ? "" : "not "));
  add("foliot", FOLIOT_VERSION);
  add("date", now_in_words());
  return facts;
}

std::optional<std::string> build_warning() {
#if !defined(__OPTIMIZE__)
  return "this program was built without optimisation: its figures mean nothing";
#elif defined(FOLIOT_SANITIZED_BUILD)
  return "this program was built with sanitizers: its figures mean nothing";
#elif FOLIOT_ASSERTIONS
  return "this program checks its contracts: its figures are too high";
#else
  return std::nullopt;
#endif
}

}  // namespace foliot::program::bench
