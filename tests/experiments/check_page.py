"""Opens a page as a reader would: check_page.py html|browser|clicks PAGE [PICTURE-STEM], or check_page.py watch PROGRAM
FOLDER. Exits with 1 and says what is wrong, or with 77 if something that it needs is not installed.

html:    html5lib finds no parse error, and the page loads nothing from elsewhere.
browser: in headless Chromium, 1280 and 400 pixels wide, the console is empty and nothing scrolls sideways; the page
         prints on at most two pages.
clicks:  every control of the chart does what it says.
watch:   `PROGRAM watch FOLDER` serves its page to those who know the address, and writes nothing.
"""
import base64
import json
import math
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request


def check_html(path):
    try:
        import html5lib
    except ImportError:
        sys.exit(77)
    text = path.read_text(encoding="utf-8")
    parser = html5lib.HTMLParser()
    parser.parse(text)
    errors = [f"{position}: {code} {data}" for position, code, data in parser.errors]
    ids = re.findall(r'\bid=["\']([^"\']+)', text)
    errors += [f"id twice: {name}" for name in sorted(set(ids)) if ids.count(name) > 1]
    errors += [f"loads {link}" for link in re.findall(r'(?:src|href)\s*=\s*["\']((?!#|data:)[^"\']+)', text)]
    return errors


def browser():
    """Returns headless Chromium."""
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        sys.exit(77)
    if not shutil.which("chromedriver") or not shutil.which("chromium"):
        sys.exit(77)
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


def console(driver):
    return [f"console: {entry['message']}" for entry in driver.get_log("browser")]


