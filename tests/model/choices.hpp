// The path through the tree of executions: what was chosen at each point where more than one thing could
// happen, and which path comes next in a depth-first search.
//
// A choice is a number below the count of its alternatives; `allowed` says which of them are to be gone
// through. As a string, a path is one character for each choice, without the zeros at its end, so that it
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
  /// What happens here: as before on the path, or the first allowed alternative past its end.
  unsigned pick(unsigned count, std::uint64_t allowed);
  /// From here to the end of this execution, only first alternatives.
  void end_here() noexcept { ended_ = true; }
  /// The next path; false when there is none.
  bool next();

  [[nodiscard]] std::size_t depth() const noexcept { return at_; }
  [[nodiscard]] std::string to_string() const;
  /// Goes along this path, whose zeros at the end may be missing, and nowhere else.
  void follow(std::string_view path);

 private:
  struct choice {
    std::uint64_t left;  // alternatives still to be gone through, this one not among them
    unsigned chosen;
  };

  std::vector<choice> path_;
  std::size_t at_ = 0;
  bool ended_ = false;
  bool following_ = false;
};

}  // namespace foliot::model
