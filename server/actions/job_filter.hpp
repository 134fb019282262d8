// Which jobs an action is about: those of a tube, or of the tubes with a prefix, that are in a state, whose keys begin
// with a text, and whose bodies have a text in them. What is left out is no condition.
//
// Thread safety: a value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>

namespace foliot::program {

/// A text is searched in so many bytes of a body, from its beginning.
inline constexpr std::size_t searched_of_body = 65'536;
/// The longest text, in bytes.
inline constexpr std::size_t longest_searched_text = 1000;

struct job_filter {
  std::string tube = {};                      ///< empty: those with the prefix
  std::string prefix = {};                    ///< of the names of tubes, as the client has asked
  std::vector<std::string> within = {};       ///< the prefixes of those tubes that the client's rights include
  std::optional<jobs::job_state> state = {};  ///< none: any
  std::string key_prefix = {};
  std::string text = {};

  /// Whether a job meets all conditions but the text. False for jobs of the server itself.
  [[nodiscard]] bool matches(const jobs::job& what) const noexcept;
  /// Whether the body has the text.
  [[nodiscard]] bool matches_body(std::string_view body) const noexcept {
    return body.substr(0, searched_of_body).contains(text);
  }
  [[nodiscard]] bool needs_body() const noexcept { return !text.empty(); }
  /// A page of the jobs of these tubes, by id, behind this one.
  [[nodiscard]] jobs::list_jobs page_behind(jobs::job_id id, std::uint32_t count) const;

  friend bool operator==(const job_filter&, const job_filter&) = default;
};

}  // namespace foliot::program
