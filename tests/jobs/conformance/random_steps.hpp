// Random steps, for rapidcheck: it shrinks a sequence that fails, and prints what repeats it.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

#include "request.hpp"

namespace foliot::jobs::conformance {

/// Lengths where clocks and rounding have their edges.
inline rc::Gen<duration> arbitrary_pass() {
  using std::chrono::nanoseconds;
  return rc::gen::map(rc::gen::weightedElement<std::int64_t>({{8, 0},
                                                              {2, 1},
                                                              {2, 299'999},
                                                              {2, 699'999},
                                                              {2, 700'000},
                                                              {4, 1'000'000},
                                                              {4, 1'000'001},
                                                              {3, 2'000'000},
                                                              {3, 5'000'000},
                                                              {1, 1'000'000'000},
                                                              {1, 3'600'000'000'000}}),
                      [](std::int64_t length) { return duration(nanoseconds(length)); });
}

inline rc::Gen<duration> arbitrary_wall_step() {
  using std::chrono::nanoseconds;
  return rc::gen::map(rc::gen::weightedElement<std::int64_t>({{60, 0},
                                                              {1, -1},
                                                              {1, 1'000'000},
                                                              {2, -2'000'000},
                                                              {1, 5'000'000},
                                                              {1, -3'600'000'000'000},
                                                              {1, 3'600'000'000'000}}),
                      [](std::int64_t length) { return duration(nanoseconds(length)); });
}

inline rc::Gen<request> arbitrary_request() {
  using rc::gen::set;
  // By their places in the variant: puts and claims more often than the others, lists and clears seldom.
  const auto what = rc::gen::weightedElement<std::size_t>(
      {{12, 0}, {9, 1},  {3, 2},  {3, 3},  {4, 4},  {2, 5},  {4, 6},  {3, 7},  {2, 8},  {2, 9},  {2, 10}, {3, 11},
       {2, 12}, {2, 13}, {2, 14}, {2, 15}, {1, 16}, {1, 17}, {2, 18}, {2, 19}, {1, 20}, {3, 21}, {3, 22}});
  const auto back = rc::gen::weightedOneOf<unsigned>({{5, rc::gen::inRange(0U, 3U)}, {2, rc::gen::inRange(3U, 30U)}});
  const auto urgency = rc::gen::element<priority>(0, 1, 1, 1023, 1024, std::numeric_limits<priority>::max());
  const auto ahead = rc::gen::weightedElement<std::int64_t>(
      {{6, 0}, {3, 1}, {3, 2}, {2, 3}, {2, 5}, {1, 1000}, {1, 90'000'000}, {1, -1}, {1, -5}, {1, -90'000'000}});
  const auto sometimes = [](std::size_t of) { return rc::gen::weightedElement<bool>({{of - 1, false}, {1, true}}); };
  const auto fields = rc::gen::weightedElement<unsigned>({{12, 0U}, {2, 1U}, {2, 2U}, {1, 3U}, {1, 4U}});
  return rc::gen::build<request>(
      set(&request::what, what), set(&request::fields, fields), set(&request::history, fields),
      set(&request::tube, rc::gen::inRange(0U, 3U)), set(&request::other_tube, rc::gen::inRange(0U, 3U)),
      set(&request::key, rc::gen::weightedElement<unsigned>({{6, 0U}, {2, 1U}, {1, 2U}, {1, 3U}})),
      set(&request::by_key, sometimes(3)), set(&request::back, back), set(&request::forged, sometimes(20)),
      set(&request::priority, urgency), set(&request::with_priority, sometimes(2)), set(&request::ahead, ahead),
      set(&request::utc, sometimes(3)), set(&request::ttr, rc::gen::element<std::int64_t>(1, 2, 3, 5, 1000)),
      set(&request::existing, rc::gen::element(on_existing::keep, on_existing::replace, on_existing::refuse)),
      set(&request::expects, rc::gen::weightedElement<expectation>({{9, expectation::nothing},
                                                                    {4, expectation::present},
                                                                    {2, expectation::first},
                                                                    {1, expectation::forged}})),
      set(&request::holder, rc::gen::weightedElement<shown_holder>(
                                {{6, shown_holder::none}, {5, shown_holder::of_held}, {1, shown_holder::recent}})),
      set(&request::once, rc::gen::weightedElement<unsigned>({{12, 0U}, {3, 1U}, {2, 2U}, {1, 3U}})),
      set(&request::other_request, sometimes(8)),
      set(&request::lifetime, rc::gen::element<std::int64_t>(1, 2, 5, 1000, 3'600'000)),
      set(&request::state, rc::gen::element(job_state::delayed, job_state::ready, job_state::buried)),
      set(&request::count, rc::gen::weightedElement<std::uint32_t>({{6, 1U}, {2, 2U}, {1, 0U}, {1, 100U}})));
}

inline rc::Gen<std::vector<step>> arbitrary_steps() {
  using rc::gen::set;
  // rapidcheck draws from small ranges where the size is small: the sizes here are those of batches only.
  const auto requests = rc::gen::resize(rc::kNominalSize, arbitrary_request());
  const auto up_to = [&](int size) {
    return rc::gen::resize(size, rc::gen::container<std::vector<request>>(requests));
  };
  const auto batch = rc::gen::weightedOneOf<std::vector<request>>({{8, up_to(2)}, {3, up_to(6)}, {1, up_to(30)}});
  const auto seldom = [](std::size_t of) { return rc::gen::weightedElement<bool>({{of - 1, false}, {1, true}}); };
  const auto failing = rc::gen::weightedOneOf<std::uint64_t>(
      {{30, rc::gen::just(std::uint64_t{0})}, {1, rc::gen::inRange<std::uint64_t>(1, 6)}});
  const auto one = rc::gen::build<step>(set(&step::pass, arbitrary_pass()), set(&step::wall, arbitrary_wall_step()),
                                        set(&step::reopen, seldom(25)), set(&step::crash, seldom(2)),
                                        set(&step::failing_call, failing), set(&step::batch, batch));
  return rc::gen::scale(1.5, rc::gen::container<std::vector<step>>(rc::gen::resize(rc::kNominalSize, one)));
}

}  // namespace foliot::jobs::conformance
