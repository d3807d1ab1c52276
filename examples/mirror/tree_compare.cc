// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/tree_compare.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "examples/mirror/file.h"
#include "examples/mirror/tree.h"

namespace mirror {
namespace {

absl::string_view NameOf(Kind kind) {
  switch (kind) {
    case Kind::kAbsent:
      return "nothing";
    case Kind::kFile:
      return "a file";
    case Kind::kDirectory:
      return "a directory";
    case Kind::kSymlink:
      return "a symbolic link";
    case Kind::kSpecial:
      return "a special file";
  }
  return "";
}

class Comparer {
 public:
  Comparer(const Tree& source, const Tree& copy)
      : source_(source), copy_(copy) {}

  void Compare(const std::string& path) {
    const absl::Status status = CompareEntries(path);
    if (!status.ok()) result_.differences.emplace_back(status.message());
  }

  Comparison& result() { return result_; }

 private:
  absl::Status CompareEntries(const std::string& path) {
    const absl::StatusOr<Entry> source = source_.Look(path);
    if (!source.ok()) return source.status();
    const absl::StatusOr<Entry> copy = copy_.Look(path);
    if (!copy.ok()) return copy.status();
    Count(path, *source);

    const Kind expected =
        source->kind == Kind::kSpecial ? Kind::kAbsent : source->kind;
    if (copy->kind != expected) {
      Differ(path, absl::StrCat(NameOf(copy->kind), ", should be ",
                                NameOf(expected)));
      if (expected != Kind::kDirectory) return absl::OkStatus();
    } else if (expected == Kind::kFile || expected == Kind::kDirectory) {
      ComparePermissions(path, *source, *copy);
    }
    switch (expected) {
      case Kind::kDirectory:
        return CompareDirectories(path);
      case Kind::kSymlink:
        return CompareLinks(path, *source, *copy);
      case Kind::kFile:
        return CompareFiles(path, *source, *copy);
      default:
        return absl::OkStatus();
    }
  }

  void ComparePermissions(const std::string& path, const Entry& source,
                          const Entry& copy) {
    if (copy.permissions() == source.permissions()) return;
    Differ(path, absl::StrFormat("permissions %04o, should be %04o",
                                 copy.permissions(), source.permissions()));
  }

  absl::Status CompareDirectories(const std::string& path) {
    std::set<std::string> names;
    for (const Tree* const tree : {&source_, &copy_}) {
      const absl::StatusOr<std::vector<std::string>> list = tree->List(path);
      if (!list.ok()) return list.status();
      names.insert(list->begin(), list->end());
    }
    for (const std::string& name : names) Compare(JoinPath(path, name));
    return absl::OkStatus();
  }

  absl::Status CompareLinks(const std::string& path, const Entry& source,
                            const Entry& copy) {
    const absl::StatusOr<std::string> expected =
        ReadLink(source.parent.get(), source.name, source_.Describe(path));
    if (!expected.ok()) return expected.status();
    const absl::StatusOr<std::string> target =
        ReadLink(copy.parent.get(), copy.name, copy_.Describe(path));
    if (!target.ok()) return target.status();
    if (*target != *expected) {
      Differ(path, absl::StrCat("leads to ", absl::Utf8SafeCEscape(*target),
                                ", should lead to ",
                                absl::Utf8SafeCEscape(*expected)));
    }
    return absl::OkStatus();
  }

  absl::Status CompareFiles(const std::string& path, const Entry& source,
                            const Entry& copy) {
    absl::StatusOr<File> a =
        File::Open(source.parent.get(), source.name, source_.Describe(path));
    if (!a.ok()) return a.status();
    absl::StatusOr<File> b =
        File::Open(copy.parent.get(), copy.name, copy_.Describe(path));
    if (!b.ok()) return b.status();
    const absl::StatusOr<bool> same =
        SameContents(*a, *b, absl::Notification());
    if (!same.ok()) return same.status();
    if (!*same) Differ(path, "different contents");
    return absl::OkStatus();
  }

  void Count(const std::string& path, const Entry& source) {
    switch (source.kind) {
      case Kind::kAbsent:
        break;
      case Kind::kFile:
        ++result_.files;
        result_.bytes += source.stat.st_size;
        break;
      case Kind::kDirectory:
        if (!path.empty()) ++result_.directories;
        break;
      case Kind::kSymlink:
        ++result_.symlinks;
        break;
      case Kind::kSpecial:
        ++result_.special_files;
        break;
    }
  }

  void Differ(const std::string& path, absl::string_view how) {
    result_.differences.push_back(
        absl::StrCat(copy_.Describe(path), ": ", how));
  }

  const Tree& source_;
  const Tree& copy_;
  Comparison result_;
};

}  // namespace

Comparison CompareTrees(const Tree& source, const Tree& copy) {
  Comparer comparer(source, copy);
  comparer.Compare("");
  return std::move(comparer.result());
}

}  // namespace mirror
