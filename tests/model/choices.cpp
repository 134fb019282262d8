#include "choices.hpp"

#include <bit>
#include <stdexcept>

namespace foliot::model {
namespace {
constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz";
}

unsigned choices::pick(unsigned count, std::uint64_t allowed) {
  if (at_ == path_.size()) {
    if (following_) {
      allowed = 1;
    } else if (allowed == 0) {
      throw std::logic_error("a choice needs at least one allowed alternative");
    }
    const unsigned first = static_cast<unsigned>(std::countr_zero(allowed));
    path_.push_back({ended_ ? 0 : allowed & (allowed - 1), first});
  }
  const unsigned chosen = path_[at_++].chosen;
  if (chosen >= count) throw std::runtime_error("this execution does not repeat: it depends on more than the model");
  return chosen;
}

bool choices::next() {
  ended_ = false;
  if (following_) return false;
  while (!path_.empty() && path_.back().left == 0) path_.pop_back();
  if (path_.empty()) return false;
  choice& last = path_.back();
  last.chosen = static_cast<unsigned>(std::countr_zero(last.left));
  last.left &= last.left - 1;
  return true;
}

std::string choices::to_string() const {
  std::string text;
  for (const choice& each : path_) text += digits[each.chosen];
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

void choices::follow(std::string_view path) {
  path_.clear();
  for (const char digit : path) {
    const std::size_t chosen = digits.find(digit);
    if (chosen == digits.npos) throw std::runtime_error("not a string of choices: " + std::string(path));
    path_.push_back({0, static_cast<unsigned>(chosen)});
  }
  following_ = true;
  at_ = 0;
}

}  // namespace foliot::model
