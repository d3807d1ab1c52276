// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/internal/page_style.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_INTERNAL_PAGE_STYLE_H_
#define WORKQUEUE_INSPECT_INTERNAL_PAGE_STYLE_H_

#include "workqueue/inspect/internal/html.h"

namespace workqueue {
namespace internal {

// Returns the style sheet of all pages, for light and dark screens.
Html PageStyle();

// Returns the script of all pages. It loads the page again every two seconds,
// and replaces the content, unless the user is writing into a form.
Html PageScript();

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INTERNAL_PAGE_STYLE_H_
