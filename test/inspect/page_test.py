#!/usr/bin/env python3
"""Reads the inspection page in a real browser, headless Chromium.

Usage: test/inspect/page_test.py [--screenshots FOLDER] PROGRAM

PROGRAM is //test/inspect:page_server. With --screenshots, writes pictures of the
pages, light and dark, into FOLDER. Needs Debian's packages chromium,
chromium-driver and python3-selenium.
"""

import argparse
import pathlib
import re
import signal
import subprocess
import sys
import unittest

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

ARGUMENTS = None


def start_browser(javascript=True):
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--window-size=1200,1400",
                     "--disable-dev-shm-usage"):
        options.add_argument(argument)
    if not javascript:
        options.add_experimental_option(
            "prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"),
                            options=options)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen([ARGUMENTS.program], text=True,
                                      stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)
        cls.url = cls.server.stdout.readline().strip()
        cls.browser = start_browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.communicate(timeout=60)
        assert cls.server.returncode == 0, cls.server.returncode

    def setUp(self):
        self.browser.get(self.url)

    def tearDown(self):
        # An error of the policy or of the script is in the log.
        self.assertEqual(self.browser.get_log("browser"), [])
        self.assertIsNone(
            self.browser.execute_script("return window.pwned || null"))

    def text(self, selector="main"):
        """Returns the text of an element; empty while a page loads."""
        # At once, because the page may refresh itself meanwhile.
        return self.browser.execute_script(
            "return document.querySelector(arguments[0])?.innerText ?? ''",
            selector)

    def wait_for(self, condition, browser=None):
        WebDriverWait(browser or self.browser, 60).until(lambda _: condition())

    def use(self, by, what, action):
        """Does `action` to the element. The page may replace the element by a
        new one at any time, until the user is in it."""
        wait = WebDriverWait(self.browser, 60, ignored_exceptions=[
            StaleElementReferenceException])
        wait.until(
            lambda browser: (action(browser.find_element(by, what)), True)[1])

    def click(self, by, what):
        self.use(by, what, lambda element: element.click())

    def follow(self, text):
        self.click(By.PARTIAL_LINK_TEXT, text)

    def find(self, key):
        self.use(By.CSS_SELECTOR, "input[name=key]",
                 lambda element: element.send_keys(key))

    def shot(self, name):
        if ARGUMENTS.screenshots is None:
            return
        for scheme in ("light", "dark"):
            self.browser.execute_cdp_cmd(
                "Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme",
                               "value": scheme}]})
            path = ARGUMENTS.screenshots / ("%s-%s.png" % (name, scheme))
            self.browser.save_screenshot(str(path))

    def test_overview_tells_what_is_stuck(self):
        # Five failures take a second and a half.
        self.wait_for(lambda: "shop/fails has failed" in self.text())
        text = self.text()
        self.assertIn("Needs attention", text)
        self.assertIn("All 4 workers are busy", text)
        self.assertIn("no pod <shop/fails>", text)
        self.assertRegex(text, r'"flood" has \d+ of the next \d+ queued items')
        self.assertIn("<b>idle</b>", text)
        self.shot("overview")

    def test_page_of_the_controller_tells_who_hangs_and_who_fails(self):
        self.follow("orders")
        text = self.text()
        for heading in ("Processing", "Failing", "Groups", "Queued", "Waiting",
                        "History"):
            self.assertIn(heading, text)
        # At once, because the page may refresh itself meanwhile.
        rows = self.browser.execute_script(
            "return [...document.querySelectorAll('tr')].map(r => r.innerText)")
        self.assertTrue(any(row.startswith("shop/hangs") for row in rows))
        self.assertTrue(any(row.startswith("flood") and "%" in row
                            for row in rows))
        self.assertTrue(any(re.match(r"shop/hangs.*\d\d:\d\d:\d\d UTC", row)
                            for row in rows))
        self.assertTrue(any(re.match(
            r"group bank\s+2 of at most 2\s+wait for these:\s+"
            "bank/hangs-1 bank/hangs-2", row) for row in rows))
        self.assertRegex(text, r"and 1,\d\d\d more")
        self.assertRegex(text, r"max failures\s+1000")
        self.shot("controller")

    def test_key_page_tells_the_history(self):
        self.follow("orders")
        self.find("shop/fails\n")
        self.wait_for(lambda: self.text("h2.key"))
        text = self.text()
        self.assertRegex(text, r"Has failed \d+ times")
        self.assertRegex(text, r"failed after .*: NOT_FOUND: no pod <shop/fails>")
        self.assertIn("handed out", text)
        self.assertIn("retry", text)
        self.shot("key")

    def test_key_page_tells_what_a_group_at_its_bound_waits_for(self):
        self.browser.get(self.url + "?name=orders&key=bank%2Fnext")
        self.assertIn("Held back: group bank is at its bound of 2. It waits for "
                      "bank/hangs-1 bank/hangs-2", self.text())
        self.shot("held-back")

    def test_refreshes_itself_without_a_reload(self):
        self.follow("orders")
        self.browser.execute_script("window.sameDocument = true")
        self.assertNotIn("shop/fresh", self.text())
        self.browser.execute_script("window.scrollTo(0, 200)")
        self.server.stdin.write("shop/fresh\n")
        self.server.stdin.flush()
        self.wait_for(lambda: "shop/fresh" in self.text())
        self.assertTrue(
            self.browser.execute_script("return window.sameDocument"))
        self.assertEqual(
            self.browser.execute_script("return window.scrollY"), 200)

    def test_says_since_when_a_stopped_process_is_silent(self):
        self.wait_for(lambda: self.text("#refresh").startswith("updated "))
        self.browser.execute_script("""
            const real = window.fetch;
            window.pending = window.mostPending = 0;
            window.fetch = (...args) => {
              mostPending = Math.max(mostPending, ++pending);
              return real(...args).finally(() => --pending);
            };""")
        self.server.send_signal(signal.SIGSTOP)
        try:
            self.wait_for(lambda: re.match(r"no answer since \d+:\d\d:\d\d",
                                           self.text("#refresh")))
            self.assertEqual(
                self.browser.execute_script("return mostPending"), 1)
        finally:
            self.server.send_signal(signal.SIGCONT)
        self.wait_for(lambda: self.text("#refresh").startswith("updated "))

    def test_does_not_refresh_what_the_user_writes(self):
        self.follow("orders")
        self.find("shop/")
        self.wait_for(lambda: self.text("#refresh") == "paused")
        field = self.browser.find_element(By.CSS_SELECTOR, "input[name=key]")
        self.assertEqual(field.get_attribute("value"), "shop/")

    def test_keys_with_markup_are_text(self):
        self.follow("orders")
        self.follow("window.pwned")
        self.wait_for(lambda: self.text("h2.key"))
        heading = self.text("h2.key")
        self.assertIn("<script>window.pwned = 1</script>", heading)
        self.assertIn(r"\n\001\377&amp;", heading)
        self.assertRegex(self.text(), r"Has failed \d+ time")
        # A link and a form have led to the right item.
        self.assertEqual(
            self.browser.find_elements(By.CSS_SELECTOR, "main img"), [])

    def test_loads_nothing_from_elsewhere(self):
        self.follow("orders")
        loaded = self.browser.execute_script(
            "return performance.getEntriesByType('resource').map(e => e.name)")
        for name in loaded:
            self.assertTrue(name.startswith(self.url), name)

    def test_cancels_and_requeues_an_item(self):
        self.browser.get(self.url + "?name=orders&key=shop%2Flater")
        self.assertIn("Waiting for another 59m", self.text())
        button = "//button[text()='%s']"
        self.click(By.XPATH, button % "Cancel waiting")
        self.wait_for(lambda: "Not in the queue" in self.text())
        self.click(By.XPATH, button % "Requeue now")
        self.wait_for(lambda: "Queued for" in self.text())
        self.click(By.XPATH, button % "Forget failures")
        self.wait_for(lambda: "Queued for" in self.text())

    def test_reads_without_javascript(self):
        browser = start_browser(javascript=False)
        try:
            browser.get(self.url)
            browser.find_element(By.PARTIAL_LINK_TEXT, "orders").click()
            text = browser.find_element(By.TAG_NAME, "main").text
            self.assertIn("shop/hangs", text)
            self.assertIn("History", text)
            note = browser.find_element(By.ID, "refresh")
            self.assertEqual(note.text, "")
        finally:
            browser.quit()


def main():
    global ARGUMENTS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("program")
    ARGUMENTS, rest = parser.parse_known_args()
    if ARGUMENTS.screenshots is not None:
        ARGUMENTS.screenshots.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0]] + rest)


if __name__ == "__main__":
    main()
