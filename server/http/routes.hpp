// Which handler a request is for: by its method, and by a pattern of its path. A pattern's `{name}` stands for one
// segment that is not empty.
//
//   constexpr std::array routes = {route<handler>{"GET", "/v1/jobs/{id}", &show}, …};
//   const auto found = find_route(std::span(routes), "GET", path);
//
// Thread safety: pure functions. O(routes).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "target.hpp"

namespace foliot::program::http {

template <class Handler>
struct route {
  std::string_view method;
  std::string_view pattern;
  Handler handler;
};

/// What find_route() has found.
template <class Handler>
struct found_route {
  const route<Handler>* which = nullptr;  ///< null: none
  std::vector<parameter> names;           ///< of the path, by their names in the pattern
  std::string allowed;                    ///< without a route: the methods that the path has, as `Allow` has them
};

/// Whether the path has the form of the pattern. Appends the names in it.
[[nodiscard]] inline bool matches(std::string_view pattern, std::span<const std::string> path,
                                  std::vector<parameter>& names) {
  if (pattern == "/") return path.empty();
  while (!pattern.empty()) {
    pattern.remove_prefix(1);  // the slash
    const std::size_t size = std::min(pattern.find('/'), pattern.size());
    const std::string_view part = pattern.substr(0, size);
    pattern.remove_prefix(size);
    if (path.empty()) return false;
    if (part.starts_with('{')) {
      if (path.front().empty()) return false;
      names.push_back({std::string(part.substr(1, part.size() - 2)), path.front()});
    } else if (part != path.front()) {
      return false;
    }
    path = path.subspan(1);
  }
  return path.empty();
}

/// The route of a request. A HEAD has that of a GET.
template <class Handler, std::size_t Count>
[[nodiscard]] found_route<Handler> find_route(std::span<const route<Handler>, Count> among, std::string_view method,
                                              std::span<const std::string> path) {
  found_route<Handler> found;
  for (const route<Handler>& each : among) {
    std::vector<parameter> names;
    if (!matches(each.pattern, path, names)) continue;
    if (each.method == method || (method == "HEAD" && each.method == "GET")) {
      found.which = &each;
      found.names = std::move(names);
      return found;
    }
    if (!found.allowed.empty()) found.allowed += ", ";
    found.allowed += each.method;
    if (each.method == "GET") found.allowed += ", HEAD";
  }
  return found;
}

}  // namespace foliot::program::http
