#include "delivery_engine.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/seam/poller.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/net/watched_descriptor.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/timer.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "transfer.hpp"

namespace foliot::program::webhooks {

namespace {

constexpr std::size_t most_spare_transfers = 256;
constexpr std::size_t most_uses = 256;  // of a handle of libcurl

/// libcurl's global state, for the life of the process.
void initialise_libcurl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK) throw std::runtime_error(fmt::format("libcurl cannot be used: {}", curl_easy_strerror(code)));
}

struct multi_deleter {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};

}  // namespace

/// All that is under the lock: libcurl's handles and sockets.
class delivery_engine::core {
 public:
  core(engine_options options, address_rules rules)
      : options_(std::move(options)), rules_(std::move(rules)), room_(options_.most_at_once) {
    initialise_libcurl();
    const lock held(lock_);
    spare_.reserve(most_spare_transfers);  // so that recycle() never allocates
  }
  ~core() {
    const lock held(lock_);
    spare_.clear();
    FOLIOT_ASSERT(running_.empty(), "an engine must outlive its deliveries");
    draining_.clear();  // which close their sockets
    current_.reset();
  }
  core(const core&) = delete;
  core& operator=(const core&) = delete;

  /// What the runtime watches. The first call makes all that needs descriptors.
  [[nodiscard]] int descriptor() {
    const lock held(lock_);
    open();
    return poller_->descriptor();
  }
  [[nodiscard]] shared_room& room() noexcept { return room_; }

  /// The serving task begins, which has asked for the descriptor: from now on its timer is set.
  void attach(runtime::timer& timer) {
    const lock held(lock_);
    timer_ = &timer;
    armed_ = instant::never();
    arm(monotonic_clock::instance().now());
  }
  void detach() noexcept {
    const lock held(lock_);
    timer_ = nullptr;
  }
  /// Hands libcurl what has happened.
  void serve(bool timer_fired);

  /// Hands the request to libcurl; or answers it at once.
  transfer& start(delivery_request request);
  /// Takes what came of an ended delivery.
  delivery_answer take(transfer& of);
  /// Ends a delivery that has not ended.
  void cancel(transfer& of) noexcept;

  void set_rules(address_rules rules);
  [[nodiscard]] address_rules rules() const {
    const lock held(lock_);
    return rules_;
  }
  [[nodiscard]] engine_metrics metrics() const {
    const lock held(lock_);
    return metrics_;
  }

 private:
  /// A multi handle of libcurl, with its connections.
  struct pool {
    core* owner = nullptr;
    std::unique_ptr<CURLM, multi_deleter> multi;
    std::size_t running = 0;
    instant due = instant::never();
  };
  /// A socket that libcurl wants to know about.
  struct watched_socket {
    pool* of = nullptr;
    bool is_open = false;            // opened by open_socket(): close_socket() tells of its end
    bool is_wanted = false;          // libcurl wants to be told
    readiness in = readiness::none;  // what the poller reports
  };

  static curl_socket_t open_socket(void* mine, curlsocktype purpose, curl_sockaddr* address) noexcept;
  static int close_socket(void* mine, curl_socket_t fd) noexcept;
  static int want_socket(CURL*, curl_socket_t fd, int what, void* mine, void*) noexcept;
  static int want_timer(CURLM*, long milliseconds, void* mine) noexcept;
  static void headers_in(void* mine, transfer& of) noexcept;

