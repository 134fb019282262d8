#include "job/problems.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <foliot/version.hpp>

namespace foliot::program::terminal {

namespace {

using nlohmann::ordered_json;

/// Nothing that is no foliot server is quoted at length.
constexpr std::size_t longest_quoted = 1000;

/// Values within each other, so that no answer exhausts the stack.
constexpr int most_depth = 200;

/// So many comparisons of names, which take some seconds.
constexpr std::uint64_t most_comparisons = 2'000'000'000;
/// These take some hundred MB of memory.
constexpr std::uint64_t most_values = 5'000'000;

/// What a text would be as a value.
struct size_of_value {
  int depth = 0;                  ///< the most values within each other, at most one more than most_depth
  std::uint64_t values = 0;       ///< at least as many as there are
  std::uint64_t comparisons = 0;  ///< of names: each member of an object is compared with those before it
};

size_of_value size_of(std::string_view text) noexcept {
  size_of_value all;
  std::uint64_t members[most_depth + 1] = {};  // of each value around the place
  int depth = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_string) {
      if (c == '\\') ++i;
      is_string = c != '"';
    } else if (c == '"') {
      is_string = true;
    } else if (c == '[' || c == '{') {
      all.depth = std::max(all.depth, ++depth);
      if (depth > most_depth) return all;
      members[depth] = 0;
      ++all.values;
    } else if (c == ']' || c == '}') {
      if (depth == 0) return all;  // it is no JSON
      --depth;
    } else if (c == ':') {
      all.comparisons += members[depth]++;
    } else if (c == ',') {
      ++all.values;
    }
  }
  return all;
}

bool is_problem(const ordered_json& value) {
  return value.is_object() && !text_in(value, "detail").empty() && value.contains("status");
}

/// "`count` must be a whole number" says which value is meant; other sentences get its name.
std::string with_name(const ordered_json& error) {
  std::string sentence = text_in(error, "detail");
  for (const char* const kind : {"parameter", "header", "pointer", "path"}) {
    std::string name = text_in(error, kind);
    if (name.empty() || name == "#") continue;  // the whole body
    const std::string_view last = std::string_view(name).substr(name.find_last_of('/') + 1);
    if (sentence.find(last) == std::string::npos) sentence += fmt::format(" ({} `{}`)", kind, name);
  }
  return sentence;
}

std::string sentence_of(const ordered_json& problem) {
  std::string sentence;
  const auto errors = problem.find("errors");
  if (errors != problem.end() && errors->is_array()) {
    for (const ordered_json& each : *errors) {
      if (each.is_object()) sentence += (sentence.empty() ? "" : "; ") + with_name(each);
    }
  }
  return (sentence.empty() ? text_in(problem, "detail") : sentence).substr(0, longest_quoted);
}

std::string advice(const api_answer& answer, bool has_token) {
  if (answer.status == 401) {
    return has_token
               ? ": the access token may be mistyped, revoked or have ended; 'foliot token list' shows those that "
                 "are in force"
               : ": name an access token by --token-file or the environment variable FOLIOT_TOKEN";
  }
  if (answer.status == 421) return ": the server knows the names that are given to it by --host";
  if (answer.status == 500) return "; look whether the request was executed";
  const bool is_soon = answer.status == 429 || answer.status == 503;
  return is_soon && !answer.retry_after.empty() ? fmt::format("; try again in {} s", answer.retry_after) : "";
}

/// Why there is nothing at a path of the interface: another program, or another version.
std::string nothing_there(api_client& from) {
  try {
    const api_answer described = from.ask({.path = "/openapi.json"});
    const ordered_json value = json_of(described, from.at());
    const auto about = value.find("info");
    if (described.is_success() && about != value.end() && text_in(*about, "title") == "foliot serve") {
      return fmt::format(
          "the server at {} does not have this request: its interface has the version {}, and this program "
          "is foliot {}; use the program that came with the server",
          from.at().name, text_in(*about, "version"), FOLIOT_VERSION);
    }
  } catch (const failure&) {
    // It is none of ours.
  }
  return fmt::format("what answers at {} is no foliot serve: name its HTTP interface by --server", from.at().name);
}

exit_code code_of(long status) noexcept {
  const bool is_malformed = status == 400 || status == 413 || status == 414 || status == 431 || status == 421;
  return is_malformed ? exit_code::error : exit_code::bad_input;
}

}  // namespace

std::string text_in(const ordered_json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t number_in(const ordered_json& object, const char* name) {
  if (!object.is_object()) return 0;
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::optional<ordered_json> parsed(std::string_view text) {
  const size_of_value size = size_of(text);
  if (size.depth > most_depth) return std::nullopt;
  if (size.values > most_values || size.comparisons > most_comparisons)
    throw failure("the answer has too many values for this program: read it with another client");
  ordered_json value = ordered_json::parse(text, nullptr, false);
  return value.is_discarded() ? std::nullopt : std::optional(std::move(value));
}

ordered_json json_of(const api_answer& answer, const server_address& from) {
  if (auto value = parsed(answer.body)) return *std::move(value);
  throw none_of_ours(from, fmt::format("with the status {} is not JSON", answer.status));
}

failure none_of_ours(const server_address& from, std::string_view what) {
  return failure(fmt::format("what answers at {} is no foliot serve: its answer {}", from.name, what));
}

ordered_json value_of(const api_answer& answer, api_client& from) {
  if (!answer.is_success()) throw refused_by(answer, from);
  return json_of(answer, from.at());
}

failure refused_by(const api_answer& answer, api_client& from) {
  const ordered_json value = json_of(answer, from.at());
  if (!is_problem(value)) {
    return failure(fmt::format("what answers at {} is no foliot serve: it has answered with the status {}",
                               from.at().name, answer.status));
  }
  if (answer.status == 404 && text_in(value, "outcome").empty()) return failure(nothing_there(from));
  return failure(sentence_of(value) + advice(answer, from.has_token()), code_of(answer.status));
}

}  // namespace foliot::program::terminal
