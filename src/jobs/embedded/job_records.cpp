#include "job_records.hpp"

#include <optional>
#include <utility>

namespace foliot::jobs::detail {

void throw_damaged(const std::string& folder, const std::string& what) {
  throw store_failure(
      "the job store " + folder + " is damaged: " + what + ": restore a backup, or look at what its check reports",
      store_failure::remedies::restore_backup);
}

bool job_records::load(job_id id, record& it, bool with_body) {
  std::optional<std::string_view> value;
  if (const std::string* const found = records_.find(id)) {
    if (found->empty()) return false;
    value = *found;
  } else {
    value = disk_.read(family::jobs, view(number_key(id)));
  }
  if (!value) return false;
  if (!decode(id, *value, it, with_body)) {
    throw_damaged(disk_.folder(), "the record of job " + std::to_string(id) + " cannot be read");
  }
  return true;
}

void job_records::load_known(job_id id, record& it, bool with_body) {
  if (!load(id, it, with_body)) throw_damaged(disk_.folder(), "job " + std::to_string(id) + " has no record");
}

std::string job_records::body_of(record& it) {
  if (!it.body_apart) return std::move(it.body);
  if (const auto found = fresh_bodies_.find(it.id); found != fresh_bodies_.end()) return found->second;
  const std::optional<std::string_view> body = disk_.read(family::bodies, view(number_key(it.id)));
  if (!body) throw_damaged(disk_.folder(), "job " + std::to_string(it.id) + " has no body");
  return std::string(*body);
}

job_id job_records::find_key(tube_number tube, std::string_view key) {
  const std::string name = name_key(tube, key);
  if (const auto found = fresh_keys_.find(name); found != fresh_keys_.end()) return found->second;
  const std::optional<std::string_view> id = disk_.read(family::keys, name);
  if (!id) return 0;
  if (id->size() != sizeof(job_id)) throw_damaged(disk_.folder(), "the key '" + std::string(key) + "' cannot be read");
  return read_big<job_id>(id->data());
}

void job_records::add_key_and_body(record& it, std::string body) {
  it.body_apart = body.size() > longest_inline_body;
  if (it.body_apart) {
    disk_.put(family::bodies, view(number_key(it.id)), body);
    fresh_bodies_.emplace(it.id, std::move(body));
  } else {
    it.body = std::move(body);
  }
  if (!it.key.empty()) {
    std::string name = name_key(it.tube, it.key);
    disk_.put(family::keys, name, view(number_key(it.id)));
    fresh_keys_[std::move(name)] = it.id;
  }
}

void job_records::save(const record& it) {
  if (it.has_fields()) format_.require(format_with_fields);
  encode(it, value_);
  disk_.put(family::jobs, view(number_key(it.id)), value_);
  records_.save(it.id, value_, it.place == index_of::ready);
}

void job_records::erase_replaced(const record& it) {
  disk_.erase(family::jobs, view(number_key(it.id)));
  records_.erase(it.id);
  if (it.body_apart) disk_.erase(family::bodies, view(number_key(it.id)));
}

void job_records::erase(const record& it) {
  erase_replaced(it);
  if (!it.key.empty()) {
    std::string name = name_key(it.tube, it.key);
    disk_.erase(family::keys, name);
    fresh_keys_[std::move(name)] = 0;
  }
}

void job_records::end_batch() {
  records_.end_batch();
  fresh_keys_.clear();
  fresh_bodies_.clear();
}

}  // namespace foliot::jobs::detail
