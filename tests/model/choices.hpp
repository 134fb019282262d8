// The path through the tree of executions: the choice at each point with more than one alternative, and the next path
// of the depth-first search.
//
// A choice is a number below the count of its alternatives; `allowed` says which of them the search must
// visit. As a string, a path is one character for each choice, without the zeros at its end, so that it
// does not depend on which alternatives a bound left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foliot::model {

class choices {
 public:
  static constexpr unsigned most = 36;  ///< alternatives at one point

  /// Starts again from the beginning of the path.
  void rewind() noexcept { at_ = 0; }
  /// The choice at this point: that of the path, or the first allowed alternative past the end of the path.
  unsigned pick(unsigned count, std::uint64_t allowed);
  /// From here to the end of this execution, all choices are the first alternatives.
  void end_here() noexcept { ended_ = true; }
  /// Goes to the next path. Returns false if there is none.
  bool next();

  [[nodiscard]] std::size_t depth() const noexcept { return at_; }
  [[nodiscard]] std::string to_string() const;
  /// Restricts the search to this path, whose zeros at the end may be missing.
  void follow(std::string_view path);

 private:
  struct choice {
    std::uint64_t left;  // the alternatives that are still to be visited, without the current one
    unsigned chosen;
  };

  std::vector<choice> path_;
  std::size_t at_ = 0;
  bool ended_ = false;
  bool following_ = false;
};

}  // namespace foliot::model
