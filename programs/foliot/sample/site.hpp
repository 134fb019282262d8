// The invented web site of the sample: its pages, what they are made of, and how popular they are.
//
// Everything follows from a page's rank; only the choice of a page is random. The popularity is Zipf's, softened at the
// top: a page of rank r is requested in proportion to 1 / (r + 4).
//
// Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/seam/random.hpp>

namespace foliot::program {

/// A resource that can be requested.
struct resource {
  std::string path;
  std::uint64_t size = 0;
};

struct page {
  resource document;
  std::vector<resource> images;
};

class site {
 public:
  site();

  [[nodiscard]] const page& page_at(std::size_t rank) const noexcept { return pages_[rank]; }
  /// The rank of a page, chosen by popularity.
  [[nodiscard]] std::size_t choose(random_stream& random) const noexcept;
  /// The rank of a page, all equally likely.
  [[nodiscard]] std::size_t any(random_stream& random) const noexcept { return random.below(pages_.size()); }

  /// The resources that every page has, beside its images.
  [[nodiscard]] const std::vector<resource>& shared() const noexcept { return shared_; }

  /// A path of a search, or one that does not exist.
  [[nodiscard]] std::string search_path(random_stream& random) const;
  [[nodiscard]] std::string missing_path(random_stream& random) const;

 private:
  std::vector<page> pages_;
  std::vector<std::uint64_t> popularity_;  // sums of the weights up to each rank
  std::vector<resource> shared_;
};

}  // namespace foliot::program
