// A disk that fails on demand, and that remembers what it has synced: loaded with LD_PRELOAD in front of a program, it
// takes the place of the system calls for files. faulty_disk.py sets it up and reads what it writes.
//
// The environment variable FOLIOT_FAULTY_DISK names a folder with the file `control`, an array of 64-bit numbers that
// both processes map, and FOLIOT_FAULTY_FILES the folder whose files it looks after. In `journal` it notes each change
// of a name before it is made, and each synced length after the sync; tabs separate the words of a line. It keeps the
// files that are removed or replaced in `saved`, so that their names can come back.
//
// Thread safety: any thread.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace {

using shared_number = std::atomic<std::int64_t>;

/// The file `control`, in this order. The test writes the first half, this process the second.
struct control_block {
  shared_number first;      ///< the number of the first call that fails, 0: none does
  shared_number count;      ///< how many calls fail from there on
  shared_number error;      ///< their errno; 0: they write a part and succeed
  shared_number kinds;      ///< the sum of the `kind`s that are counted and fail
  shared_number free;       ///< the free bytes of the file system, below 0: as the system says
  shared_number delay;      ///< how long each sync takes, in milliseconds
  shared_number calls;      ///< how many calls were counted
  shared_number failed;     ///< how many calls have failed
  shared_number failed_at;  ///< the monotonic time of the first failure, in nanoseconds
};
static_assert(shared_number::is_always_lock_free);

enum kind : std::int64_t {
  nothing = 0,
  open_file = 1,
  write_file = 2,
  write_log = 4,
  sync_file = 8,
  sync_log = 16,
  change_name = 32,
  change_size = 64,
  sync_folder = 128,
  write_manifest = 256,
  sync_manifest = 512,
  write_mark = 1024,
  write_zeros = 2048,  // ahead of the end of a log
};

enum class opened : unsigned char { no, file, log, manifest, mark, folder };

struct state {
  std::string files;
  std::string saved;
  control_block* control = nullptr;
  int journal = -1;
  /// Held while a name changes or a folder is synced, so that the journal has these in the order in which they happen.
  std::mutex names;
  std::atomic<int> last_saved{0};
  std::array<std::atomic<opened>, 65536> descriptors{};
  std::mutex of_logs;
  /// How much was appended to a log, by its inode: it is shorter than the file where there are zeros behind its end.
  std::map<ino_t, off_t> appended;
};

/// The C library's function of this name, which this file replaces.
template <class Function>
Function* next(const char* name, Function*) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
#define REAL(name) (next(#name, &::name))

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

state& disk() {
  static state* const it = [] {
    const char* const folder = std::getenv("FOLIOT_FAULTY_DISK");
    const char* const files = std::getenv("FOLIOT_FAULTY_FILES");
    if (folder == nullptr || files == nullptr) give_up("FOLIOT_FAULTY_DISK or FOLIOT_FAULTY_FILES is missing");
    auto* const made = new state;  // never destroyed: other threads use it until the process has ended
    made->files = files;
    made->saved = std::string(folder) + "/saved/" + std::to_string(::getpid()) + "-";
    const int control = REAL(open)((std::string(folder) + "/control").c_str(), O_RDWR | O_CLOEXEC);
    void* const at = ::mmap(nullptr, sizeof(control_block), PROT_READ | PROT_WRITE, MAP_SHARED, control, 0);
    made->journal = REAL(open)((std::string(folder) + "/journal").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (at == MAP_FAILED || made->journal < 0) give_up("faulty disk");
    made->control = static_cast<control_block*>(at);
    return made;
  }();
  return *it;
}

bool is_ours(std::string_view path) { return path.starts_with(disk().files); }

opened opened_as(int descriptor) {
  return descriptor < 0 || static_cast<std::size_t>(descriptor) >= disk().descriptors.size()
             ? opened::no
             : disk().descriptors[static_cast<std::size_t>(descriptor)].load();
}

opened opened_as(std::string_view path) {
  return path.ends_with(".log")                              ? opened::log
         : path.find("/MANIFEST-") != std::string_view::npos ? opened::manifest
         : path.ends_with("/SYNCED")                         ? opened::mark
                                                             : opened::file;
}

void note(const std::string& line) {
  // In one call, so that a kill leaves a line as a whole or not at all.
  if (REAL(write)(disk().journal, line.data(), line.size()) != static_cast<ssize_t>(line.size())) give_up("journal");
}

/// Counts a call and returns whether it fails; if so, errno is the error, or 0 for a call that does a part of its work.
bool fails(kind which) {
  control_block& control = *disk().control;
  const std::int64_t first = control.first.load();
  if (first == 0 || (control.kinds.load() & which) == 0) return false;
  const std::int64_t call = ++control.calls;
  if (call < first || call - first >= control.count.load()) return false;
  if (control.failed++ == 0) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    control.failed_at = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  }
  errno = static_cast<int>(control.error.load());
  return true;
}

/// As fails(), for calls that cannot do a part of their work.
bool fails_whole(kind which) { return fails(which) && errno != 0; }

int save(const char* path) {
  const int number = ++disk().last_saved;
  return ::link(path, (disk().saved + std::to_string(number)).c_str()) == 0 ? number : 0;
}

/// The name of a file that was saved, as the journal has it.
std::string saved_name(int number) { return number == 0 ? "-" : disk().saved + std::to_string(number); }

kind write_kind(opened as) {
  return as == opened::log        ? write_log
         : as == opened::manifest ? write_manifest
         : as == opened::mark     ? write_mark
                                  : write_file;
}
kind sync_kind(opened as) { return as == opened::log ? sync_log : as == opened::manifest ? sync_manifest : sync_file; }

