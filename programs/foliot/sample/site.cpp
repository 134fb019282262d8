#include "site.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "text_hash.hpp"

namespace foliot::program {

namespace {

constexpr std::array<std::string_view, 16> qualities{"blue", "brass",  "folding", "green",   "heavy", "late",
                                                     "long", "modern", "oak",     "quiet",   "red",   "round",
                                                     "slow", "small",  "steel",   "striking"};
constexpr std::array<std::string_view, 20> things{
    "alarm", "balance", "bell",     "case",     "chain",  "clock",  "dial",    "escapement", "gear",  "hand",
    "key",   "lever",   "movement", "pendulum", "pinion", "spring", "sundial", "verge",      "watch", "wheel"};
constexpr std::array<std::string_view, 6> sections{"products", "articles", "repairs", "parts", "history", "help"};

constexpr std::size_t page_count = 600;

std::string path_of(std::size_t rank) {
  if (rank == 0) return "/";
  if (rank <= sections.size()) return fmt::format("/{}/", sections[rank - 1]);
  const std::size_t quality = rank % qualities.size();
  const std::size_t thing = rank / qualities.size() % things.size();
  const std::size_t section = rank * 7 % sections.size();
  if (section == 1) {
    return fmt::format("/articles/{}/{:02}/the-{}-{}", 2020 + rank % 6, rank % 12 + 1, qualities[quality],
                       things[thing]);
  }
  return fmt::format("/{}/{}-{}-{}", sections[section], qualities[quality], things[thing], rank);
}

/// A size derived from the path, from `least` up to sixteen times that.
std::uint64_t size_of(std::string_view path, std::uint64_t least) {
  const std::uint64_t hash = text_hash(path);
  const std::uint64_t scale = least << (hash % 4);
  return scale + (hash >> 8) % scale;
}

resource make_resource(std::string path, std::uint64_t least) {
  const std::uint64_t size = size_of(path, least);
  return {std::move(path), size};
}

template <std::size_t Size>
std::string_view any_of(const std::array<std::string_view, Size>& words, random_stream& random) noexcept {
  return words[random.below(Size)];
}

}  // namespace

site::site() {
  std::uint64_t sum = 0;
  for (std::size_t rank = 0; rank < page_count; ++rank) {
    page& fresh = pages_.emplace_back();
    fresh.document = make_resource(path_of(rank), 4000);
    const std::uint64_t images = text_hash(fresh.document.path) / 16 % 5;
    for (std::uint64_t i = 0; i < images; ++i) {
      fresh.images.push_back(make_resource(fmt::format("/images/{}-{}.webp", rank, i + 1), 3000));
    }
    sum += 1'000'000 / (rank + 4);
    popularity_.push_back(sum);
  }
  for (const std::string_view path :
       {"/static/text.woff2", "/favicon.ico", "/static/logo.svg", "/static/site.css", "/static/site.js"}) {
    shared_.push_back(make_resource(std::string(path), 4000));
  }
}

std::size_t site::choose(random_stream& random) const noexcept {
  const std::uint64_t point = random.below(popularity_.back());
  return static_cast<std::size_t>(std::distance(popularity_.begin(), std::ranges::upper_bound(popularity_, point)));
}

std::string site::search_path(random_stream& random) const {
  const std::string_view quality = any_of(qualities, random);
  return fmt::format("/search?q={}+{}", quality, any_of(things, random));
}

std::string site::missing_path(random_stream& random) const {
  const std::string_view section = any_of(sections, random);
  return fmt::format("/{}/{}.html", section, any_of(things, random));
}

}  // namespace foliot::program
