// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Compares the store of an informer, and the changes that it tells its handler,
// with the history of the server. Everything happens on the informer's thread:
// the server performs the next operations when a watch has sent all events, and
// some of them while a list is being read.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "test/clock/virtual_clock.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/subject.h"
#include "workqueue/controller/informer.h"
#include "workqueue/testing/fake_object_server.h"

namespace reference {
namespace informer_subject {
namespace {

struct Thing {
  std::string name;
  std::string color;
  int64_t version = 0;
};

using ThingPtr = std::shared_ptr<const Thing>;

// Returns the things in one line, for a comparison.
std::string Print(const std::map<std::string, ThingPtr>& things) {
  std::string text;
  for (const auto& [name, thing] : things) {
    absl::StrAppend(&text, name, "=", thing->color, "@", thing->version, " ");
  }
  return text;
}

class InformerRun {
 public:
  InformerRun(Choices choices, Comparison* comparison)
      : choices_(choices), comparison_(*comparison) {}

  void Run() {
    choices_.Next();
    workqueue::InformerOptions<Thing> options;
    options.name = "things";
    options.lister_watcher = server_.NewListerWatcher();
    options.key = [](const Thing& thing) { return thing.name; };
    versioned_ = choices_.OneIn(2);
    if (versioned_) {
      options.is_newer = [](const Thing& a, const Thing& b) {
        return a.version > b.version;
      };
    }
    options.indexers = {{"color", [](const Thing& thing) {
                           return std::vector<std::string>{thing.color};
                         }}};
    options.clock = &clock_;
    informer_ = *workqueue::Informer<Thing>::Create(std::move(options));
    workqueue::InformerHandler<Thing> handler;
    handler.on_event = [this](const workqueue::ObjectEvent<Thing>& event) {
      OnEvent(event);
    };
    informer_->AddHandler(std::move(handler));
    server_.SetOnSent([this] { OnSent(); });
    if (informer_->Start().ok()) over_.WaitForNotification();
    informer_->Stop();
  }

 private:
  // The watch has sent everything.
  void OnSent() {
    Compare();
    // Goes on until the watch has something to send, or would wait forever.
    for (bool news = false; !news;) {
      if (choices_.empty() || !comparison_.agrees()) {
        if (!over_.HasBeenNotified()) over_.Notify();
        return;
      }
      choices_.Next();
      news = Operate();
      // More happens before the informer learns of it.
      while (news && !choices_.empty() && choices_.OneIn(3)) {
        choices_.Next();
        Operate();
      }
    }
    can_operate_ = true;
  }

  void OnEvent(const workqueue::ObjectEvent<Thing>& event) {
    const ThingPtr& now = event.new_object;
    const std::string& name = (now != nullptr ? now : event.old_object)->name;
    const auto seen = seen_.find(name);
    comparison_.Same("the old state of an event", Version(event.old_object),
                     Version(seen == seen_.end() ? nullptr : seen->second));
    if (now == nullptr) {
      seen_.erase(name);
    } else {
      comparison_.Same("the color of a state", now->color,
                       colors_[now->version]);
      comparison_.Holds(!versioned_ || now->version > Version(event.old_object),
                        "with versions, an object does not go back");
      seen_[name] = now;
    }
    // A server changes while it sends a list.
    if (can_operate_ && !choices_.empty() && ++events_ % 4 == 0) {
      choices_.Next();
      Operate();
    }
  }

  // Compares the store, its index, and what the handler has seen, with the
  // server.
  void Compare() {
    const auto expected = server_.objects();
    std::map<std::string, ThingPtr> stored;
    std::map<std::string, ThingPtr> indexed;
    for (const std::string& key : informer_->store().Keys()) {
      stored[key] = informer_->store().Get(key);
    }
    for (const char* const color : kColors) {
      const auto found = informer_->store().ByIndex("color", color);
      for (const ThingPtr& thing : *found) {
        indexed[thing->name] = thing;
        comparison_.Same<std::string>("the color in the index", color,
                                      thing->color);
      }
    }
    comparison_.Same("the store", Print(stored), Print(expected));
    comparison_.Same("the index", Print(indexed), Print(expected));
    comparison_.Same("the handler's map", Print(seen_), Print(expected));
  }

  // Performs an operation. Returns whether it lets a watch go on that has sent
  // everything.
  bool Operate() {
    const absl::Status broken = absl::UnavailableError("broken");
    switch (choices_.Below(16)) {
      default: {
        const Thing thing = {absl::StrCat("t", choices_.Below(4)),
                             kColors[choices_.Below(3)]};
        colors_[++version_] = thing.color;
        server_.Put(thing);
        comparison_.Did("Put", thing.name, thing.color);
        return true;
      }
      case 8:
      case 9:
      case 10: {
        const std::string name = absl::StrCat("t", choices_.Below(4));
        const bool there = server_.objects().count(name) > 0;
        if (there) colors_[++version_] = server_.objects()[name]->color;
        server_.Erase(name);
        comparison_.Did("Erase", name);
        return there;
      }
      case 11: {
        const absl::Status statuses[] = {absl::OkStatus(), broken,
                                         absl::DataLossError("missed"),
                                         absl::OutOfRangeError("gone")};
        const absl::Status& status = statuses[choices_.Below(4)];
        server_.EndWatches(status);
        comparison_.Did("EndWatches", status.code());
        return true;
      }
      case 12:
        server_.Compact();
        comparison_.Did("Compact");
        return false;
      case 13: {
        const int lists = choices_.Below(3);
        const int watches = choices_.Below(3);
        server_.FailLists(lists, broken);
        server_.FailWatches(watches, broken);
        comparison_.Did("Fail", lists, watches);
        return false;
      }
      case 14: {
        const int page_size = 1 + choices_.Below(4);
        const int repeated = choices_.Below(6);
        server_.SetPageSize(page_size);
        server_.SetRepeatedEvents(repeated);
        comparison_.Did("Set", page_size, repeated);
        return false;
      }
      case 15:
        server_.SendBookmark();
        comparison_.Did("SendBookmark");
        return true;
    }
  }

  static int64_t Version(const ThingPtr& thing) {
    return thing == nullptr ? 0 : thing->version;
  }

  static constexpr const char* kColors[] = {"blue", "green", "red"};

  Choices choices_;
  Comparison& comparison_;
  workqueue::VirtualClock clock_;
  workqueue::FakeObjectServer<Thing> server_{
      [](const Thing& thing) { return thing.name; },
      [](Thing& thing, int64_t version) { thing.version = version; }};
  bool versioned_ = false;
  bool can_operate_ = false;
  int events_ = 0;
  int64_t version_ = 0;
  // The color that the thing of each version has.
  std::map<int64_t, std::string> colors_;
  // The things, as the handler knows them.
  std::map<std::string, ThingPtr> seen_;
  absl::Notification over_;
  std::unique_ptr<workqueue::Informer<Thing>> informer_;
};

std::string Run(Choices choices, std::string* log) {
  Comparison comparison(log);
  InformerRun(choices, &comparison).Run();
  return comparison.disagreement();
}

}  // namespace
}  // namespace informer_subject

// Each run starts a thread.
Subject InformerSubject() {
  return {"informer", informer_subject::Run, /*slowness=*/4};
}

}  // namespace reference
