// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Informers: a server changes its objects while watches break, versions are
// gone, handlers come and go and throw, and the informer stops. A controller
// may reconcile what its source tells.
//
// When the server answers again, the store, each handler and the controller
// know its last state. Each handler sees the changes of an object in a row.

#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/any_executor.h"
#include "test/simulation/scenario.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/informer.h"
#include "workqueue/controller/informer_source.h"
#include "workqueue/controller/lister_watcher.h"

namespace workqueue {
namespace {

using internal::MutexLock;
using simulation::AtRest;
using simulation::Check;
using simulation::Choose;

struct Object {
  std::string key;
  int64_t version;
};
using ObjectPtr = std::shared_ptr<const Object>;
using Event = WatchEvent<Object>;

// The server, and its connection.
class Server final : public ListerWatcher<Object> {
 public:
  // Changes or deletes an object.
  void Change(const std::string& key, bool deletes) {
    MutexLock lock(&mu_);
    Event event;
    const auto found = objects_.find(key);
    if (deletes && found == objects_.end()) return;
    event.version = absl::StrCat(++version_);
    event.object = std::make_shared<const Object>(Object{key, version_});
    event.type = deletes                   ? Event::Type::kDeleted
                 : found == objects_.end() ? Event::Type::kAdded
                                           : Event::Type::kModified;
    Note("version ", version_, " of ", key, deletes ? " is gone" : "");
    if (deletes) {
      objects_.erase(found);
    } else {
      objects_[key] = event.object;
    }
    log_[version_] = std::move(event);
    changed_.SignalAll();
  }

  // Breaks the watch, and forgets the changes so far, or fails the next calls.
  void Break() {
    MutexLock lock(&mu_);
    switch (Choose(5)) {
      case 0:
        error_ = absl::UnavailableError("broken");
        break;
      case 1:
        error_ = absl::DataLossError("missed");
        break;
      case 2:
        log_.clear();
        first_ = version_;
        error_ = absl::OutOfRangeError("gone");
        break;
      case 3:
        ends_ = true;
        break;
      default:
        failures_ += 1 + Choose(2);
        error_ = absl::UnavailableError("broken");
        break;
    }
    Note("breaks: ", error_.ToString());
    changed_.SignalAll();
  }

  absl::StatusOr<ListPage> List(
      const ListOptions& options,
      absl::FunctionRef<void(ObjectPtr)> add) override {
    std::vector<ObjectPtr> page;
    ListPage result;
    {
      MutexLock lock(&mu_);
      if (Fails()) return absl::UnavailableError("fails");
      if (options.page.empty()) {
        pages_ = objects_;
        pages_version_ = version_;
      }
      // One object on each page.
      auto it = options.page.empty() ? pages_.begin()
                                     : pages_.upper_bound(options.page);
      if (it != pages_.end()) {
        page.push_back(it->second);
        if (std::next(it) != pages_.end()) result.next_page = it->first;
      }
      result.version = absl::StrCat(pages_version_);
    }
    for (const ObjectPtr& it : page) add(it);
    return result;
  }

  absl::StatusOr<std::unique_ptr<Watcher<Object>>> Watch(
      const std::string& version) override {
    MutexLock lock(&mu_);
    if (Fails()) return absl::UnavailableError("fails");
    int64_t from;
    Check(absl::SimpleAtoi(version, &from), "a version is changed");
    Check(from <= version_, "there is no such version");
    if (from < first_) return absl::OutOfRangeError("gone");
    error_ = absl::OkStatus();
    ends_ = false;
    sent_ = from;
    return std::make_unique<Connection>(this);
  }

  void Stop() override {
    MutexLock lock(&mu_);
    stopped_ = true;
    changed_.SignalAll();
  }

  // Those at rest.
  const std::map<std::string, ObjectPtr>& objects() const { return objects_; }
  bool has_sent_all() const { return watches_ && sent_ == version_; }

 private:
  class Connection final : public Watcher<Object> {
   public:
    explicit Connection(Server* server) : server_(*server) {}
    ~Connection() override { server_.watches_ = false; }

    absl::StatusOr<std::optional<Event>> Next() override {
      MutexLock lock(&server_.mu_);
      server_.watches_ = true;
      while (true) {
        if (server_.stopped_) return absl::CancelledError("stopped");
        if (!server_.error_.ok()) {
          return std::exchange(server_.error_, absl::OkStatus());
        }
        if (std::exchange(server_.ends_, false)) return std::nullopt;
        const auto next = server_.log_.upper_bound(server_.sent_);
        if (next != server_.log_.end()) {
          server_.sent_ = next->first;
          return next->second;
        }
        server_.changed_.Wait(&server_.mu_);
      }
    }

