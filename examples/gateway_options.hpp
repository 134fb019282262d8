// Options of the form --name value, for the two programs of the gateway.
#pragma once

#include <sys/resource.h>

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

class options {
 public:
  /// The names of the options and their defaults; `usage` is printed for --help, and after an error.
  options(int argc, char** argv, std::map<std::string, std::string, std::less<>> values, const char* usage)
      : values_(std::move(values)), usage_(usage) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view name = argv[i];
      if (name == "--help") {
        std::fputs(usage_, stdout);
        std::exit(0);
      }
      const auto found = name.starts_with("--") ? values_.find(name.substr(2)) : values_.end();
      if (found == values_.end()) fail("no such option: " + std::string(name));
      if (++i == argc) fail("the option " + std::string(name) + " needs a value");
      found->second = argv[i];
    }
  }

  [[nodiscard]] const std::string& text(std::string_view name) const { return values_.find(name)->second; }
  [[nodiscard]] std::size_t number(std::string_view name, std::size_t least, std::size_t most) const {
    const std::string& value = text(name);
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number < least || number > most) {
      fail("--" + std::string(name) + " takes a number from " + std::to_string(least) + " to " + std::to_string(most) +
           ", not '" + value + "'");
    }
    return number;
  }
  [[noreturn]] void fail(const std::string& why) const {
    std::fprintf(stderr, "%s\n\n%s", why.c_str(), usage_);
    std::exit(2);
  }

 private:
  std::map<std::string, std::string, std::less<>> values_;
  const char* usage_;
};

/// Raises the limit of open files as far as this process may. Returns the new limit.
inline std::size_t raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}
