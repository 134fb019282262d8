// Memory that cannot be had: the n-th allocation of foliot, or of foliot and OpenSSL, fails, for n = 0, 1, 2, … until
// none does. An operation then throws or fails, the streams can be destroyed, and the next connections are well.
#include <openssl/crypto.h>
#include <openssl/err.h>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "peers.hpp"
#include "support/allocations.hpp"
#include "tls/openssl.hpp"

namespace foliot::tls {
namespace {

using runtime::spawn;
using test::error_of;

thread_local bool with_openssl = false;  // whether test::failing_allocations are also those of OpenSSL

/// Whether an allocation of OpenSSL fails.
bool is_refused() noexcept {
  if (!with_openssl) return false;
  void* const probe = ::operator new(1, std::nothrow);
  ::operator delete(probe);
  return probe == nullptr;
}
void* take(std::size_t size, const char*, int) { return size == 0 || is_refused() ? nullptr : std::malloc(size); }
void* resize(void* old, std::size_t size, const char*, int) {
  if (size != 0) return is_refused() ? nullptr : std::realloc(old, size);
  std::free(old);
  return nullptr;
}
void give_back(void* old, const char*, int) { std::free(old); }

/// OpenSSL takes other functions before its first allocation only.
const bool openssl_asks_us = CRYPTO_set_mem_functions(take, resize, give_back) == 1;

/// For its life OpenSSL's allocations fail, too.
class failing_with_openssl {
 public:
  explicit failing_with_openssl(std::size_t succeeding, std::size_t failing) noexcept : fails_(succeeding, failing) {
    with_openssl = true;
  }
  ~failing_with_openssl() { with_openssl = false; }
  failing_with_openssl(const failing_with_openssl&) = delete;
  failing_with_openssl& operator=(const failing_with_openssl&) = delete;
  [[nodiscard]] bool failed() const noexcept { return fails_.failed(); }