int open_ours(const char* path, int flags, mode_t mode) {
  if (fails_whole(open_file)) return -1;
  const std::lock_guard hold(disk().names);
  const bool is_new = (flags & O_CREAT) != 0 && ::access(path, F_OK) != 0;
  if (is_new) note("made\t" + std::string(path) + "\n");
  const int descriptor = REAL(open)(path, flags, mode);
  if (descriptor < 0) return descriptor;
  struct stat about{};
  ::fstat(descriptor, &about);
  if (opened_as(std::string_view(path)) == opened::log && (flags & O_TRUNC) != 0) {
    const std::lock_guard alone(disk().of_logs);
    disk().appended[about.st_ino] = 0;
  }
  if ((flags & O_TRUNC) != 0) note("synced\t" + std::to_string(about.st_ino) + "\t0\n");
  if (static_cast<std::size_t>(descriptor) >= disk().descriptors.size()) give_up("too many descriptors");
  disk().descriptors[static_cast<std::size_t>(descriptor)] =
      S_ISDIR(about.st_mode) ? opened::folder : opened_as(std::string_view(path));
  return descriptor;
}

/// The length of a file, without the zeros behind the end of a log.
off_t length_of(const struct stat& about) {
  const std::lock_guard alone(disk().of_logs);
  const auto found = disk().appended.find(about.st_ino);
  return found == disk().appended.end() ? about.st_size : std::min(about.st_size, found->second);
}

int sync(int descriptor, int (*real)(int)) {
  const opened as = opened_as(descriptor);
  if (as == opened::no) return real(descriptor);
  if (const std::int64_t delay = disk().control->delay; delay > 0) {
    ::poll(nullptr, 0, static_cast<int>(delay));  // tidy: allow(seam-sleep) preloaded into a program: it has no seam
  }
  if (fails_whole(as == opened::folder ? sync_folder : sync_kind(as))) return -1;
  if (as == opened::folder) {
    const std::lock_guard hold(disk().names);
    const int result = real(descriptor);
    if (result == 0) note("names\n");
    return result;
  }
  struct stat before{};
  ::fstat(descriptor, &before);  // what is written while the sync is under way may not be part of it
  const off_t length = length_of(before);
  const int result = real(descriptor);
  if (result == 0) note("synced\t" + std::to_string(before.st_ino) + "\t" + std::to_string(length) + "\n");
  return result;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list given;
    va_start(given, flags);
    mode = va_arg(given, mode_t);
    va_end(given);
  }
  return is_ours(path) ? open_ours(path, flags, mode) : REAL(open)(path, flags, mode);
}

int close(int descriptor) {
  if (opened_as(descriptor) != opened::no) disk().descriptors[static_cast<std::size_t>(descriptor)] = opened::no;
  return REAL(close)(descriptor);
}

ssize_t write(int descriptor, const void* from, std::size_t size) {
  const opened as = opened_as(descriptor);
  if (as != opened::no && fails(write_kind(as))) {
    if (errno != 0) return -1;
    size = (size + 1) / 2;
  }
  const ssize_t written = REAL(write)(descriptor, from, size);
  if (as == opened::log && written > 0) {
    struct stat about{};
    ::fstat(descriptor, &about);
    const std::lock_guard alone(disk().of_logs);
    if (const auto found = disk().appended.find(about.st_ino); found != disk().appended.end()) found->second += written;
  }
  return written;
}

ssize_t pwrite(int descriptor, const void* from, std::size_t size, off_t at) {
  const opened as = opened_as(descriptor);
  if (as != opened::no && fails(as == opened::log ? write_zeros : write_kind(as))) {
    if (errno != 0) return -1;
    size = (size + 1) / 2;
  }
  return REAL(pwrite)(descriptor, from, size, at);
}

int fsync(int descriptor) { return sync(descriptor, REAL(fsync)); }
int fdatasync(int descriptor) { return sync(descriptor, REAL(fdatasync)); }

int sync_file_range(int descriptor, off64_t from, off64_t size, unsigned flags) {
  const opened as = opened_as(descriptor);
  const bool only_asks = flags == 0;  // whether the file system can do it
  if (as != opened::no && !only_asks && fails_whole(sync_kind(as))) return -1;
  return REAL(sync_file_range)(descriptor, from, size, flags);
}

int ftruncate(int descriptor, off_t size) {
  if (opened_as(descriptor) != opened::no && fails_whole(change_size)) return -1;
  return REAL(ftruncate)(descriptor, size);
}

int fallocate(int descriptor, int mode, off_t from, off_t size) {
  if (opened_as(descriptor) != opened::no && fails_whole(change_size)) return -1;
  return REAL(fallocate)(descriptor, mode, from, size);
}

int rename(const char* from, const char* to) {
  if (!is_ours(to)) return REAL(rename)(from, to);
  if (fails_whole(change_name)) return -1;
  const std::lock_guard hold(disk().names);
  const int replaced = save(to);
  note("renamed\t" + std::string(from) + "\t" + to + "\t" + saved_name(replaced) + "\n");
  return REAL(rename)(from, to);
}

int unlink(const char* path) {
  if (!is_ours(path)) return REAL(unlink)(path);
  if (fails_whole(change_name)) return -1;
  const std::lock_guard hold(disk().names);
  const int removed = save(path);
  note("removed\t" + std::string(path) + "\t" + saved_name(removed) + "\n");
  return REAL(unlink)(path);
}

int statvfs(const char* path, struct statvfs* about) {
  const int result = REAL(statvfs)(path, about);
  if (const std::int64_t free = disk().control->free; result == 0 && free >= 0) {
    about->f_bfree = about->f_bavail = static_cast<fsblkcnt_t>(free) / about->f_frsize;
  }
  return result;
}

}  // extern "C"
