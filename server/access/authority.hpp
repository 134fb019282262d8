// Knows who may do what: the entries of the file of access tokens at present, and the connections and requests that
// hold rights by them.
//
//   authority who(read_token_file(path).entries);
//   const std::shared_ptr<const rights> given = who.of_token(text);      // null: it lets nobody in
//   const rights_holder here(&who, given, [&peer] { peer.close(); });
//   …
//   who.replace(read_token_file(path).entries);           // calls `rights_ended` of the holders that lose theirs
//   who.end_expired();                                    // the same for expired entries; to be called often
//
// A holder loses its rights if its entry is missing in the new list, has another digest, or allows less than before. If
// the entry allows more, the holder keeps the rights that it has; a new end date applies to it at once. So a holder
// with an entry that allows as much as before notices nothing.
//
// Thread safety: any thread. of_token() costs a digest, a search in a hash table, and a lock that is held for a copy of
// a pointer; it takes as long for an id that is not in the list. replace() is O(entries + holders); end_expired() is
// O(entries), and O(holders) besides when an entry has ended since the last call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

#include "digest.hpp"
#include "rights.hpp"
#include "token_file.hpp"

namespace foliot::program {

class authority;

/// A connection or a request that holds rights. Is told once if these end before it is destroyed.
class rights_holder {
 public:
  /// `rights_ended` is called on any thread, under the lock of the authority, or here if the rights are gone already:
  /// it must not wait, throw, or use the authority. Of everything(), which never ends, pass no authority.
  rights_holder(authority* by, std::shared_ptr<const rights> held, std::function<void()> rights_ended);
  /// Returns when nothing is being told, so that what `rights_ended` refers to may be destroyed then.
  ~rights_holder();
  rights_holder(const rights_holder&) = delete;
  rights_holder& operator=(const rights_holder&) = delete;

  [[nodiscard]] const rights& held() const noexcept { return *held_; }
  /// Whether the rights are gone. Any thread.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_.load(seam::relaxed); }
  /// Tells that the holder is about to change something: `what` is the end of the sentence. Of everything() nobody is
  /// told. Any thread. Throws std::bad_alloc.
  void tell_change(std::string_view what) const;
  /// Whether anybody is told.
  [[nodiscard]] bool is_audited() const noexcept;

 private:
  friend class authority;

  authority* const by_;
  const std::shared_ptr<const rights> held_;
  const std::function<void()> rights_ended_;
  /// Written under the lock of the authority, before `rights_ended_` is called. Relaxed: it publishes nothing, and an
  /// operation that comes between the revocation and the end of the connection may be executed or not.
  seam::atomic<bool> has_ended_{false};
  list_links<rights_holder> links_;
};

class authority {
 public:
  /// Gets a sentence for each change that has to be told.
  using audit = std::function<void(std::string_view)>;

  /// `wall` shows the time in which entries end. `told` may be called on any thread; null: nobody wants to know.
  explicit authority(std::vector<access_entry> entries, const clock& wall = wall_clock::instance(),
                     audit told = nullptr);
  authority(const authority&) = delete;
  authority& operator=(const authority&) = delete;
  /// All holders must be gone.
  ~authority();

  /// The rights of an access token; null if it is none, was revoked, or has ended. Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const rights> of_token(std::string_view text) const;
  /// The rights of a certificate with this fingerprint, which the client has proved to own; null as above.
  [[nodiscard]] std::shared_ptr<const rights> of_certificate(const sha256_digest& fingerprint) const;

  /// Replaces all entries, and calls `rights_ended` of each holder that loses its rights. Returns the number of these
  /// holders. Throws std::bad_alloc, with nothing changed.
  std::size_t replace(std::vector<access_entry> entries);
  /// Calls `rights_ended` of each holder with an expired entry. Returns the number of these holders.
  std::size_t end_expired() noexcept;

  /// Grows with each replace().
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_.load(seam::relaxed); }
  /// How many entries there are.
  [[nodiscard]] std::size_t entries() const;
  /// Whether one of them is of a certificate.
  [[nodiscard]] bool has_certificates() const;

 private:
  friend class rights_holder;
  struct table;

  [[nodiscard]] std::shared_ptr<const table> present() const;
  /// Null if they have ended.
  [[nodiscard]] std::shared_ptr<const rights> while_they_last(const std::shared_ptr<const rights>& given) const;
  /// Whether these rights are as good as ever by the present entries.
  [[nodiscard]] bool last(const rights& held, instant now) const noexcept FOLIOT_REQUIRES(lock_);
  /// Calls `rights_ended` of each holder for which last() is false. Returns the number of these holders.
  std::size_t tell_ended(instant now) noexcept FOLIOT_REQUIRES(lock_);

  const clock& wall_;
  const audit told_;
  /// Orders nothing: a reader who wants the entries locks.
  seam::atomic<std::uint64_t> generation_{0};
  mutable mutex lock_{lock_rank::context};  // held while a holder is told, which may close a connection
  std::shared_ptr<const table> table_ FOLIOT_GUARDED_BY(lock_);
  intrusive_list<rights_holder, &rights_holder::links_> holders_ FOLIOT_GUARDED_BY(lock_);
  /// The wall clock at the last end_expired(): entries that ended before have been told.
  instant told_until_ FOLIOT_GUARDED_BY(lock_) = instant::earliest();
};

}  // namespace foliot::program
