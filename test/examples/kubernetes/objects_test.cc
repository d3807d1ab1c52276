// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/objects.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/resource.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kubernetes::objects_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Json WholeConfigMap() {
  return Json::parse(R"({
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {
      "namespace": "ns",
      "name": "it",
      "uid": "u-1",
      "resourceVersion": "12",
      "deletionTimestamp": "2026-01-01T00:00:00Z",
      "labels": {"l": "1"},
      "annotations": {"a": "2"},
      "finalizers": ["f/1", "f/2"],
      "ownerReferences": [{"uid": "o"}],
      "managedFields": [{"manager": "m"}]
    },
    "data": {"d": "3"},
    "binaryData": {"b": "NA=="},
    "immutable": true
  })");
}

TEST(ObjectsTest, ReadsAllFields) {
  const auto object = ParseObject<ConfigMap>(WholeConfigMap());
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(object->meta.ns, "ns");
  EXPECT_EQ(object->meta.name, "it");
  EXPECT_EQ(object->meta.uid, "u-1");
  EXPECT_EQ(object->meta.resource_version, "12");
  EXPECT_TRUE(object->meta.being_deleted);
  EXPECT_THAT(object->meta.labels, ElementsAre(Pair("l", "1")));
  EXPECT_THAT(object->meta.annotations, ElementsAre(Pair("a", "2")));
  EXPECT_THAT(object->meta.finalizers, ElementsAre("f/1", "f/2"));
  EXPECT_EQ(object->meta.owner_references, Json::parse(R"([{"uid": "o"}])"));
  EXPECT_THAT(object->data, ElementsAre(Pair("d", "3")));
  EXPECT_THAT(object->binary_data, ElementsAre(Pair("b", "NA==")));
  EXPECT_TRUE(object->immutable);
}

TEST(ObjectsTest, MostFieldsMayBeMissing) {
  const Json json = Json::parse(
      R"({"metadata": {"name": "it", "uid": "u-1", "resourceVersion": "12"}})");
  const auto ns = ParseObject<Namespace>(json);
  ASSERT_TRUE(ns.ok()) << ns.status();
  EXPECT_EQ(ns->meta.ns, "");
  EXPECT_EQ(ns->meta.name, "it");
  EXPECT_FALSE(ns->meta.being_deleted);
  EXPECT_THAT(ns->meta.labels, IsEmpty());
  EXPECT_THAT(ns->meta.annotations, IsEmpty());
  EXPECT_THAT(ns->meta.finalizers, IsEmpty());
  EXPECT_TRUE(ns->meta.owner_references.is_null());
  const auto config_map = ParseObject<ConfigMap>(json);
  ASSERT_TRUE(config_map.ok()) << config_map.status();
  EXPECT_THAT(config_map->data, IsEmpty());
  EXPECT_THAT(config_map->binary_data, IsEmpty());
  EXPECT_FALSE(config_map->immutable);
}

TEST(ObjectsTest, RequiredFields) {
  for (const char* field : {"name", "uid", "resourceVersion"}) {
    Json json = WholeConfigMap();
    json["metadata"].erase(field);
    const absl::Status error = ParseObject<ConfigMap>(json).status();
    EXPECT_TRUE(absl::IsInternal(error)) << error;
    EXPECT_THAT(
        std::string(error.message()),
        AllOf(HasSubstr("an object of the server: "), HasSubstr(field)));
  }
  EXPECT_TRUE(absl::IsInternal(ParseObject<ConfigMap>(Json()).status()));
  EXPECT_TRUE(absl::IsInternal(ParseObject<ConfigMap>({{"a", 1}}).status()));
  EXPECT_TRUE(absl::IsInternal(ParseObject<Namespace>(Json::array()).status()));
}

TEST(ObjectsTest, AWrongTypeIsAnError) {
  const char* const fields[] = {"/metadata",
                                "/metadata/namespace",
                                "/metadata/name",
                                "/metadata/uid",
                                "/metadata/resourceVersion",
                                "/metadata/labels",
                                "/metadata/labels/l",
                                "/metadata/annotations",
                                "/metadata/annotations/a",
                                "/metadata/finalizers",
                                "/metadata/finalizers/0",
                                "/data",
                                "/data/d",
                                "/binaryData",
                                "/binaryData/b",
                                "/immutable"};
  for (const char* field : fields) {
    Json json = WholeConfigMap();
    json.at(Json::json_pointer(field)) = 5;
    const absl::Status error = ParseObject<ConfigMap>(json).status();
    EXPECT_TRUE(absl::IsInternal(error)) << field << ": " << error;
    EXPECT_THAT(std::string(error.message()),
                HasSubstr("an object of the server: "))
        << field;
  }
}

TEST(ObjectsTest, NewerVersionsAreGreaterNumbers) {
  EXPECT_TRUE(IsNewer("10", "9"));
  EXPECT_FALSE(IsNewer("9", "10"));
  EXPECT_TRUE(IsNewer("12", "11"));
  EXPECT_FALSE(IsNewer("11", "12"));
  EXPECT_FALSE(IsNewer("12", "12"));
  // More than 64 bits.
  EXPECT_TRUE(IsNewer("100000000000000000001", "100000000000000000000"));
}

TEST(ObjectsTest, Keys) {
  ObjectMeta meta;
  meta.name = "it";
  EXPECT_EQ(KeyOf(meta), "it");
  meta.ns = "ns";
  EXPECT_EQ(KeyOf(meta), "ns/it");
}

TEST(ObjectsTest, Find) {
  const StringMap map = {{"a", "1"}, {"b", ""}};
  ASSERT_NE(Find(map, "a"), nullptr);
  EXPECT_EQ(*Find(map, "a"), "1");
  ASSERT_NE(Find(map, "b"), nullptr);
  EXPECT_EQ(*Find(map, "b"), "");
  EXPECT_EQ(Find(map, "c"), nullptr);
}

TEST(ObjectsTest, PathsOfTheResources) {
  const auto config_map = ObjectPath(ResourceOf<ConfigMap>(), {"ns", "it"});
  ASSERT_TRUE(config_map.ok()) << config_map.status();
  EXPECT_EQ(*config_map, "/api/v1/namespaces/ns/configmaps/it");
  const auto ns = ObjectPath(ResourceOf<Namespace>(), {"", "it"});
  ASSERT_TRUE(ns.ok()) << ns.status();
  EXPECT_EQ(*ns, "/api/v1/namespaces/it");
}

}  // namespace
}  // namespace kubernetes::objects_test