  /// Makes the poller and libcurl's handle, if they are not there: an engine without deliveries costs no descriptor.
  void open() FOLIOT_REQUIRES(lock_);
  [[nodiscard]] std::unique_ptr<pool> make_pool() FOLIOT_REQUIRES(lock_);
  [[nodiscard]] watched_socket& socket_at(curl_socket_t fd) FOLIOT_REQUIRES(lock_);
  [[nodiscard]] bool watch(watched_socket& one, curl_socket_t fd, readiness in) noexcept FOLIOT_REQUIRES(lock_);
  void unwatch(watched_socket& one, curl_socket_t fd) noexcept FOLIOT_REQUIRES(lock_);
  void act_on(const seam::poll_event& event) noexcept FOLIOT_REQUIRES(lock_);
  void act_on_time(instant now) FOLIOT_REQUIRES(lock_);
  void take_ended(pool& from) FOLIOT_REQUIRES(lock_);
  void end(transfer& which, CURLcode code) FOLIOT_REQUIRES(lock_);
  void leave(transfer& which) noexcept FOLIOT_REQUIRES(lock_);
  void recycle(transfer& which) noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] std::unique_ptr<transfer> take_spare() FOLIOT_REQUIRES(lock_);
  void count(outcome what) noexcept FOLIOT_REQUIRES(lock_);
  void drop_drained() noexcept FOLIOT_REQUIRES(lock_);
  /// Sets the timer for the earliest thing that is waited for.
  void arm(instant now) FOLIOT_REQUIRES(lock_);

  const engine_options options_;
  std::optional<seam::poller> poller_;  // made by open(), before anything uses it, and there from then on
  mutable mutex lock_{lock_rank::engine};
  address_rules rules_ FOLIOT_GUARDED_BY(lock_);
  shared_room room_;
  std::vector<watched_socket> sockets_ FOLIOT_GUARDED_BY(lock_);  // by descriptor
  std::vector<std::unique_ptr<transfer>> spare_ FOLIOT_GUARDED_BY(lock_);
  std::vector<std::unique_ptr<transfer>> running_ FOLIOT_GUARDED_BY(lock_);
  std::list<transfer*> bodies_ FOLIOT_GUARDED_BY(lock_);    // by their deadlines, which are all as far away
  std::unique_ptr<pool> current_ FOLIOT_GUARDED_BY(lock_);  // null until open()
  std::vector<std::unique_ptr<pool>> draining_ FOLIOT_GUARDED_BY(lock_);  // of earlier rules
  runtime::timer* timer_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  instant armed_ FOLIOT_GUARDED_BY(lock_) = instant::never();
  engine_metrics metrics_ FOLIOT_GUARDED_BY(lock_);
};

void delivery_engine::core::open() {
  if (!poller_) poller_.emplace();
  if (current_ == nullptr) current_ = make_pool();
}

std::unique_ptr<delivery_engine::core::pool> delivery_engine::core::make_pool() {
  auto made = std::make_unique<pool>();
  made->owner = this;
  made->multi.reset(curl_multi_init());
  if (!made->multi) throw std::bad_alloc();
  CURLM* const multi = made->multi.get();
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &core::want_socket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, made.get());
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &core::want_timer);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, made.get());
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(std::max<std::size_t>(options_.most_idle, 1)));
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  return made;
}

// ---------------------------------------------------------------- libcurl's callbacks, under the lock

curl_socket_t delivery_engine::core::open_socket(void* mine, curlsocktype purpose, curl_sockaddr* address) noexcept {
  auto& by = *static_cast<transfer*>(mine);
  auto& self = *static_cast<core*>(by.engine());
  self.lock_.assert_held();
  const target_url& url = by.request().url;
  const auto ip = ip_address::of(address->addr);
  try {
    if (purpose != CURLSOCKTYPE_IPCXN || !ip) {
      by.denied = "libcurl asked for another kind of socket than one to an IP address";
    } else if (auto vetted = self.rules_.vet_address(*ip, url.host(), url.port()); !vetted) {
      by.denied = std::move(vetted).error();
    } else {
      const curl_socket_t fd =
          ::socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->protocol);
      if (fd < 0) return CURL_SOCKET_BAD;
      self.socket_at(fd) = {.of = nullptr, .is_open = true};
      by.has_socket = true;
      ++self.metrics_.connects;
      ++self.metrics_.open_sockets;
      return fd;
    }
    ++self.metrics_.denied;
  } catch (const std::bad_alloc&) {
    // It connects nowhere.
  }
  return CURL_SOCKET_BAD;
}

int delivery_engine::core::close_socket(void* mine, curl_socket_t fd) noexcept {
  auto& self = *static_cast<core*>(mine);
  self.lock_.assert_held();
  const auto index = static_cast<std::size_t>(fd);
  if (index < self.sockets_.size() && self.sockets_[index].is_open) {
    self.unwatch(self.sockets_[index], fd);
    self.sockets_[index] = {};
    --self.metrics_.open_sockets;
  }
  return ::close(fd);
}

