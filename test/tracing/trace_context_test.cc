// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/tracing/trace_context.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace workqueue::trace_context_test {
namespace {

// The example of the recommendation.
constexpr char kHeader[] =
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// Returns kHeader with `text` at `position`.
std::string With(size_t position, absl::string_view text) {
  return std::string(kHeader).replace(position, text.size(), text.data(),
                                      text.size());
}

// Returns the error of `header`.
std::string ErrorOf(const std::string& header) {
  const absl::Status status = ParseTraceParent(header).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(TraceContextTest, HasTwentyFiveBytes) {
  EXPECT_EQ(sizeof(TraceContext), 25u);
}

TEST(TraceContextTest, IsValidWithBothIds) {
  TraceContext context;
  EXPECT_FALSE(context.IsValid());
  context.trace_id[15] = 1;
  EXPECT_FALSE(context.IsValid());
  context.span_id[0] = 1;
  EXPECT_TRUE(context.IsValid());
  context.trace_id[15] = 0;
  EXPECT_FALSE(context.IsValid());
}

TEST(TraceContextTest, ComparesAllFields) {
  TraceContext a;
  EXPECT_EQ(a, TraceContext());
  TraceContext b = a;
  b.trace_id[3] = 1;
  EXPECT_NE(a, b);
  b = a;
  b.span_id[3] = 1;
  EXPECT_NE(a, b);
  b = a;
  b.flags = 1;
  EXPECT_NE(a, b);
}

TEST(TraceParentTest, IsReadAndWritten) {
  const absl::StatusOr<TraceContext> context = ParseTraceParent(kHeader);
  ASSERT_TRUE(context.ok()) << context.status();
  EXPECT_TRUE(context->IsValid());
  EXPECT_EQ(context->trace_id[0], 0x4b);
  EXPECT_EQ(context->trace_id[15], 0x36);
  EXPECT_EQ(context->span_id[0], 0x00);
  EXPECT_EQ(context->span_id[7], 0xb7);
  EXPECT_TRUE(context->sampled());
  EXPECT_EQ(ToTraceParent(*context), kHeader);
}

// A header of version 00 must have no others.
TEST(TraceParentTest, HasTheFlagsOfItsVersion) {
  absl::StatusOr<TraceContext> context =
      ParseTraceParent("cc" + With(53, "ff").substr(2) + "-more");
  ASSERT_TRUE(context.ok()) << context.status();
  EXPECT_EQ(context->flags, 0xff);
  EXPECT_EQ(ToTraceParent(*context), With(53, "03"));
  context = ParseTraceParent(With(53, "fe"));
  ASSERT_TRUE(context.ok()) << context.status();
  EXPECT_EQ(context->flags, 0xfe);
  EXPECT_FALSE(context->sampled());
  EXPECT_EQ(ToTraceParent(*context), With(53, "02"));
}

TEST(TraceParentTest, OfALaterVersionMayBeLonger) {
  for (const std::string& header :
       {With(0, "01"), With(0, "fe") + "-what-comes-later"}) {
    const absl::StatusOr<TraceContext> context = ParseTraceParent(header);
    ASSERT_TRUE(context.ok()) << context.status();
    EXPECT_EQ(ToTraceParent(*context), kHeader);
  }
  EXPECT_EQ(ErrorOf(With(0, "01") + ".later"),
            "traceparent is " + With(0, "01") + ".later; byte 55 must be '-'");
}

TEST(TraceParentTest, OfTheWrongLengthIsRefused) {
  EXPECT_EQ(ErrorOf(""), "traceparent is ; it must have 55 bytes, not 0");
  EXPECT_EQ(ErrorOf("00-4b"),
            "traceparent is 00-4b; it must have 55 bytes, not 5");
  EXPECT_EQ(ErrorOf(std::string(kHeader) + "-"),
            "traceparent is " + std::string(kHeader) +
                "-; in version 00 it must have 55 bytes, not 56");
}

TEST(TraceParentTest, WithoutADashIsRefused) {
  for (const size_t dash : {2, 35, 52}) {
    EXPECT_EQ(ErrorOf(With(dash, "0")), "traceparent is " + With(dash, "0") +
                                            "; byte " + std::to_string(dash) +
                                            " must be '-'");
  }
}

TEST(TraceParentTest, WithOtherDigitsIsRefused) {
  const std::string must = "; it must be lower-case hexadecimal digits";
  EXPECT_EQ(ErrorOf(With(0, "0g")), "version is 0g" + must);
  EXPECT_EQ(ErrorOf(With(3, "4B")),
            "trace-id is 4Bf92f3577b34da6a3ce929d0e0e4736" + must);
  EXPECT_EQ(ErrorOf(With(50, "\n")), "parent-id is 00f067aa0ba902\\n7" + must);
  EXPECT_EQ(ErrorOf(With(53, " 1")), "trace-flags is  1" + must);
}

TEST(TraceParentTest, WithAForbiddenValueIsRefused) {
  EXPECT_EQ(ErrorOf(With(0, "ff")), "version is ff; it is forbidden");
  const std::string zeros(32, '0');
  EXPECT_EQ(ErrorOf(With(3, zeros)),
            "trace-id is " + zeros + "; it must not be zero");
  EXPECT_EQ(ErrorOf(With(36, zeros.substr(16))),
            "parent-id is " + zeros.substr(16) + "; it must not be zero");
}

}  // namespace
}  // namespace workqueue::trace_context_test
