#include "actors.hpp"

#include <algorithm>
#include <string>

#include "draws.hpp"

namespace foliot::program {

using namespace std::chrono_literals;

namespace {

constexpr unsigned mean_pages = 5;       // of a visit
constexpr duration mean_reading = 45s;   // of a page
constexpr duration mean_pause = 12min;   // instead, when the visitor is interrupted
constexpr unsigned pause_permille = 25;  // how often that is
constexpr duration mean_between_parts = 60ms;

constexpr unsigned mean_crawled_pages = 100;
constexpr duration mean_between_crawled = 8s;
constexpr duration mean_crawlers_rest = 6h;

constexpr std::uint32_t beats_between_news = 12;  // requests of the feed until it has changed

std::string on_this_site(std::string_view path) { return "https://www.example.com" + std::string(path); }

duration within(duration period, random_stream& random) noexcept {
  return duration::nanoseconds(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(period.count()))));
}

}  // namespace

actor::actor(world& home, identity who, duration first)
    : home_(home), who_(who), next_(home.timers(), first, [this] { next_.reset(act()); }) {}

visitor::visitor(world& home, identity who, duration absence)
    : actor(home, who, exponential(home.random(), absence)), absence_(absence) {}

duration visitor::act() {
  if (part_ < parts_end_) {
    fetch_part();
  } else if (visiting_ || home_.busy_enough()) {
    if (!visiting_) arrive();
    open_page();
  }
  return time_until_next();
}

duration visitor::time_until_next() noexcept {
  random_stream& random = home_.random();
  if (part_ < parts_end_) return exponential(random, mean_between_parts);
  visiting_ = pages_left_ > 0;
  if (!visiting_) return exponential(random, absence_);
  return exponential(random, chance(random, pause_permille) ? mean_pause : mean_reading);
}

void visitor::arrive() noexcept {
  visiting_ = first_page_ = needs_shared_ = true;
  page_ = 0;
  // The bound keeps the number in two bytes; no visit is that long.
  pages_left_ = static_cast<std::uint16_t>(std::min(geometric(home_.random(), mean_pages), 1000U));
}

void visitor::open_page() {
  random_stream& random = home_.random();
  const site& pages = home_.pages();
  --pages_left_;
  std::string referer = "-";
  if (!first_page_) {
    referer = on_this_site(pages.page_at(page_).document.path);
  } else if (chance(random, 400)) {
    referer = "https://search.example.net/";
  }
  first_page_ = false;
  const std::uint64_t roll = random.below(1000);
  if (roll < 10) {
    const std::string path = pages.missing_path(random);
    ask({.path = path, .status = 404, .size = 1245, .referer = referer});
  } else if (roll < 60) {
    const std::string path = pages.search_path(random);
    ask({.path = path, .size = 5000 + random.below(4000), .referer = referer});
  } else if (roll < 75) {
    ask({.method = "POST", .path = "/cart", .status = 302, .referer = referer});
  } else if (roll < 78) {
    ask({.path = "/", .status = 503, .size = 312, .referer = referer});
  } else {
    open_chosen_page(referer);
  }
}

void visitor::open_chosen_page(std::string_view referer) {
  page_ = static_cast<std::uint16_t>(home_.pages().choose(home_.random()));
  const page& opened = home_.pages().page_at(page_);
  ask({.path = opened.document.path, .size = opened.document.size, .referer = referer});
  const std::size_t shared = home_.pages().shared().size();
  parts_end_ = static_cast<std::uint8_t>(shared + opened.images.size());
  part_ = static_cast<std::uint8_t>(needs_shared_ ? 0 : shared);
  needs_shared_ = false;
}

void visitor::fetch_part() {
  const site& pages = home_.pages();
  const page& opened = pages.page_at(page_);
  const std::size_t shared = pages.shared().size();
  const resource& wanted = part_ < shared ? pages.shared()[part_] : opened.images[part_ - shared];
  const bool unchanged = been_here_ && (part_ < shared || chance(home_.random(), 300));
  const std::string referer = on_this_site(opened.document.path);
  ask({.path = wanted.path, .status = unchanged ? 304 : 200, .size = unchanged ? 0 : wanted.size, .referer = referer});
  ++part_;
  if (part_ == parts_end_) been_here_ = true;
}

crawler::crawler(world& home, identity who) : actor(home, who, within(mean_crawlers_rest, home.random())) {}

duration crawler::act() {
  random_stream& random = home_.random();
  if (pages_left_ == 0) {
    pages_left_ = geometric(random, mean_crawled_pages);
    ask({.path = "/robots.txt", .size = 96});
  } else {
    --pages_left_;
    const resource& document = home_.pages().page_at(home_.pages().any(random)).document;
    ask({.path = document.path, .size = document.size});
  }
  return exponential(random, pages_left_ > 0 ? mean_between_crawled : mean_crawlers_rest);
}

beating_client::beating_client(world& home, identity who)
    : actor(home, who, within(beat_of(who.kind), home.random())), kind_(who.kind) {}

duration beating_client::act() {
  if (kind_ == client_kind::monitor) {
    ask({.path = "/health", .size = 2});
  } else {
    const bool news = beats_ % beats_between_news == 0;
    ask({.path = "/feed.xml", .status = news ? 200 : 304, .size = news ? 14'220U : 0U});
  }
  ++beats_;
  return beat_of(kind_);
}

}  // namespace foliot::program