   private:
    Server& server_;
  };

  bool Fails() {
    if (stopped_) return true;
    if (failures_ == 0) return false;
    --failures_;
    return true;
  }

  sync::Mutex mu_;
  sync::CondVar changed_;
  std::map<std::string, ObjectPtr> objects_;
  std::map<int64_t, Event> log_;
  int64_t first_ = 0;
  int64_t version_ = 0;
  std::map<std::string, ObjectPtr> pages_;  // of the list in progress
  int64_t pages_version_ = 0;
  int64_t sent_ = 0;
  bool watches_ = false;
  int failures_ = 0;
  absl::Status error_;
  bool ends_ = false;
  bool stopped_ = false;
};

class InformerLife {
 public:
  void Live() {
    for (int i = 1 + Choose(2); i > 0; --i) {
      keys_.push_back(std::string(1, static_cast<char>('a' + keys_.size())));
    }
    InformerOptions<Object> options;
    auto server = std::make_unique<Server>();
    server_ = server.get();
    options.lister_watcher = std::move(server);
    options.key = [](const Object& it) { return it.key; };
    if (OneIn(2)) {
      options.is_newer = [](const Object& a, const Object& b) {
        return a.version > b.version;
      };
    }
    informer_ = *Informer<Object>::Create(std::move(options));
    if (OneIn(2)) MakeController();
    if (OneIn(2)) AddHandler();
    {
      Threads others;
      for (int i = 1 + Choose(2); i > 0; --i) {
        others.Start([this] {
          for (int n = 1 + Choose(4); n > 0; --n) ChangeOne();
        });
      }
      if (OneIn(2)) {
        others.Start([this] {
          for (int n = 1 + Choose(3); n > 0; --n) server_->Break();
        });
      }
      if (OneIn(2)) {
        others.Start([this] {
          Handler* const mine = AddHandler();
          if (OneIn(2)) informer_->Resync(mine->id);
          if (OneIn(2)) Remove(mine);
        });
      }
      if (OneIn(5)) {
        others.Start([this] {
          stopping_ = true;
          informer_->Stop();
          Check(!informer_->Start().ok(), "it starts after its end");
        });
      }
      if (controller_ != nullptr) {
        const absl::Status started = controller_->Start();
        // The server may have been away for too long.
        Check(started.ok() || stopping_ || absl::IsDeadlineExceeded(started),
              started.message());
        runs_ = started.ok();
      } else {
        const absl::Status started = informer_->Start();
        Check(started.ok() || stopping_, started.message());
      }
      if (OneIn(4)) {
        const bool synced = informer_->AwaitSync(
            OneIn(2) ? absl::Seconds(1) : absl::InfiniteDuration());
        Check(!synced || informer_->HasSynced(), "it is in sync no more");
      }
      AtRest([this] { CheckRest(); });
    }
    AwaitAll();
    for (int n = Choose(3); n > 0 && !stopping_; --n) {
      if (OneIn(2)) server_->Break();
      ChangeOne();
      AwaitAll();
    }
    if (OneIn(2) && controller_ != nullptr) controller_->Stop();
    controller_.reset();
    if (OneIn(2)) informer_->Stop();
    informer_.reset();
  }

 private:
  struct Handler {
    Informer<Object>::HandlerId id;
    std::map<std::string, ObjectPtr> known;
    int throws = 0;  // how often it may
    bool has_thrown = false;
    std::set<std::string> missed;  // of the first list
    sync::Atomic<int> calls{0};    // in progress
    int synced = 0;
    absl::Status health = absl::UnavailableError("not told");
    bool added = false;
    bool removed = false;
  };

  void ChangeOne() {
    server_->Change(keys_[Choose(static_cast<int>(keys_.size()))], OneIn(3));
  }

  void MakeController() {
    ControllerOptions<std::string> options;
    options.reconcile = [this](const std::string& key) -> absl::Status {
      const ObjectPtr object = informer_->store().Get(key);
      seen_[key] = object == nullptr ? 0 : object->version;
      return absl::OkStatus();
    };
    InformerSourceOptions<Object> source;
    if (OneIn(3)) source.resync_period = absl::Seconds(7);
    options.sources.push_back(MakeInformerSource<std::string>(
        *informer_,
        [this](const Object& it) {
          if (source_throws_ > 0) {
            --source_throws_;
            throw std::runtime_error("thrown");
          }
          return std::vector<std::string>{it.key};
        },
        source));
    source_throws_ = Choose(3);
    controller_ = *Controller<std::string>::Create(std::move(options));
  }

