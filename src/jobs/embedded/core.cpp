#include "core.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <variant>

#include "opening.hpp"
#include "private_files.hpp"

namespace foliot::jobs::detail {

namespace {
/// How many ids are given between two writes of the limit.
constexpr job_id ids_at_once = 10'000;
/// How often a store looks whether the disk has room for due jobs again.
constexpr milliseconds between_looks{100};
/// How often a store tells that it cannot write the mark of what has been synced.
constexpr milliseconds between_mark_warnings{10'000};
}  // namespace

embedded_core::embedded_core(const embedded_options& options, std::shared_ptr<rocksdb::FileSystem> files,
                             std::size_t widest_window)
    : options_(options),
      disk_(prepared_folder(options.folder, files, options.for_check), files, options.salvage, options.for_check),
      space_(disk_, options.disk_reserve),
      tubes_(widest_window) {
  try {
    open();
  } catch (...) {
    stop_timers();
    throw;
  }
}

embedded_core::~embedded_core() {
  stop_timers();
  try {
    close();
  } catch (const std::exception&) {
    // A destructor cannot report it, as close() does.
  }
}

void embedded_core::close() {
  if (!std::exchange(is_usable_, false)) return;
  try {
    failure_ = "the job store " + disk_.folder() + " has been closed";
    disk_.put(family::meta, "ids", view(number_key(next_id_)));
    disk_.write(true);
    unsynced_ = false;
    disk_.flush();
    disk_.write_mark();
  } catch (const std::exception&) {
    if (unsynced_) throw;  // else the log has everything
  }
}

void embedded_core::back_up(const std::string& to) {
  const std::optional<std::uint64_t> free = disk_.free_space();
  if (free && *free < options_.disk_reserve) {
    throw store_failure("cannot make the backup " + to + ": the disk has " + std::to_string(*free) +
                        " bytes free, fewer than the " + std::to_string(options_.disk_reserve) +
                        " in reserve: free some space");
  }
  disk_.back_up(to);
}

void embedded_core::stop_timers() noexcept {
  while (due_timers_.pop_any() != nullptr) {
  }
  while (pause_timers_.pop_any() != nullptr) {
  }
}

void embedded_core::open() {
  const opened_format format = open_format(disk_);
  opening_ = format.opening;
  format_version_ = format.version;
  next_id_ = id_limit_ = format.next_id;
  tubes_.open(disk_);
  disk_.write(true);
  mark(options_.clocks.monotonic->now());
  for (const auto& [name, it] : tubes_.all()) set_due_timer(*it);
  warn_of_open_folder();
  if (!disk_.damage().empty()) end_salvage();
}

void embedded_core::warn_of_open_folder() const {
  if (const open_to_others how = openness(disk_.folder()); how != open_to_others::no) {
    warn("other users can " + std::string(how == open_to_others::enterable ? "enter" : "read") + " the folder " +
         disk_.folder() + (how == open_to_others::enterable ? ", read the jobs in it," : ",") +
         " and keep the store from being opened again: make it private (chmod 700)");
  }
  if (!disk_.lock_failure().empty()) {
    warn("the file system cannot lock the folder " + disk_.folder() + " (" + disk_.lock_failure() +
         "): only its file LOCK keeps a second server out, so do not remove that file");
  }
}

void embedded_core::end_salvage() {
  // Tables that were written from changes behind the damage, in some families only, contradict the others.
  if (const check_result whole = check(); !whole) {
    throw store_failure("cannot salvage the job store " + disk_.folder() + ": " + disk_.damage() +
                            "; what is left contradicts itself (" + whole.error() + "): restore a backup",
                        store_failure::remedies::restore_backup);
  }
  disk_.forget_salvage();
  warn("the job store " + disk_.folder() + " was salvaged: " + disk_.damage() +
       ": what had been changed from there on is lost");
}

execution embedded_core::execute(std::span<operation> batch) {
  if (!is_usable_)
    throw store_failure(failure_.empty() ? "the job store cannot go on: open it again" : failure_, remedy_);
  is_usable_ = false;  // until all of the batch has been done
  try {
    execution done = execute_steps(batch);
    is_usable_ = true;
    return done;
  } catch (const store_failure& failed) {
    failure_ = failed.what();
    remedy_ = failed.remedy();
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& failed) {
    // Of a step that was half done, memory and disk do not agree. The text may need more memory than there is.
    failure_ = "the job store " + disk_.folder() + " cannot go on: " + failed.what() + "; open it again";
    throw store_failure(failure_);
  }
}

execution embedded_core::execute_steps(std::span<operation> batch) {
  disk_.check_background();
  const std::chrono::sys_time<std::chrono::nanoseconds> wall = options_.clocks.wall_time();
  utc_ = std::chrono::floor<milliseconds>(wall);
  utc_up_ = std::chrono::ceil<milliseconds>(wall);
  now_ = options_.clocks.monotonic->now();
  claimed_bytes_ = 0;
  if (const std::string change = space_.look(now_); !change.empty()) warn(change);
  tubes_.forget_empty(disk_);

  execution done;
  advance();
  done.answers.reserve(batch.size());
  for (operation& each : batch) {
    std::visit([&](auto& what) { done.answers.emplace_back(step(what)); }, each);
    end_step();
  }
  commit();

  done.ready_tubes.reserve(ready_tubes_.size());
  for (tube* each : ready_tubes_) {
    each->became_ready = false;
    done.ready_tubes.push_back(each->name);
  }
  ready_tubes_.clear();
  done.expired = std::exchange(expired_, {});
  std::ranges::sort(emptied_tubes_);
  const auto repeated = std::ranges::unique(emptied_tubes_);
  emptied_tubes_.erase(repeated.begin(), repeated.end());
  for (const tube* each : emptied_tubes_) {
    if (each->paused() && each->stored.all() == 0) done.emptied_tubes.push_back(each->name);
  }
  emptied_tubes_.clear();
  return done;
}

void embedded_core::warn(const std::string& sentence) const {
  if (options_.warn) options_.warn(sentence);
}

void embedded_core::commit() {
  // A limit of ids that a crash took back would give ids again that clients have seen.
  const bool sync_now = std::exchange(ids_raised_, false) ||
                        (options_.sync_every ? unsynced_ && sync_at_ <= now_ : must_sync_ || unsynced_);
  tubes_.gather_rows(disk_);
  if (disk_.has_gathered()) {
    disk_.write(sync_now);
  } else if (sync_now) {
    disk_.sync();
  }
  records_.end_batch();
  fresh_keys_.clear();
  fresh_bodies_.clear();
  if (sync_now) {
    unsynced_ = false;
    sync_at_ = instant::never();
  } else if (must_sync_ && !unsynced_) {
    unsynced_ = true;
    sync_at_ = now_ + *options_.sync_every;
  }
  must_sync_ = false;
  mark(now_);
}

void embedded_core::mark(instant now) {
  if (disk_.mark(now) || disk_.mark_failure().empty() || now < next_mark_warning_) return;
  next_mark_warning_ = now + between_mark_warnings;
  warn("cannot write the file SYNCED of the job store " + disk_.folder() + " (" + disk_.mark_failure() +
       "): without it damage at the end of the log would not be noticed");
}

void embedded_core::end_step() {
  for (tube* each : due_changed_) {
    each->due_changed = false;
    set_due_timer(*each);
  }
  due_changed_.clear();
}

job_id embedded_core::new_id() {
  if (next_id_ == id_limit_) {
    id_limit_ += ids_at_once;
    disk_.put(family::meta, "ids", view(number_key(id_limit_)));
    ids_raised_ = true;
  }
  return next_id_++;
}

next_change embedded_core::next() const noexcept {
  next_change next;
  const instant due = due_timers_.next_deadline();
  if (!due.is_never()) next.due = std::chrono::ceil<milliseconds>(wall_clock::to_sys(due));
  if (!overdue_.empty()) next.due = utc_time{};  // in the past, also if the clock is set back
  next.expiry = std::min({held_.next(), pause_timers_.next_deadline(), sync_at_, disk_.mark_due()});
  if (!space_.room_for_due_jobs() && next.due <= utc_) {
    next.due = utc_time::max();
    next.expiry = std::min(next.expiry, now_ + between_looks);
  }
  return next;
}

}  // namespace foliot::jobs::detail

// The store that users see, which hands everything to its core.

namespace foliot::jobs {

embedded_store::embedded_store(const embedded_options& options)
    : core_(std::make_unique<detail::embedded_core>(options, nullptr)) {}
embedded_store::embedded_store(std::unique_ptr<detail::embedded_core> core) noexcept : core_(std::move(core)) {}
embedded_store::~embedded_store() = default;

execution embedded_store::execute(std::span<operation> batch) { return core_->execute(batch); }
next_change embedded_store::next() const noexcept { return core_->next(); }
check_result embedded_store::check() { return core_->check(); }
void embedded_store::close() { core_->close(); }
void embedded_store::back_up(const std::string& to) { core_->back_up(to); }

}  // namespace foliot::jobs
