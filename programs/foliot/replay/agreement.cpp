#include "agreement.hpp"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "grouped.hpp"
#include "text/timestamp.hpp"

namespace foliot::program {

namespace {

std::string text_of(instant time) {
  std::string text;
  append_iso_time(text, time);
  return text;
}

}  // namespace

void agreement::expect(const ended_session& session) {
  if (broken()) return;
  client_parts& its = waiting_[session.client];
  if (its.stretch != stretch_ && its.parts.size() > 1) {
    join(session.client, its.parts);
    if (broken()) return;  // waiting_ is empty
  }
  its.stretch = stretch_;
  its.parts.push_back({session.start, session.last_request, session.requests, session.expired});
}

void agreement::add(const ended_session& session) {
  if (broken()) return;
  const auto found = waiting_.find(session.client);
  if (found == waiting_.end()) {
    return breaks(session.client,
                  fmt::format("has ended a session of {} to {} at {}, where none was due", text_of(session.start),
                              text_of(session.last_request), text_of(session.expired)));
  }
  std::vector<part>& parts = found->second.parts;
  part whole = parts.front();
  std::size_t used = 1;
  for (; used < parts.size() && whole.last_request < session.last_request; ++used) {
    if (!may_join(whole, parts[used])) return not_ended(session.client, whole);
    whole.last_request = parts[used].last_request;
    whole.requests += parts[used].requests;
    whole.expired = parts[used].expired;
  }
  compare(session, whole);
  if (broken()) return;
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(used));
  if (parts.empty()) waiting_.erase(found);
}

void agreement::finish() {
  if (broken() || waiting_.empty()) return;
  // The order of the table is random: the difference is about the session that was due first.
  const auto* first = &*waiting_.begin();
  for (const auto& each : waiting_) {
    const auto due = [](const auto& of) {
      return std::pair(of.second.parts.front().expired, std::string_view(of.first));
    };
    if (due(each) < due(*first)) first = &each;
  }
  not_ended(first->first, first->second.parts.front());
}

void agreement::join(std::string_view client, std::vector<part>& parts) {
  part whole = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (!may_join(whole, parts[i])) return not_ended(client, whole);
    whole = {whole.start, parts[i].last_request, whole.requests + parts[i].requests, parts[i].expired};
  }
  parts.assign(1, whole);
}

void agreement::compare(const ended_session& session, const part& whole) {
  const auto differs = [&](std::string_view what, const std::string& its, const std::string& right) {
    breaks(session.client, fmt::format("has ended the session that began at {} with {} {}, not {}",
                                       text_of(whole.start), what, its, right));
  };
  if (session.start != whole.start) {
    return breaks(session.client, fmt::format("has ended a session that began at {}, not one that began at {}",
                                              text_of(session.start), text_of(whole.start)));
  }
  if (session.last_request != whole.last_request) {
    return differs("its last request at", text_of(session.last_request), text_of(whole.last_request));
  }
  if (session.requests != whole.requests) {
    return differs("a count of requests of", grouped(session.requests), grouped(whole.requests));
  }
  const instant latest = whole.expired + lateness_;
  if (session.expired < whole.expired || session.expired > latest) {
    return differs("its expiry at", text_of(session.expired),
                   text_of(whole.expired) + (latest == whole.expired ? "" : " to " + text_of(latest)));
  }
}

void agreement::not_ended(std::string_view client, const part& missing) {
  breaks(client, fmt::format("has not ended the session that began at {} by {}", text_of(missing.start),
                             text_of(missing.expired + lateness_)));
}

void agreement::breaks(std::string_view client, std::string what) {
  difference_ = finding{std::string(client), std::move(what)};
  waiting_.clear();  // last, because the arguments may be in it
}

}  // namespace foliot::program
