#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "engine.hpp"

namespace foliot::model {
namespace {

const char* environment(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr || *value == 0 ? nullptr : value;
}

options with_environment(options given) {
  if (const char* bound = environment("FOLIOT_MODEL_PREEMPTIONS")) {
    given.preemptions =
        std::string_view(bound) == "all" ? unlimited : static_cast<unsigned>(std::strtoul(bound, nullptr, 10));
  }
  if (const char* limit = environment("FOLIOT_MODEL_SECONDS")) {
    given.seconds = std::strtod(limit, nullptr);
    given.executions = ~std::uint64_t{0};
  }
  return given;
}

failure explain(const std::string& what, const options& with, const choices& path, const std::function<void()>& body) {
  failure found;
  found.what = what;
  found.choices = with.name + ":" + path.to_string();
  choices again;
  again.follow(path.to_string());
  engine repeated(with);
  static_cast<void>(repeated.run(again, body, true));
  found.trace = repeated.traced().text();
  return found;
}

/// The path that the environment asks to repeat, if it belongs to this exploration.
std::optional<std::string> to_repeat(const options& with) {
  const char* const asked = environment("FOLIOT_MODEL_REPEAT");
  if (asked == nullptr) return std::nullopt;
  const std::string_view text = asked;
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || text.substr(0, colon) != with.name) return std::nullopt;
  return std::string(text.substr(colon + 1));
}

result repeat(const options& with, const std::string& which, const std::function<void()>& body) {
  choices path;
  path.follow(which);
  engine once(with);
  const auto what = once.run(path, body, true);
  result found{.executions = 1, .deepest = path.depth()};
  if (what) found.failed = failure{*what, once.traced().text(), with.name + ":" + which};
  std::printf("%s:%s: %s\n%s", with.name.c_str(), which.c_str(), what.value_or("no failure").c_str(),
              once.traced().text().c_str());
  return found;
}

result search(const options& with, const std::function<void()>& body, std::set<order_in_source>* orders) {
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + std::chrono::duration_cast<clock::duration>(
                                      std::chrono::duration<double>(std::min(with.seconds, 1e8)));
  choices path;
  engine here(with);
  here.collect(orders);
  result found;
  do {
    const auto what = here.run(path, body, false);
    (here.pruned() ? found.pruned : found.executions) += 1;
    found.deepest = std::max<std::uint64_t>(found.deepest, path.depth());
    if (what) {
      found.failed = explain(*what, with, path, body);
      return found;
    }
    const std::uint64_t runs = found.executions + found.pruned;
    if (runs >= with.executions || (runs % 256 == 0 && clock::now() > end)) {
      found.complete = !path.next();
      return found;
    }
  } while (path.next());
  found.complete = true;
  return found;
}

/// The next weaker orders.
std::vector<order> below(order from, bool loads, bool stores) {
  switch (from) {
    case order::seq_cst: return {loads && stores ? order::acq_rel : loads ? order::acquire : order::release};
    case order::acq_rel: return {order::acquire, order::release};
    default: return {order::relaxed};
  }
}

}  // namespace

result explore(const options& with, const std::function<void()>& body) {
  const options chosen = with_environment(with);
  if (const auto which = to_repeat(chosen)) return repeat(chosen, *which, body);
  result found = search(chosen, body, nullptr);
  // A failure with fewer switches is easier to read: looks for one.
  options simpler = chosen;
  simpler.executions = std::min<std::uint64_t>(chosen.executions, 100'000);
  for (simpler.preemptions = 0; found.failed && simpler.preemptions < std::min(chosen.preemptions, 3u);
       ++simpler.preemptions) {
    if (result again = search(simpler, body, nullptr); again.failed) {
      found.failed = std::move(again.failed);
      break;
    }
  }
  return found;
}

std::vector<audited> audit(const options& with, const std::function<void()>& body) {
  options chosen = with_environment(with);
  std::set<order_in_source> orders;
  const result sound = search(chosen, body, &orders);
  if (sound.failed)
    throw std::runtime_error("cannot weaken memory orders: the code fails with its own orders: " + sound.describe());
  std::vector<audited> all;
  for (const auto& [file, line, column, on_failure, from, loads, stores] : orders) {
    for (const order to : below(from, loads, stores)) {
      chosen.weaken = weakening{file, line, column, on_failure, from, to};
      all.push_back({*chosen.weaken, search(chosen, body, nullptr)});
    }
  }
  return all;
}

std::string weakening::describe(bool with_line) const {
  return file.substr(file.find_last_of('/') + 1) + (with_line ? ":" + std::to_string(line) : "") + " " +
         std::string(to_string(from)) + (on_failure ? " on failure" : "") + " -> " + std::string(to_string(to));
}

std::string result::describe() const {
  std::string text = std::to_string(executions) + " executions";
  if (pruned != 0) text += ", " + std::to_string(pruned) + " pruned";
  text += ", at most " + std::to_string(deepest) + " choices";
  if (failed) {
    text += ": FAILED\n" + failed->what + "\n" + failed->trace + "to repeat it alone: FOLIOT_MODEL_REPEAT='" +
            failed->choices + "'";
  } else {
    text += complete ? ": complete" : ": stopped by a limit";
  }
  return text;
}

}  // namespace foliot::model
