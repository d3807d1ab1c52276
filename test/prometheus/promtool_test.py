#!/usr/bin/env python3
"""Lets promtool check the alerts, their examples, and the queries of the dashboard.

promtool must be in the PATH. Debian's package prometheus has it.
"""

import json
import pathlib
import subprocess
import tempfile
import unittest

FOLDER = (pathlib.Path(__file__).resolve().parent.parent.parent
          / "workqueue/prometheus")


def promtool(*arguments):
    """Returns whether promtool finds no fault, and its output."""
    result = subprocess.run(["promtool", *arguments], capture_output=True,
                            text=True, check=False)
    return result.returncode == 0, result.stdout + result.stderr


def queries():
    dashboard = json.loads((FOLDER / "grafana_dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def with_variables(query):
    for variable, value in (("$__rate_interval", "5m"), ("$job", ".*"),
                            ("$name", ".*")):
        query = query.replace(variable, value)
    return query


class PromtoolTest(unittest.TestCase):

    def assert_good(self, *arguments):
        good, output = promtool(*arguments)
        self.assertTrue(good, output)

    def check_query(self, query):
        """Returns what promtool says of a query of the dashboard."""
        rule = {"record": "x", "expr": with_variables(query)}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            # JSON is YAML.
            json.dump({"groups": [{"name": "x", "rules": [rule]}]}, file)
            file.flush()
            return promtool("check", "rules", file.name)

    def test_alerts(self):
        self.assert_good("check", "rules", str(FOLDER / "alerts.yaml"))

    def test_examples_of_alerts(self):
        self.assert_good("test", "rules", str(FOLDER / "alerts_test.yaml"))

    def test_dashboard(self):
        count = 0
        for title, query in queries():
            good, output = self.check_query(query)
            self.assertTrue(good, f"{title}: {output}")
            count += 1
        self.assertGreater(count, 20)

    def test_numbers_of_items(self):
        # Three processes share a queue, of which each tells the whole, and have
        # another one each, of which one has priorities. A fourth is cut off, and
        # tells what was before.
        series = []
        for instance, unreachable, number in (
                ("a", 0, 1000), ("b", 0, 1000), ("c", 0, 1000), ("d", 60, 5000)):
            of = f'{{job="j",instance="{instance}",name='
            series += [
                (f'workqueue_engine_unreachable_seconds{of}"shared"}}', unreachable),
                (f'NUMBER{of}"shared"}}', number),
                (f'workqueue_engine_unreachable_seconds{of}"away"}}', 60),
                (f'NUMBER{of}"away"}}', number), (f'NUMBER{of}"own"}}', 10)]
        series.append(('NUMBER{job="j",instance="a",name="own",priority="1"}', 1))
        metrics = {"workqueue_depth": 41, "workqueue_waiting_items": 41,
                   "workqueue_failing_items": 41,
                   "workqueue_oldest_queued_seconds": 10,
                   "workqueue_parked_items": 10}
        tests = [{
            "interval": "1m", "input_series": [
                {"series": name.replace("NUMBER", metric), "values": str(value)}
                for name, value in series],
            "promql_expr_test": [{
                "eval_time": "0m", "expr": with_variables(query),
                "exp_samples": [{"labels": '{name="own"}', "value": own},
                                {"labels": '{name="shared"}', "value": 1000}]}]}
            for metric, own in metrics.items()
            for _, query in queries() if metric in query]
        self.assertEqual(len(tests), len(metrics))
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump({"tests": tests}, file)
            file.flush()
            self.assert_good("test", "rules", file.name)

    def test_all_is_all(self):
        # A controller and an election have their own names, and a job need not have
        # a queue. Without a value, Grafana's "All" is the names that it has found.
        dashboard = json.loads((FOLDER / "grafana_dashboard.json").read_text())
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                self.assertEqual(variable.get("allValue"), ".*", variable["name"])

    def test_a_wrong_query_is_found(self):
        self.assertFalse(self.check_query("sum by (name) (")[0])

    def test_panels_do_not_overlap(self):
        dashboard = json.loads((FOLDER / "grafana_dashboard.json").read_text())
        cells = set()
        for panel in dashboard["panels"]:
            at = panel["gridPos"]
            for x in range(at["x"], at["x"] + at["w"]):
                for y in range(at["y"], at["y"] + at["h"]):
                    self.assertNotIn((x, y), cells, panel["title"])
                    cells.add((x, y))
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))


if __name__ == "__main__":
    unittest.main()
