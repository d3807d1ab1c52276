// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/page_style.h"

#include "workqueue/inspect/internal/html.h"

namespace workqueue {
namespace internal {

Html PageStyle() {
  Html html;
  html.Markup(R"css(
:root {
  color-scheme: light dark;
  --text: #1d2733; --dim: #5c6b7a; --line: #d9dfe5; --back: #ffffff;
  --panel: #f4f6f8; --link: #0b57c2; --good: #19713a; --bad: #b3261e;
  --queued: #0b57c2; --waiting: #8a98a6; --failing: #c2410c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e3e8ee; --dim: #98a5b3; --line: #333d48; --back: #14191f;
    --panel: #1d242c; --link: #7fb2ff; --good: #66cc8a; --bad: #ff8f85;
    --queued: #7fb2ff; --waiting: #6b7886; --failing: #ff9b5e;
  }
}
body {
  margin: 0 auto; padding: 0 1rem 3rem; max-width: 75rem;
  font: 15px/1.45 system-ui, sans-serif;
  color: var(--text); background: var(--back);
}
header { padding: .8rem 0; border-bottom: 1px solid var(--line); }
header a { font-weight: 600; }
#refresh { float: right; color: var(--dim); }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
h1 { font-size: 1.5rem; margin: 1rem 0 .5rem; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .4rem; }
.kind, .count { color: var(--dim); font-size: .85rem; font-weight: 400; }
.key { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td {
  text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere;
}
th {
  color: var(--dim); font-weight: 500; font-size: .85rem; white-space: nowrap;
}
.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.good { color: var(--good); }
.bad { color: var(--bad); }
.note { background: var(--panel); border-radius: 3px; padding: 0 .3rem; }
.findings, .state { padding: .6rem 1rem .6rem 2rem; background: var(--panel); }
.findings { border-left: 4px solid var(--bad); }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; }
dt { color: var(--dim); font-size: .85rem; }
dd { margin: 0; }
.actions { display: flex; gap: .5rem; margin: .5rem 0; }
.plot { width: 160px; height: 38px; overflow: visible; }
.plot polyline, .legend line {
  fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke;
}
.queued { stroke: var(--queued); }
.waiting { stroke: var(--waiting); }
.failing { stroke: var(--failing); }
)css");
  return html;
}

Html PageScript() {
  Html html;
  html.Markup(R"js(
'use strict';
const note = document.getElementById('refresh');
async function refresh() {
  const main = document.querySelector('main');
  const active = document.activeElement;
  if (document.hidden || active.matches('main input')) {
    note.textContent = 'paused';
    return;
  }
  try {
    // A request that does not accept HTML gets text.
    const response = await fetch(
        location.href, {cache: 'no-store', headers: {Accept: 'text/html'}});
    const text = await response.text();
    // Only the content: the policy forbids the style of another response.
    const content = text.slice(text.indexOf('<main>'),
                               text.indexOf('</main>'));
    const page = new DOMParser().parseFromString(content, 'text/html');
    main.replaceWith(page.querySelector('main'));
    note.textContent = 'updated ' + new Date().toLocaleTimeString();
  } catch (error) {
    note.textContent = 'no answer since the last update';
  }
}
setInterval(refresh, 2000);
note.textContent = 'refreshes every 2 s';
)js");
  return html;
}

}  // namespace internal
}  // namespace workqueue
