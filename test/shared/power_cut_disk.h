// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_POWER_CUT_DISK_H_
#define WORKQUEUE_TEST_SHARED_POWER_CUT_DISK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "test/shared/disk_log.h"
#include "test/shared/unsynced_file.h"

namespace workqueue {

// PowerCutDisk
//
// The disk of a server that logs what it does to a folder by disk_log.cc, as
// the disk can be when its power is cut at any place of the log.
//
// Of each file, what has been synced is there; of later writes see
// `UnsyncedFile`. Names are simpler: they change on the disk in the order of
// the log, as in a file system with a journal, and a sync of any file or folder
// brings all earlier changes to the disk. Of the later changes, the disk has
// the first few, maybe none. Other files are as they were.
class PowerCutDisk {
 public:
  // The disk has what is in `folder` now. Later the log's server uses it.
  explicit PowerCutDisk(std::string folder);

  // Takes in the log, and returns where its records end. The last one may be
  // there in part.
  std::vector<size_t> TakeLog(std::string log);

  // Does what the log has until the end of a record, which is not before the
  // last call's.
  void RunUntil(size_t end);

  // The writes that may not be on the disk now.
  size_t NumUnsynced() const;

  // Cuts the power, and puts what is left into a new folder. The same seed
  // leaves the same.
  void Restore(uint32_t seed, const std::string& folder) const;

 private:
  using File = std::shared_ptr<UnsyncedFile>;
  // The files by their paths in the folder. A folder is null.
  using Names = std::map<std::string, File>;

  // A change of a name.
  struct Change {
    DiskLogRecord::Kind kind;
    std::string path, other;
    File file;  // of a new name
    void DoTo(Names* names) const;
  };

  void Do(const DiskLogRecord& record, absl::string_view bytes);
  std::string PathIn(absl::string_view path) const;

  const std::string folder_;
  std::string log_;
  size_t done_ = 0;                 // of it
  Names names_;                     // on the disk
  std::vector<Change> changes_;     // since then
  std::map<uint64_t, File> files_;  // by inode
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_POWER_CUT_DISK_H_