int delivery_engine::core::want_socket(CURL*, curl_socket_t fd, int what, void* mine, void*) noexcept {
  auto& of = *static_cast<pool*>(mine);
  core& self = *of.owner;
  self.lock_.assert_held();
  try {
    watched_socket& one = self.socket_at(fd);
    one.of = &of;
    one.is_wanted = what != CURL_POLL_REMOVE && what != CURL_POLL_NONE;
    if (one.is_wanted) {
      const readiness in = what == CURL_POLL_IN    ? readiness::readable
                           : what == CURL_POLL_OUT ? readiness::writable
                                                   : readiness::readable | readiness::writable;
      return self.watch(one, fd, in) ? 0 : -1;
    }
    // An idle connection stays in the poller: for its next delivery that saves two system calls. Its end by the other
    // side is an event that nobody wants, and takes it out. A socket that libcurl opened itself is one of a look-up,
    // and is closed without a word.
    if (!one.is_open || one.in != readiness::readable) self.unwatch(one, fd);
    return 0;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

int delivery_engine::core::want_timer(CURLM*, long milliseconds, void* mine) noexcept {
  auto& of = *static_cast<pool*>(mine);
  of.owner->lock_.assert_held();
  of.due = milliseconds < 0
               ? instant::never()
               : monotonic_clock::instance().now() + duration::nanoseconds(std::int64_t{milliseconds} * 1'000'000);
  return 0;
}

void delivery_engine::core::headers_in(void* mine, transfer& of) noexcept {
  auto& self = *static_cast<core*>(mine);
  self.lock_.assert_held();
  of.body_deadline = monotonic_clock::instance().now() + self.options_.body_time;
  self.bodies_.splice(self.bodies_.end(), of.alone);
}

// ---------------------------------------------------------------- sockets

delivery_engine::core::watched_socket& delivery_engine::core::socket_at(curl_socket_t fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= sockets_.size()) sockets_.resize(std::max(index + 1, 2 * sockets_.size()));
  return sockets_[index];
}

bool delivery_engine::core::watch(watched_socket& one, curl_socket_t fd, readiness in) noexcept {
  if (one.in == in) return true;
  try {
    if (one.in == readiness::none) {
      poller_->add(fd, in, static_cast<std::uint64_t>(fd));
    } else {
      poller_->modify(fd, in, static_cast<std::uint64_t>(fd));
    }
  } catch (const std::exception&) {  // the system has no memory for it: the delivery fails
    return false;
  }
  one.in = in;
  return true;
}

void delivery_engine::core::unwatch(watched_socket& one, curl_socket_t fd) noexcept {
  if (one.in != readiness::none) poller_->remove(fd);
  one.in = readiness::none;
}

void delivery_engine::core::act_on(const seam::poll_event& event) noexcept {
  const auto fd = static_cast<curl_socket_t>(event.token);
  watched_socket& one = sockets_[static_cast<std::size_t>(fd)];
  if (!one.is_wanted || one.of == nullptr) {
    unwatch(one, fd);
    return;
  }
  constexpr auto over = readiness::hung_up | readiness::failed;
  int what = 0;
  if (has(event.ready, readiness::readable | over)) what |= CURL_CSELECT_IN;
  if (has(event.ready, readiness::writable)) what |= CURL_CSELECT_OUT;
  if (has(event.ready, readiness::failed)) what |= CURL_CSELECT_ERR;
  int running = 0;
  curl_multi_socket_action(one.of->multi.get(), fd, what, &running);
}

// ---------------------------------------------------------------- serving

void delivery_engine::core::serve(bool timer_fired) {
  std::array<seam::poll_event, seam::poller::most_events> events;
  const seam::polled found = poller_->wait(instant{}, events);  // which has passed: it only looks
  const lock held(lock_);
  ++metrics_.turns;
  for (std::size_t i = 0; i < found.events; ++i) act_on(events[i]);
  const instant now = monotonic_clock::instance().now();
  if (timer_fired) armed_ = instant::never();
  act_on_time(now);
  take_ended(*current_);
  for (const auto& each : draining_) take_ended(*each);
  drop_drained();
  arm(now);
}

void delivery_engine::core::act_on_time(instant now) {
  const auto act = [now](pool& of) {
    if (now < of.due) return;
    of.due = instant::never();
    int running = 0;
    curl_multi_socket_action(of.multi.get(), CURL_SOCKET_TIMEOUT, 0, &running);
  };
  act(*current_);
  for (const auto& each : draining_) act(*each);
  // What has the headers of its final answer does not wait for the body for ever.
  while (!bodies_.empty() && bodies_.front()->body_deadline <= now) end(*bodies_.front(), CURLE_OPERATION_TIMEDOUT);
}

void delivery_engine::core::take_ended(pool& from) {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(from.multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;  // the message goes with the handle
    char* mine = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &mine);
    end(*static_cast<transfer*>(static_cast<void*>(mine)), code);
  }
}

