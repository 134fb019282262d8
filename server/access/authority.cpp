#include "authority.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/contract.hpp>

#include "access_token.hpp"

namespace foliot::program {

/// The entries at one time. Never changes.
struct authority::table {
  explicit table(const std::vector<access_entry>& entries) {
    for (const access_entry& each : entries) {
      by_id.emplace(each.given->id(), each.given);
      if (each.what == access_entry::kind::token) {
        tokens.emplace(each.given->id(), each.given);
      } else {
        certificates.emplace(each.given->proof(), each.given);
      }
    }
  }

  std::unordered_map<std::string, std::shared_ptr<const rights>> by_id;
  std::unordered_map<std::string, std::shared_ptr<const rights>> tokens;
  std::map<sha256_digest, std::shared_ptr<const rights>> certificates;
};

authority::authority(std::vector<access_entry> entries, const clock& wall, audit told)
    : wall_(wall), told_(std::move(told)), table_(std::make_shared<const table>(entries)) {}

authority::~authority() {
  const lock held(lock_);
  FOLIOT_ASSERT(holders_.empty(), "an authority outlives those that hold rights by it");
}

std::shared_ptr<const authority::table> authority::present() const {
  const lock held(lock_);
  return table_;
}

std::size_t authority::entries() const { return present()->by_id.size(); }

bool authority::has_certificates() const { return !present()->certificates.empty(); }

std::shared_ptr<const rights> authority::while_they_last(const std::shared_ptr<const rights>& given) const {
  return given->ends() > wall_.now() ? given : nullptr;
}

std::shared_ptr<const rights> authority::of_token(std::string_view text) const {
  const auto token = access_token::parse(text);
  if (!token) return nullptr;
  const std::shared_ptr<const table> now = present();
  const sha256_digest shown = token->digest();
  const auto found = now->tokens.find(std::string(token->id()));
  // An id that is not there costs a comparison, too. Ids are public; this only keeps the two cases alike.
  const bool is_right = is_same_digest(shown, found == now->tokens.end() ? sha256_digest{} : found->second->proof());
  if (!is_right || found == now->tokens.end()) return nullptr;
  return while_they_last(found->second);
}

std::shared_ptr<const rights> authority::of_certificate(const sha256_digest& fingerprint) const {
  const std::shared_ptr<const table> now = present();
  const auto found = now->certificates.find(fingerprint);
  return found == now->certificates.end() ? nullptr : while_they_last(found->second);
}

bool authority::last(const rights& held, instant now) const noexcept {
  // A search by a text that exists allocates nothing.
  const auto found = table_->by_id.find(held.id());
  return found != table_->by_id.end() && found->second->proof() == held.proof() && found->second->ends() > now &&
         found->second->covers(held);
}

std::size_t authority::tell_ended(instant now) noexcept {
  std::size_t told = 0;
  for (rights_holder* each = holders_.front(); each != nullptr; each = holders_.next(*each)) {
    if (each->has_ended() || last(each->held(), now)) continue;
    each->has_ended_.store(true, seam::relaxed);
    each->rights_ended_();
    ++told;
  }
  return told;
}

std::size_t authority::replace(std::vector<access_entry> entries) {
  auto next = std::make_shared<const table>(entries);
  const instant now = wall_.now();
  const lock held(lock_);
  table_ = std::move(next);
  generation_.fetch_add(1, seam::relaxed);
  return tell_ended(now);
}

std::size_t authority::end_expired() noexcept {
  const instant now = wall_.now();
  const lock held(lock_);
  const instant before = std::exchange(told_until_, now);
  const bool has_ended = std::ranges::any_of(table_->by_id, [&](const auto& each) {
    const instant ends = each.second->ends();
    return before < ends && ends <= now;
  });
  return has_ended ? tell_ended(now) : 0;
}

rights_holder::rights_holder(authority* by, std::shared_ptr<const rights> held, std::function<void()> rights_ended)
    : by_(by), held_(std::move(held)), rights_ended_(std::move(rights_ended)) {
  if (by_ == nullptr) return;
  const lock holds(by_->lock_);
  const instant now =
      by_->wall_.now();  // not before end_expired() was here the last time: it looks at later ends alone
  by_->holders_.push_back(*this);
  if (by_->last(*held_, now)) return;
  has_ended_.store(true, seam::relaxed);
  rights_ended_();
}

bool rights_holder::is_audited() const noexcept { return by_ != nullptr && by_->told_ != nullptr; }

void rights_holder::tell_change(std::string_view what) const {
  if (is_audited()) by_->told_(fmt::format("{}: {}", held_->id(), what));
}

rights_holder::~rights_holder() {
  if (by_ == nullptr) return;
  const lock holds(by_->lock_);
  by_->holders_.erase(*this);
}

}  // namespace foliot::program
