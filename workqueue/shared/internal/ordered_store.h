// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_ORDERED_STORE_H_
#define WORKQUEUE_SHARED_INTERNAL_ORDERED_STORE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace workqueue::internal {

// WantedEntries
//
// The entries that a call will probably read, so that a store which is far away
// fetches them together. What is missing costs time only.
struct WantedEntries {
  // The first entries whose keys begin with `prefix`, and are greater than
  // `after`. Each leads to another one, whose key is `leads_to` and then the
  // bytes from `rest` on of its own key, or its value if `rest` is zero.
  struct Range {
    std::string prefix;
    size_t most;
    std::string leads_to;
    size_t rest;
    std::string after = {};
  };

  std::vector<std::string> keys;
  std::vector<Range> ranges;
};

// OrderedStore
//
// What an engine keeps of a queue, or of an election: entries in the order of
// the bytes of their keys. `StoredQueue` and `StoredElection` have all rules.
// So an engine that has no rules of its own only has to store.
//
// After an error a store looks empty, and takes nothing. So what uses it comes
// to an end, which its owner undoes.
//
// Thread-compatible.
class OrderedStore {
 public:
  struct Entry {
    std::string key;
    std::string value;
  };

  virtual ~OrderedStore() = default;

  // These entries will probably be read.
  virtual void Prefetch(const WantedEntries& /*wanted*/) {}

  virtual std::optional<std::string> Get(absl::string_view key) = 0;
  virtual void Put(absl::string_view key, absl::string_view value) = 0;
  // The same, for a key that is not there, so that nobody has to look.
  virtual void Insert(absl::string_view key, absl::string_view value) {
    Put(key, value);
  }
  virtual void Delete(absl::string_view key) = 0;

  // The first entry whose key begins with `prefix`, and is greater than
  // `after`.
  virtual std::optional<Entry> First(absl::string_view prefix,
                                     absl::string_view after = "") = 0;

 protected:
  // The least key that `First()` may find.
  static std::string LeastKey(absl::string_view prefix,
                              absl::string_view after) {
    if (after.empty()) return std::string(prefix);
    return std::string(after) + '\0';
  }
};

// An `OrderedStore` in memory. Each call takes O(log n).
class MemoryStore : public OrderedStore {
 public:
  std::optional<std::string> Get(absl::string_view key) override {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return std::nullopt;
    return found->second;
  }
  void Put(absl::string_view key, absl::string_view value) override {
    entries_.insert_or_assign(std::string(key), std::string(value));
  }
  void Delete(absl::string_view key) override {
    const auto found = entries_.find(key);
    if (found != entries_.end()) entries_.erase(found);
  }
  std::optional<Entry> First(absl::string_view prefix,
                             absl::string_view after = "") override {
    const auto found = entries_.lower_bound(LeastKey(prefix, after));
    if (found == entries_.end()) return std::nullopt;
    if (!absl::StartsWith(found->first, prefix)) return std::nullopt;
    return Entry{found->first, found->second};
  }

 private:
  std::map<std::string, std::string, std::less<>> entries_;
};

// Packer
//
// Writes numbers and texts as bytes, one after the other.
class Packer {
 public:
  explicit Packer(absl::string_view prefix = "") : bytes_(prefix) {}

  // For keys: eight bytes, which sort as the numbers do.
  Packer& Ordered(int64_t number) {
    const uint64_t bits = static_cast<uint64_t>(number) ^ (uint64_t{1} << 63);
    for (int shift = 56; shift >= 0; shift -= 8) {
      bytes_ += static_cast<char>(bits >> shift);
    }
    return *this;
  }

  // For values: few bytes if it is near zero.
  Packer& Number(int64_t number) {
    uint64_t bits = static_cast<uint64_t>(number) << 1;
    if (number < 0) bits = ~bits;
    for (; bits >= 0x80; bits >>= 7) {
      bytes_ += static_cast<char>(bits | 0x80);
    }
    bytes_ += static_cast<char>(bits);
    return *this;
  }

  // No text is the beginning of another one, with its length.
  Packer& Text(absl::string_view text) {
    Number(static_cast<int64_t>(text.size()));
    return Rest(text);
  }

  // Nothing comes after it.
  Packer& Rest(absl::string_view text) {
    bytes_.append(text.data(), text.size());
    return *this;
  }

  // A number or a text for each field, of a `std::tie()`.
  template <typename... Fields>
  Packer& All(const std::tuple<Fields...>& fields) {
    std::apply([this](const auto&... each) { (this->Write(each), ...); },
               fields);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void Write(const std::string& text) { Text(text); }
  template <typename T>
  void Write(const T& number) {
    Number(static_cast<int64_t>(number));
  }

  std::string bytes_;
};

// Unpacker
//
// Reads what a `Packer` has written. Beyond the end, each number is zero, and
// each text is empty: so an entry may lack what a later version adds.
class Unpacker {
 public:
  explicit Unpacker(absl::string_view bytes) : bytes_(bytes) {}

  int64_t Ordered() {
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = (bits << 8) | Byte();
    return static_cast<int64_t>(bits ^ (uint64_t{1} << 63));
  }

  int64_t Number() {
    uint64_t bits = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint64_t byte = Byte();
      bits |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    const uint64_t number = bits >> 1;
    return static_cast<int64_t>((bits & 1) != 0 ? ~number : number);
  }

  std::string Text() {
    const int64_t size = Number();
    if (size < 0 || static_cast<uint64_t>(size) > bytes_.size()) return "";
    const std::string text(bytes_.substr(0, static_cast<size_t>(size)));
    bytes_.remove_prefix(text.size());
    return text;
  }

  std::string Rest() const { return std::string(bytes_); }

  template <typename... Fields>
  void All(const std::tuple<Fields...>& fields) {
    std::apply([this](auto&... each) { (this->Read(&each), ...); }, fields);
  }

 private:
  void Read(std::string* text) { *text = Text(); }
  template <typename T>
  void Read(T* number) {
    *number = static_cast<T>(Number());
  }

  uint64_t Byte() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }

  absl::string_view bytes_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_ORDERED_STORE_H_
