#!/usr/bin/env python3
"""Scrapes the URL that is given, as Prometheus does.

Prints the metrics in Prometheus' text format, as its client library for Python
has understood them. Where that is not installed, prints what the server sent,
unless REQUIRE_PROMETHEUS_CLIENT is set.
"""

import os
import sys
import urllib.request

try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    if os.environ.get("REQUIRE_PROMETHEUS_CLIENT"):
        raise
    text_string_to_metric_families = None


def main(url):
    # Ignore a proxy from the environment, because it cannot reach this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=60) as response:
        text = response.read().decode()
    if text_string_to_metric_families is None:
        print(text, end="")
        return
    for family in text_string_to_metric_families(text):
        suffix = "_total" if family.type == "counter" else ""
        print("# TYPE %s%s %s" % (family.name, suffix, family.type))
        for sample in family.samples:
            labels = ",".join('%s="%s"' % label
                              for label in sample.labels.items())
            print("%s{%s} %r" % (sample.name, labels, sample.value))


if __name__ == "__main__":
    main(sys.argv[1])