void delivery_engine::core::end(transfer& which, CURLcode code) {
  const auto now = std::chrono::floor<std::chrono::seconds>(wall_clock::to_sys(wall_clock::instance().now()));
  try {
    which.result = which.answer(code, now);
  } catch (const std::bad_alloc&) {
    which.result = {};
    which.result.what = which.kind_of(code);
  }
  count(which.result.what);
  if (which.result.reused) ++metrics_.reused;
  leave(which);
  which.ended.done();
}

/// Takes it from libcurl, which closes its connection unless that is at the end of an answer.
void delivery_engine::core::leave(transfer& which) noexcept {
  if (which.multi == nullptr) return;
  if (which.alone.empty()) {
    which.alone.splice(which.alone.end(), bodies_, which.place);
    which.body_deadline = instant::never();
  }
  curl_multi_remove_handle(which.multi, which.easy());
  const auto is_its = [&](const pool& of) { return of.multi.get() == which.multi; };
  if (is_its(*current_)) {
    --current_->running;
  } else {
    for (const auto& each : draining_) each->running -= is_its(*each) ? 1U : 0U;
  }
  which.multi = nullptr;
  --metrics_.under_way;
}

void delivery_engine::core::count(outcome what) noexcept {
  switch (what) {
    case outcome::delivered: ++metrics_.delivered; break;
    case outcome::rejected: ++metrics_.rejected; break;
    case outcome::gone: ++metrics_.gone; break;
    case outcome::not_sent: ++metrics_.not_sent; break;
    case outcome::unknown: ++metrics_.unknown; break;
    case outcome::forbidden: ++metrics_.forbidden; break;
  }
}

void delivery_engine::core::drop_drained() noexcept {
  std::erase_if(draining_, [](const auto& each) { return each->running == 0; });
}

void delivery_engine::core::arm(instant now) {
  if (timer_ == nullptr) return;
  instant next = current_->due;
  for (const auto& each : draining_) next = std::min(next, each->due);
  if (!bodies_.empty()) next = std::min(next, bodies_.front()->body_deadline);
  // One that fires too early costs a turn; most deadlines are moved away before they come.
  if (next >= armed_) return;
  armed_ = next;
  timer_->reset(std::max(next - now, duration::zero()));
}

// ---------------------------------------------------------------- deliveries

std::unique_ptr<transfer> delivery_engine::core::take_spare() {
  if (spare_.empty()) {
    return std::make_unique<transfer>(
        options_,
        engine_callbacks{
            .open = &core::open_socket, .close = &core::close_socket, .headers_in = &core::headers_in, .engine = this});
  }
  auto one = std::move(spare_.back());
  spare_.pop_back();
  return one;
}

transfer& delivery_engine::core::start(delivery_request request) {
  const auto now = std::chrono::floor<std::chrono::seconds>(runtime::wall_now());
  std::string signature;
  const std::int64_t timestamp = now.time_since_epoch().count();
  if (request.secrets != nullptr)
    signature = request.secrets->sign({.id = request.id, .timestamp = timestamp, .body = request.body}, now);
  const lock held(lock_);
  open();
  auto vetted = rules_.vet_target(request.url);
  if (running_.size() == running_.capacity()) running_.reserve(2 * running_.size() + 16);
  auto owned = take_spare();
  transfer& made = *owned;
  made.prepare(std::move(request), std::move(signature), timestamp);
  made.ended.add();
  ++metrics_.started;
  made.index = running_.size();
  running_.push_back(std::move(owned));
  if (!vetted) {
    made.result = {};
    made.result.what = outcome::forbidden;
    made.result.reason = std::move(vetted).error();
    count(outcome::forbidden);
    made.ended.done();
    return made;
  }
  if (const CURLMcode code = curl_multi_add_handle(current_->multi.get(), made.easy()); code != CURLM_OK) {
    made.ended.done();
    recycle(made);
    throw std::bad_alloc();
  }
  made.multi = current_->multi.get();
  ++current_->running;
  ++metrics_.under_way;
  arm(monotonic_clock::instance().now());
  return made;
}