 private:
  test::failing_allocations fails_;
};

task<bool> echo_once(runtime::stream below) {
  auto peer = co_await tls_stream::accept(std::move(below), test::server());
  if (!peer) co_return false;
  std::string text(20'000, ' ');
  const auto got = co_await peer->read_all(std::span<char>(text));
  if (!got || *got != text.size()) co_return false;
  const auto sent = co_await peer->write_all(std::string_view(text));
  if (!sent) co_return false;
  const std::error_code ended = co_await peer->shutdown();
  co_return !ended;
}

/// Returns whether all went well. Each side ends by itself when the other one has failed.
task<bool> talk() {
  auto below = runtime::stream::pair();
  if (!below) co_return false;
  auto echoing = spawn(echo_once(std::move(below->second)), "echoes");
  bool well = false;
  try {
    auto peer = co_await tls_stream::connect(std::move(below->first), test::client(), "localhost");
    const std::string text(20'000, 'x');
    if (peer) {
      const auto sent = co_await peer->write_all(std::string_view(text));
      std::string back(text.size(), ' ');
      const auto got = co_await peer->read_all(std::span<char>(back));
      const std::error_code renewed = co_await peer->update_keys(renewed_keys::own);
      const std::error_code ended = co_await peer->shutdown();
      well = !error_of(sent) && !error_of(got) && !renewed && !ended && back == text;
    }
  } catch (const std::bad_alloc&) {
  }
  try {
    const bool other = co_await echoing.join();
    well = well && other;
  } catch (const std::bad_alloc&) {
    well = false;
  }
  co_return well;
}

TEST(Memory, MayBeMissingAnywhere) {
  bool went_well = false;
  static_cast<void>(test::server());
  static_cast<void>(test::client());
  std::size_t succeeding = 0;
  for (bool failed = true; failed; ++succeeding) {
    virtual_clock clock;
    runtime::run_options options;
    options.clock = &clock;
    runtime::run(
        [&]() -> task<> {
          const test::failing_allocations fails(succeeding, 1);
          try {
            went_well = co_await talk();
          } catch (const std::bad_alloc&) {
            went_well = false;
          }
          failed = fails.failed();
        },
        options);
    EXPECT_TRUE(went_well || failed);
  }
  EXPECT_TRUE(went_well);
  EXPECT_GT(succeeding, 10U);
}

constexpr std::size_t all_from_there = std::numeric_limits<std::size_t>::max();

/// Calls `play(n, failing)` until nothing fails any more. There are many places of a kind: some of them are played.
template <class Play>
void with_each_failure(Play play) {
  ASSERT_TRUE(openssl_asks_us);
  for (const std::size_t failing : {std::size_t{1}, all_from_there}) {
    std::size_t n = 0;
    while (play(n, failing)) n += 1 + n / 8;
    EXPECT_GT(n, 10U);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

/// Runs the task on virtual time, and with it all other tasks on this thread.
template <class Main>
auto on_virtual_time(Main main) {
  virtual_clock clock;
  runtime::run_options options;
  options.clock = &clock;
  options.on_failure = [](std::string_view, const std::exception_ptr&) {};
  return runtime::run(main(), options);
}

task<bool> talk_without(std::size_t succeeding, std::size_t failing) {
  const failing_with_openssl fails(succeeding, failing);
  bool went_well = false;
  try {
    went_well = co_await talk();
  } catch (const std::bad_alloc&) {
  }
  EXPECT_TRUE(went_well || fails.failed());
  co_return fails.failed();
}

// What OpenSSL needs for all connections is made by the first one that has the memory for it.
TEST(Memory, MayBeMissingInTheFirstConnections) {
  static_cast<void>(test::server());
  static_cast<void>(test::client());
  bool failed = true;
  for (std::size_t n = 0; failed && n < 1'000; ++n) {
    on_virtual_time([n, &failed]() -> task<> {
      auto below = test::local_pair();
      below.second.close();
      const failing_with_openssl fails(n, all_from_there);
      try {
        const auto made = co_await tls_stream::connect(std::move(below.first), test::client(), "localhost");
        EXPECT_FALSE(made.has_value());
      } catch (const std::bad_alloc&) {
      }
      failed = fails.failed();
    });
  }
  EXPECT_FALSE(failed);
  EXPECT_TRUE(on_virtual_time(talk));
}

// OpenSSL may report a lack of memory behind another error, or as an error of the certificate.
TEST(Memory, IsTheErrorWhereverOpenSSLTellsOfIt) {
  ERR_clear_error();
  ERR_raise(ERR_LIB_SSL, ERR_R_INTERNAL_ERROR);
  ERR_raise(ERR_LIB_X509, ERR_R_MALLOC_FAILURE);
  EXPECT_EQ(detail::take_error({}), std::errc::not_enough_memory);
  EXPECT_EQ(ERR_peek_error(), 0U);
  EXPECT_EQ(detail::certificate_error(X509_V_ERR_OUT_OF_MEM), std::errc::not_enough_memory);
}

TEST(Memory, MayBeMissingInOpenSSL) {
  static_cast<void>(test::server());
  static_cast<void>(test::client());
  with_each_failure([](std::size_t n, std::size_t failing) {
    const bool failed = on_virtual_time([n, failing] { return talk_without(n, failing); });
    EXPECT_TRUE(on_virtual_time(talk)) << "after allocation " << n << ", failing: " << failing;
    return failed;
  });
}

TEST(Memory, MayBeMissingInAContext) {
  tls_options options = test::identified(test::issue({}, &test::authority()));
  options.further_identities.push_back({.certificate_chain = options.certificate_chain,
                                        .private_key = options.private_key,
                                        .key_password = options.key_password});
  options.from_clients = client_certificates::optional;
  options.roots = test::trusting().roots;
  options.protocols = {"h2", "http/1.1"};
  with_each_failure([&options](std::size_t n, std::size_t failing) {
    const failing_with_openssl fails(n, failing);
    try {
      const auto made = tls_context::server(options);
      EXPECT_TRUE(made || fails.failed());
    } catch (const std::bad_alloc&) {
    }
    return fails.failed();
  });
  EXPECT_TRUE(tls_context::server(options).has_value());
}

/// The server's view of a connection to that host: the name that the client has asked for.
task<std::optional<std::string>> asked_for(std::string host, std::size_t succeeding, std::size_t failing, bool& failed,
                                           std::error_code& refusal) {
  tls_options trusting_all;
  trusting_all.verify_server = false;
  const auto context = tls_context::client(trusting_all);
  auto below = test::local_pair();
  auto accepting = spawn(test::accept_on(std::move(below.second), test::server()));
  {
    const failing_with_openssl fails(succeeding, failing);
    try {
      const auto made = co_await tls_stream::connect(std::move(below.first), *context, host);
      refusal = error_of(made);
    } catch (const std::bad_alloc&) {
    }
    failed = fails.failed();
  }
  std::optional<std::string> asked;
  try {
    const auto accepted = co_await accepting.join();
    if (accepted) asked = accepted->server_name();
  } catch (const std::bad_alloc&) {
  }
  co_return asked;
}

// A name that could not be stored is no wrong name, and an address that could not be stored is no name.
// For the first 200 allocations.
TEST(Memory, IsWhatAHostLacks) {
  static_cast<void>(test::server());
  for (const std::string host : {"localhost", "127.0.0.1"}) {
    for (const std::size_t failing : {std::size_t{1}, all_from_there}) {
      bool failed = true;
      for (std::size_t n = 0; failed && n < 200; ++n) {
        std::error_code refusal;
        const auto asked = on_virtual_time([&] { return asked_for(host, n, failing, failed, refusal); });
        EXPECT_NE(refusal, std::errc::invalid_argument) << host << ", allocation " << n;
        EXPECT_EQ(asked.value_or(host == "localhost" ? host : ""), host == "localhost" ? host : "")
            << "allocation " << n;
      }
    }
  }
}

}  // namespace
}  // namespace foliot::tls
