// What a job store that several nodes share offers besides its operations: ways to tell the other nodes of ready jobs,
// and to hear from them. A node is one broker with its clients, on this machine or on another one; the nodes do not
// know each other.
//
// News make waiting short; they are not needed for anything else. A message may be lost, come late, or name a tube that
// has no job. So a node whose clients wait also looks at the store each `scan_every()`.
//
// Thread safety: any thread may call these, also while another one is in job_store::execute(). None of them blocks.
#pragma once

#include <foliot/core/language.hpp>

#include <span>
#include <string>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>

namespace foliot::jobs {

/// What the other nodes have told since the last call.
struct news {
  /// The tubes that may have a ready job: each once, in no particular order.
  std::vector<std::string> tubes;
  /// Any tube may have one: messages may have been lost.
  bool any_tube = false;

  friend bool operator==(const news&, const news&) = default;
};

/// The other nodes of a shared store. Lives as long as its store.
class FOLIOT_EXPORT other_nodes {
 public:
  other_nodes() noexcept = default;
  other_nodes(const other_nodes&) = delete;
  other_nodes& operator=(const other_nodes&) = delete;
  virtual ~other_nodes() = default;

  /// Tells the other nodes that these tubes may have a ready job that this node does not want. Keeps a bounded number
  /// of names; beyond it the others hear that any tube may have one.
  virtual void tell(std::span<const std::string> tubes) noexcept = 0;
  /// A file descriptor that is readable while take_news() has something to give. The same one for the whole life of the
  /// store.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  /// The news since the last call; the descriptor is not readable until there are others.
  [[nodiscard]] virtual news take_news() = 0;
  /// How often a node whose clients wait looks at the store without news. Positive.
  [[nodiscard]] virtual duration scan_every() const noexcept = 0;
};

}  // namespace foliot::jobs