def check_browser(path, stem):
    driver = browser()
    errors = []
    try:
        for width in (1280, 400):
            # Chromium makes no window narrower than 500 pixels, but an emulated device can be.
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                   {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
            driver.get(path.absolute().as_uri())
            window, inner, whole = driver.execute_script(
                "const page = document.documentElement; return [innerWidth, page.clientWidth, page.scrollWidth]")
            if whole > inner:
                errors.append(f"at {width} pixels the page is {whole} wide, the window {inner}")
            if window != width:
                errors.append(f"the window is {window} wide, not {width}")
            errors += [f"console at {width} pixels: {entry['message']}" for entry in driver.get_log("browser")]
            if stem:
                driver.save_screenshot(f"{stem}-{width}.png")
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
        printed = len(re.findall(rb"/Type\s*/Page\b", pdf))
        if not 1 <= printed <= 2:
            errors.append(f"prints on {printed} pages")
    finally:
        driver.quit()
    return errors


class Chart:
    """The chart of a page, as a reader sees it."""

    def __init__(self, driver):
        self.driver = driver
        self.errors = []

    def run(self, script):
        return self.driver.execute_script(script)

    def lines(self):
        return int(self.run("return document.documentElement.dataset.drawn || '0'"))

    def pixels(self):
        return self.run("return [...document.querySelectorAll('#chart-box canvas')].map(c => c.toDataURL()).join()")

    def click(self, name, lines=None, changes=True):
        """Clicks a control. The chart then has to have `lines` lines, if that is given, and look different."""
        before = self.pixels()
        self.driver.find_element("id", name).click()
        if lines is not None and self.lines() != lines:
            self.errors.append(f"after a click on {name} there are {self.lines()} lines, not {lines}")
        if changes and self.pixels() == before:
            self.errors.append(f"a click on {name} changes nothing")


def at(xs, values, x, place):
    """Reads a line at x, between two of its points; `place` is where the axis draws an x."""
    if len(xs) == 1:
        return values[0]
    after = next((i for i in range(1, len(xs)) if xs[i] >= x), len(xs) - 1)
    share = (place(x) - place(xs[after - 1])) / (place(xs[after]) - place(xs[after - 1]))
    return values[after - 1] + min(1, max(0, share)) * (values[after] - values[after - 1])


def check_reading(chart, data, log):
    """The values under the mouse are those of the lines that are drawn there, on a linear or a logarithmic axis."""
    bytes_axis = next(number for number, axis in enumerate(data["axes"]) if axis["kind"] == "bytes")
    chart.run(f"const s = document.getElementById('axis'); s.value = {bytes_axis}; s.onchange()")
    from selenium.webdriver.common.action_chains import ActionChains
    area = chart.driver.find_element("css selector", "#chart-box canvas")
    left = 80 - area.size["width"] // 2 if log else 0  # near the start, where some lines may not have begun

    def read(across, up):
        ActionChains(chart.driver).move_to_element_with_offset(area, across, -up).perform()
        text = chart.driver.find_element("id", "chart-legend").text
        return re.search(r"bytes sent per worker ([\d.]+) ([TGMkmµ]?)B", text), text

    third = area.size["height"] // 3
    for across in range(-300, 301, 100):
        places = {text.partition("B ")[0] for _, text in (read(across, up) for up in (third, 0, -third))}
        if len(places) > 1:
            chart.errors.append(f"the height of the mouse turns its place: {places}")
    place, text = read(left, 0)
    if not place:
        chart.errors.append(f"the legend does not say where the mouse is: {text}")
        return
    x = float(place[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[place[2]]
    for arm in data["arms"]:
        value = re.search(rf"■ *{re.escape(arm['name'])}: ([-+.\de]+)", text)
        drawn = {place: loss for place, loss in zip(arm["x"][bytes_axis], arm["mean"])
                 if loss is not None and (place > 0 or not log)}
        if not value:
            continue
        if x < 0.999 * min(drawn):
            chart.errors.append(f"{arm['name']} reads {value[1]} at {x} bytes, where it has no line")
        elif abs(float(value[1]) - at(list(drawn), list(drawn.values()), x, math.log if log else float)) > 0.01 * abs(float(value[1])):
            chart.errors.append(f"{arm['name']} reads {value[1]} at {x} bytes")


Y_LABELS = "return [...document.querySelectorAll('.dygraph-axis-label-y')].map((each) => Number(each.textContent))"


def check_direction(chart):
    """The labels of the y axis grow upwards."""
    places = chart.run(
        "return [...document.querySelectorAll('.dygraph-axis-label-y')]"
        ".map((each) => [each.getBoundingClientRect().top, Number(each.textContent)])"
    )
    labels = [label for _, label in sorted(places, reverse=True)]
    if labels != sorted(labels):
        chart.errors.append(f"the labels of the y axis are, upwards, {labels}")


def check_fit(chart, heights):
    """After a zoom along x that leaves out the steep beginning of the curves, the y axis ends lower."""
    after = chart.run(Y_LABELS)
    check_direction(chart)
    if max(after) >= max(heights):
        chart.errors.append(f"the y axis ends at {max(after)} after a zoom, at {max(heights)} before")


def check_kept_zoom(chart):
    """Arms, also the only one, are switched off and on without losing the zoom."""
    labels = "return [...document.querySelectorAll('.dygraph-axis-label-x')].map((each) => each.textContent).join(' ')"
    zoomed = chart.run(labels)
    chart.driver.find_element("css selector", "#arms input:not(:checked):not(:disabled), #arms input:checked").click()
    if chart.lines() and chart.run(labels) != zoomed:
        chart.errors.append(f"a click on an arm turns the axis from {zoomed} to {chart.run(labels)}")
    chart.run("document.getElementById('best-arms').click()")
    if chart.run(labels) != zoomed:
        chart.errors.append(f"a click on best rates turns the axis from {zoomed} to {chart.run(labels)}")


def check_clicks(path, stem):
    driver = browser()
    try:
        driver.set_window_size(1280, 1000)
        driver.get(path.absolute().as_uri())
        chart = Chart(driver)
        data = json.loads(chart.run("return document.getElementById('curves').textContent"))
        arms, best = len(data["arms"]), sum(arm["best"] for arm in data["arms"])
        runs = sum(len(arm["runs"]) for arm in data["arms"] if arm["best"])
        if chart.lines() != best:
            chart.errors.append(f"at first there are {chart.lines()} lines, not {best}")
        check_direction(chart)
        for name in ("log-x", "log-x", "log-y", "log-y", "end-only", "end-only", "theme", "theme"):
            chart.click(name, best)
        if any(len(arm["runs"]) > 1 for arm in data["arms"]):
            chart.click("seeds", runs)
            chart.click("seeds", best)
        elif driver.find_element("id", "seeds").is_displayed():
            chart.errors.append("single seeds can be asked for where each arm has one")
        drawable = sum(1 for arm in data["arms"] if arm["mean"])
        if arms > 1:
            chart.click("all-arms", drawable, drawable > best)
            chart.click("no-arms", 0)
            chart.click("best-arms" if best < arms else "all-arms", best)
        elif driver.find_element("id", "all-arms").is_displayed():
            chart.errors.append("all arms can be asked for where there is one")
        box = driver.find_element("css selector", "#arms input:checked")
        box.click()
        if chart.lines() != best - 1:
            chart.errors.append("a click on an arm does not hide it")
        driver.find_element("css selector", "#arms input:not(:checked)").click()
        for axis in range(len(data["axes"])):
            chart.run(f"const s = document.getElementById('axis'); s.value = {axis}; s.onchange()")
            label = chart.run("return document.querySelector('.dygraph-xlabel').textContent")
            if label != data["axes"][axis]["label"]:
                chart.errors.append(f"axis {axis} is {label}")
        check_reading(chart, data, log=False)
        driver.find_element("id", "log-x").click()
        check_reading(chart, data, log=True)
        driver.find_element("id", "log-x").click()
        from selenium.webdriver.common.action_chains import ActionChains
        area = driver.find_element("css selector", "#chart-box canvas")
        ActionChains(driver).move_to_element_with_offset(area, 60, 0).perform()
        if "move the mouse over" in driver.find_element("id", "chart-legend").text:
            chart.errors.append("the legend shows no values under the mouse")
        full, heights = chart.pixels(), chart.run(Y_LABELS)
        ActionChains(driver).move_to_element_with_offset(area, -100, 0).click_and_hold().move_by_offset(150, 0).release().perform()
        time.sleep(0.5)
        if chart.pixels() == full:
            chart.errors.append("dragging does not zoom")
        check_fit(chart, heights)
        check_kept_zoom(chart)
        chart.click("reset")
        for link in driver.find_elements("css selector", "#front a[href^='#']"):
            link.click()
            if not driver.find_element("id", link.get_attribute("href").rpartition("#")[2]).get_attribute("open"):
                chart.errors.append(f"{link.text} does not open")
            chart.run("document.querySelectorAll('details').forEach((part) => { part.open = false; })")
        for part in driver.find_elements("css selector", "details > summary"):
            part.click()
            if not part.find_element("xpath", "..").get_attribute("open"):
                chart.errors.append(f"{part.text} does not open")
        if len(data["arms"]) != arms:
            chart.errors.append("arms were lost")
        if stem:
            driver.save_screenshot(f"{stem}-clicks.png")
        return chart.errors + console(driver)
    finally:
        driver.quit()


def files_of(folder):
    return sorted((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*"))


def status_of(address):
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def check_watch(program, logs):
    driver, errors = browser(), []
    folder, later = pathlib.Path("watched"), sorted(logs.glob("*.h5"))
    folder.mkdir()
    shutil.copy(later[0], folder)
    server = subprocess.Popen([program, "watch", str(folder), "missing.h5"], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip()
        if not re.fullmatch(r"http://127\.0\.0\.1:\d+/[0-9a-f]{32}/", address):
            errors.append(f"not an address with a token: {address}")
        root = address.rsplit("/", 2)[0]
        for wrong in (f"{root}/", f"{root}/{'0' * 32}/", f"{address}other"):
            if status_of(wrong) != 404:
                errors.append(f"{wrong} is served")
        driver.get(address)
        for _ in range(100):
            if driver.execute_script("return Number(document.documentElement.dataset.updates || 0)") > 0:
                break
            time.sleep(0.1)
        if Chart(driver).lines() == 0 or "finished" not in driver.find_element("id", "status").text:
            errors.append("the page shows no curves or no progress")
        first = Chart(driver).lines()
        for log in later[1:]:
            shutil.copy(log, folder)
        before = files_of(folder)
        for _ in range(200):
            if Chart(driver).lines() > first:
                break
            time.sleep(0.1)
        if Chart(driver).lines() <= first:
            errors.append("the page does not grow with its folder")
        errors += console(driver)
        server.send_signal(signal.SIGINT)
        if server.wait(timeout=20) != 0:
            errors.append(f"exit status {server.returncode}")
        if files_of(folder) != before:
            errors.append("something was written")
        return errors
    finally:
        server.kill()
        driver.quit()


def main():
    kind, path, last = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""
    if kind == "watch":
        errors = check_watch(path, pathlib.Path(last))
    else:
        errors = {"html": lambda page, _: check_html(page), "browser": check_browser, "clicks": check_clicks}[kind](path, last)
    print("\n".join(errors))
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
