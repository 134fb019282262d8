// Ways to read the JSON of requests, side by side (docs/decisions/0022-reading-json.md): the server's; nlohmann's
// values; nlohmann's parser with a receiver that keeps nothing, the least that any receiver costs; and simdjson's
// values.
//
// The texts are a put, a put whose body is JSON, and a batch of 100 puts.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <simdjson.h>

#include "micro.hpp"
#include "server/http/json.hpp"

namespace {

const std::string body_of_job(100, 'x');
const std::string a_put = R"({"tube":"mail","delay":"1h","text":")" + body_of_job + R"("})";
const std::string a_put_of_json =
    R"({"tube":"mail","delay":"1h","body":{"user":4711,"kind":"welcome","to":["a@example.org","b@example.org"],"text":")" +
    body_of_job + R"("}})";

std::string batch() {
  std::string all = R"({"jobs":[)";
  for (int i = 0; i < 100; ++i) all += (i == 0 ? "" : ",") + a_put;
  return all + "]}";
}

/// Takes what nlohmann's parser finds, and keeps nothing.
class drops_all : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }
};

bool read_by_server(const std::string& text) { return foliot::program::http::parse_json(text).has_value(); }
bool read_by_nlohmann(const std::string& text) { return nlohmann::json::parse(text).is_object(); }
bool parse_by_nlohmann(const std::string& text) {
  drops_all receiver;
  return nlohmann::json::sax_parse(text, &receiver);
}
bool read_by_simdjson(const std::string& text) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  return !parser.parse(text).get(root);
}

using reader = bool (*)(const std::string& text);

void read_text(benchmark::State& state, reader by, const std::string& text) {
  bool is_read = true;
  for (auto _ : state) is_read = by(text) && is_read;
  if (!is_read) state.SkipWithError("the text was not read");
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(text.size()));
}

}  // namespace

namespace foliot::program::bench {

void add_json_costs() {
  for (const auto& [what, text] :
       {std::pair<const char*, std::string>("put", a_put), {"put of JSON", a_put_of_json}, {"batch", batch()}}) {
    for (const auto& [name, by] : {std::pair<const char*, reader>("server", read_by_server),
                                   {"nlohmann values", read_by_nlohmann},
                                   {"nlohmann parser", parse_by_nlohmann},
                                   {"simdjson values", read_by_simdjson}}) {
      ::benchmark::RegisterBenchmark(fmt::format("json/{}/{}", name, what).c_str(),
                                     [by, text](::benchmark::State& state) { read_text(state, by, text); });
    }
  }
}

}  // namespace foliot::program::bench
