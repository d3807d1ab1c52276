// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/resource.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kubernetes::resource_test {
namespace {

using ::testing::HasSubstr;

const Resource kPods = {"", "v1", "pods"};
const Resource kRoles = {"rbac.authorization.k8s.io", "v1", "clusterroles",
                         /*namespaced=*/false};

TEST(ResourceTest, BuildsPaths) {
  EXPECT_EQ(*CollectionPath(kPods, ""), "/api/v1/pods");
  EXPECT_EQ(*CollectionPath(kPods, "a"), "/api/v1/namespaces/a/pods");
  EXPECT_EQ(*ObjectPath(kPods, {"a", "b"}), "/api/v1/namespaces/a/pods/b");
  EXPECT_EQ(*CollectionPath(kRoles, ""),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles");
}

TEST(ResourceTest, EscapesNames) {
  EXPECT_EQ(*ObjectPath(kRoles, {"", "system:a b?c#\u00e9&="}),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/"
            "system%3Aa%20b%3Fc%23%C3%A9%26%3D");
  EXPECT_EQ(*ObjectPath(kPods, {"a", "b-c.d_e~f"}),
            "/api/v1/namespaces/a/pods/b-c.d_e~f");
}

TEST(ResourceTest, RefusesWhatIsNoPartOfAPath) {
  const auto expect = [](const absl::StatusOr<std::string>& path,
                         const char* text) {
    EXPECT_TRUE(absl::IsInvalidArgument(path.status())) << path.status();
    EXPECT_THAT(std::string(path.status().message()), HasSubstr(text));
  };
  for (const std::string name : {"", ".", "..", "a/b", "a%2fb"}) {
    expect(ObjectPath(kPods, {"a", name}), ("name '" + name + "'").c_str());
  }
  expect(CollectionPath(kPods, ".."), "namespace '..'");
  expect(CollectionPath({"a/b", "v1", "pods"}, ""), "group 'a/b'");
  expect(CollectionPath({"", "", "pods"}, ""), "version ''");
  expect(CollectionPath({"", "v1", ""}, ""), "resource ''");
}

TEST(ResourceTest, TheNamespaceMustFitTheResource) {
  EXPECT_EQ(ObjectPath(kPods, {"", "b"}).status(),
            absl::InvalidArgumentError("namespace '': pods are in namespaces"));
  const absl::Status error = absl::InvalidArgumentError(
      "namespace 'a': clusterroles are not in namespaces");
  EXPECT_EQ(ObjectPath(kRoles, {"a", "b"}).status(), error);
  EXPECT_EQ(CollectionPath(kRoles, "a").status(), error);
}

}  // namespace
}  // namespace kubernetes::resource_test