delivery_answer delivery_engine::core::take(transfer& of) {
  const lock held(lock_);
  delivery_answer result = std::move(of.result);
  recycle(of);
  return result;
}

void delivery_engine::core::cancel(transfer& of) noexcept {
  const lock held(lock_);
  if (of.multi != nullptr) {
    leave(of);
    of.ended.done();
    ++metrics_.cancelled;
    drop_drained();
  }
  recycle(of);
}

void delivery_engine::core::recycle(transfer& which) noexcept {
  std::unique_ptr<transfer> owned = std::move(running_[which.index]);
  if (which.index + 1 != running_.size()) {
    running_[which.index] = std::move(running_.back());
    running_[which.index]->index = which.index;
  }
  running_.pop_back();
  // libcurl counts, over the whole life of a handle, how often it has sent a request again because a connection that
  // was kept had ended, and fails after five times (curl/curl#19066).
  const bool is_fresh = !owned->has_socket && ++owned->uses < most_uses;
  owned->clear();
  if (is_fresh && spare_.size() < most_spare_transfers) spare_.push_back(std::move(owned));
}

void delivery_engine::core::set_rules(address_rules rules) {
  const lock held(lock_);
  if (current_ == nullptr) {
    rules_ = std::move(rules);
    return;
  }
  auto fresh = make_pool();
  draining_.reserve(draining_.size() + 1);
  draining_.push_back(std::exchange(current_, std::move(fresh)));
  rules_ = std::move(rules);
  drop_drained();
}

/// A delivery from start() on. The destructor cancels it, if it has not ended.
class delivery_engine::running_delivery {
 public:
  running_delivery(core& by, delivery_request request) : by_(by), one_(&by.start(std::move(request))) {}
  running_delivery(const running_delivery&) = delete;
  running_delivery& operator=(const running_delivery&) = delete;
  ~running_delivery() {
    if (one_ != nullptr) by_.cancel(*one_);
  }

  [[nodiscard]] runtime::wait_group& ended() const noexcept { return one_->ended; }
  [[nodiscard]] delivery_answer take() { return by_.take(*std::exchange(one_, nullptr)); }

 private:
  core& by_;
  transfer* one_;
};

// ---------------------------------------------------------------- the engine

delivery_engine::delivery_engine(engine_options options, address_rules rules)
    : core_(std::make_unique<core>(std::move(options), std::move(rules))) {}

delivery_engine::~delivery_engine() = default;

runtime::task<> delivery_engine::run() {
  auto watched = runtime::watched_descriptor::watch(core_->descriptor());
  if (!watched) throw std::system_error(watched.error(), "cannot watch the sockets of webhooks");
  runtime::timer timer{duration::zero()};  // serves what began before
  struct attachment {
    core& of;
    attachment(core& to, runtime::timer& by) : of(to) { of.attach(by); }
    ~attachment() { of.detach(); }
  };
  const attachment attached(*core_, timer);
  for (;;) {
    auto ready = watched->readable();
    auto due = timer.c();
    auto chosen = co_await runtime::select(ready, due);
    core_->serve(chosen.index() == 1);
  }
}

namespace {

went went_of(const delivery_answer& answer) noexcept {
  switch (answer.what) {
    case outcome::delivered: return went::well;
    case outcome::gone: return went::answered;
    case outcome::rejected: return answer.status >= 500 || answer.status == 429 ? went::badly : went::answered;
    case outcome::not_sent:
    case outcome::unknown:
    case outcome::forbidden: return went::badly;
  }
  return went::badly;
}

}  // namespace

runtime::task<delivery_answer> delivery_engine::deliver(delivery_request request, delivery_turn turn) {
  if (const auto fault = fault_of(request)) throw std::invalid_argument(*fault);
  running_delivery one(*core_, std::move(request));
  co_await one.ended().wait();
  delivery_answer answer = one.take();
  const instant now = runtime::now();
  if (answer.what == outcome::gone) turn.disable();
  if (answer.retry_after) turn.hold_until(now + *answer.retry_after);
  turn.settle(went_of(answer), now);
  co_return answer;
}

void delivery_engine::set_rules(address_rules rules) { core_->set_rules(std::move(rules)); }

address_rules delivery_engine::rules() const { return core_->rules(); }

shared_room& delivery_engine::room() noexcept { return core_->room(); }

engine_metrics delivery_engine::metrics() const { return core_->metrics(); }

}  // namespace foliot::program::webhooks