  Handler* AddHandler() {
    Handler* const mine = &handlers_.emplace_back();
    mine->throws = OneIn(2) ? 1 + Choose(2) : 0;
    InformerHandler<Object> handler;
    handler.on_event = [mine](const ObjectEvent<Object>& event) {
      Check(!mine->removed, "a handler is called that was removed");
      Check(++mine->calls == 1, "a handler is called twice at a time");
      --mine->calls;
      const ObjectPtr& any =
          event.new_object != nullptr ? event.new_object : event.old_object;
      Check(any != nullptr, "an event tells nothing");
      if (mine->throws > 0) {
        --mine->throws;
        mine->has_thrown = true;
        if (event.is_in_initial_list) mine->missed.insert(any->key);
        throw std::runtime_error("thrown");
      }
      ObjectPtr& known = mine->known[any->key];
      Check(event.old_object == known || event.old_object == event.new_object,
            "a handler misses a state");
      Check(event.new_object != nullptr || known != nullptr,
            "an object is deleted that is not there");
      known = event.new_object;
      mine->missed.erase(any->key);
    };
    handler.on_synced = [mine] {
      Check(!mine->removed, "a handler is called that was removed");
      Check(++mine->synced == 1, "a handler is told of the sync twice");
      Check(mine->missed.empty(), "a handler is told of the sync too early");
    };
    handler.on_health = [mine](const absl::Status& status) {
      Check(!mine->removed, "a handler is called that was removed");
      mine->health = status;
    };
    mine->id = informer_->AddHandler(std::move(handler));
    mine->added = true;
    return mine;
  }

  void Remove(Handler* handler) {
    informer_->RemoveHandler(handler->id);
    Check(handler->calls == 0, "a handler is removed in a call");
    handler->removed = true;
  }

  // Returns what is wrong, or nothing. `all`: all has been told.
  std::string Error(bool all) {
    std::map<std::string, ObjectPtr> stored;
    for (const std::string& key : informer_->store().Keys()) {
      stored[key] = informer_->store().Get(key);
    }
    const auto same = [](const std::map<std::string, ObjectPtr>& a,
                         std::map<std::string, ObjectPtr> b) {
      for (auto it = b.begin(); it != b.end();) {
        it = it->second == nullptr ? b.erase(it) : std::next(it);
      }
      return a == b;
    };
    if (server_->has_sent_all() && !same(server_->objects(), stored)) {
      return "the store is not what the server has";
    }
    if (all && !server_->has_sent_all()) return "there is no watch";
    if (all && !informer_->Healthy().ok()) return "a watch is not healthy";
    for (const Handler& it : handlers_) {
      if (!it.added || it.removed || (it.throws > 0 && !all)) {
        continue;
      }
      if (all && it.synced != 1) return "a handler has not heard of the sync";
      if (all && !it.health.ok()) return "a handler hears of no recovery";
      if (it.synced == 0 && !all) continue;
      if (!same(stored, it.known) && (all || !it.has_thrown)) {
        return "a handler does not know what is stored";
      }
    }
    if (all && runs_ && controller_ != nullptr) {
      const absl::Status health = controller_->Healthy();
      if (!health.ok()) return std::string(health.message());
      for (const auto& [key, object] : server_->objects()) {
        if (seen_[key] != object->version) return "a change is not reconciled";
      }
      for (const auto& [key, version] : seen_) {
        if (version != 0 && server_->objects().count(key) == 0) {
          return "a deletion is not reconciled";
        }
      }
    }
    return "";
  }

  void CheckRest() {
    if (stopping_) return;
    const std::string error = Error(/*all=*/false);
    Check(error.empty(), error);
  }

  // All is told in the end.
  void AwaitAll() {
    for (int tries = 60; !stopping_; simulation::Sleep(absl::Seconds(10))) {
      std::string error;
      AtRest([&] { error = Error(/*all=*/true); });
      if (error.empty()) break;
      Check(--tries > 0, error);
    }
  }

  std::vector<std::string> keys_;
  Server* server_ = nullptr;
  std::unique_ptr<Informer<Object>> informer_;
  std::unique_ptr<Controller<std::string>> controller_;
  std::list<Handler> handlers_;
  std::map<std::string, int64_t> seen_;  // by the controller
  int source_throws_ = 0;
  bool runs_ = false;  // the controller
  bool stopping_ = false;
};

const AddScenario informer("informer", "an Informer, its server and handlers",
                           [] { InformerLife().Live(); });

}  // namespace
}  // namespace workqueue
