// `foliot explain`: writes a page that shows an engine at work. The page is drawn from a recording of the real queue on
// virtual time: after each call the structure is read as check() reads it (structure_access.hpp). It needs no network,
// and nothing beside itself.
//
// Thread safety: any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace foliot::program {

/// An engine that can be explained.
struct explained_engine {
  std::string_view name;   ///< as service_options::engine has it
  std::string_view title;  ///< a short sentence
  std::string_view about;  ///< what the page says of it, and how its size differs from the shipped one
};

/// All of them, in the order of the lineage.
[[nodiscard]] std::span<const explained_engine> explained_engines() noexcept;

/// The recording of an engine: {"engine", "title", "about", "loads": [{"name", "about", "timers": how many, "steps":
/// [{"now": ms, "text", "touched": [number …], "states": one letter for each timer, "deadlines": [ms or null …],
/// "picture"} …]} …]}. A state is `n`ew, `p`ending, `f`ired or `s`topped. Precondition: the name is one of
/// explained_engines(). Throws std::logic_error if the queue's check() fails.
[[nodiscard]] nlohmann::ordered_json recording_of(std::string_view engine);

/// The page of an engine, as HTML. The same engine has the same page. Precondition and errors as of recording_of().
[[nodiscard]] std::string page_of(std::string_view engine);

}  // namespace foliot::program
