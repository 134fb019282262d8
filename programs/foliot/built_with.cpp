#include "built_with.hpp"

#include <string_view>

#include <boost/version.hpp>
#include <bzlib.h>
#include <fmt/format.h>
#include <foliot/core/contract.hpp>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#if defined(FOLIOT_HAS_EMBEDDED_STORE)
#include <rocksdb/version.h>
#endif
#if defined(FOLIOT_HAS_POSTGRESQL_STORE)
#include <pg_config.h>
#endif
#if defined(FOLIOT_HAS_TLS)
#include <openssl/opensslv.h>
#endif

namespace foliot::program {

namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string stores() {
  std::string all = "memory";
#if defined(FOLIOT_HAS_EMBEDDED_STORE)
  all += fmt::format(", RocksDB {}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
#endif
#if defined(FOLIOT_HAS_POSTGRESQL_STORE)
  all += ", libpq " PG_VERSION;
#endif
  return all;
}

std::string_view tls() {
#if defined(FOLIOT_HAS_TLS)
  return "OpenSSL " OPENSSL_VERSION_STR;
#else
  return "none";
#endif
}

std::string libraries() {
  std::string_view bzip2 = BZ2_bzlibVersion();
  bzip2 = bzip2.substr(0, bzip2.find(','));
  return fmt::format("{}, Boost {}.{}.{}, bzip2 {}, liblzma {}, zlib {}, zstd {}", FOLIOT_BUILD_PACKAGES,
                     BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100, bzip2,
                     LZMA_VERSION_STRING, ZLIB_VERSION, ZSTD_VERSION_STRING);
}

std::string_view or_none(std::string_view list) noexcept { return list.empty() ? "none" : list; }

std::string_view on_or_off(bool is) noexcept { return is ? "on" : "off"; }

}  // namespace

std::string built_with() {
  return fmt::format(
      "compiler: {}, libstdc++ {} of {}\nbuild: {}\nassertions: {}\nsanitizers: {}\nstores: {}\nTLS: {}\n"
      "libraries: {}\n",
      compiler(), _GLIBCXX_RELEASE, __GLIBCXX__, FOLIOT_BUILD_FLAGS, on_or_off(FOLIOT_ASSERTIONS != 0),
      or_none(FOLIOT_BUILD_SANITIZE), stores(), tls(), libraries());
}

}  // namespace foliot::program
