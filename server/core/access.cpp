#include "access.hpp"

#include <fmt/format.h>

#include "client_source.hpp"

namespace foliot::program {

access::place access::enter(const runtime::address& from) {
  keyed_places::place of_address;
  const std::string source = most_.of_address > 0 ? source_of(from) : std::string();
  if (!source.empty()) {
    of_address = of_address_.enter(source);
    if (!of_address) {
      refused_by_address_.fetch_add(1, seam::relaxed);
      return place(access_limit::of_address);
    }
  }
  std::size_t count = count_.load(seam::relaxed);
  do {
    if (count >= most_.all) {
      refused_by_all_.fetch_add(1, seam::relaxed);
      return place(access_limit::all);
    }
  } while (!count_.compare_exchange_weak(count, count + 1, seam::relaxed));
  come_.fetch_add(1, seam::relaxed);
  return place(*this, std::move(of_address));
}

keyed_places::place access::enter_as(std::string_view id) {
  keyed_places::place mine = of_token_.enter(id);
  if (!mine) refused_by_token_.fetch_add(1, seam::relaxed);
  return mine;
}

keyed_places::place access::enter_behind_proxy(std::string_view source) {
  keyed_places::place mine = of_address_.enter(source);
  if (!mine) refused_by_address_.fetch_add(1, seam::relaxed);
  return mine;
}

std::string access::why_refused(access_limit by, const runtime::address& from, std::string_view id) const {
  switch (by) {
    case access_limit::none: break;
    case access_limit::all:
      return fmt::format("refuse connections: there are {}, the limit of --max-connections", most_.all);
    case access_limit::of_address:
      return fmt::format(
          "refuse the connection from {}: its address has {}, the limit of --max-connections-per-address",
          shown_address(from), most_.of_address);
    case access_limit::of_token:
      return fmt::format(
          "refuse the connection from {}: the access token {} has {}, the limit of "
          "--max-connections-per-token",
          shown_address(from), id, most_.of_token);
  }
  return {};
}

access_refusals access::refusals() const noexcept {
  access_refusals all;
  all.by_all = refused_by_all_.load(seam::relaxed);
  all.by_address = refused_by_address_.load(seam::relaxed);
  all.by_token = refused_by_token_.load(seam::relaxed);
  return all;
}

}  // namespace foliot::program
