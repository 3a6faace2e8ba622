"""Opens a page as a reader would: check_page.py html|browser PAGE [PICTURE-STEM]. Exits with 1 and says what is wrong, or
with 77 if something that it needs is not installed.

html:    html5lib finds no parse error, and the page loads nothing from elsewhere.
browser: in headless Chromium, 1280 and 400 pixels wide, the console is empty and nothing scrolls sideways.
"""
import pathlib
import re
import sys


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
    errors += [f"loads {link}" for link in re.findall(r'(?:src|href)\s*=\s*["\']((?!#)[^"\']+)', text)]
    return errors


def check_browser(path, stem):
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        sys.exit(77)
    import shutil
    if not shutil.which("chromedriver") or not shutil.which("chromium"):
        sys.exit(77)
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
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
    finally:
        driver.quit()
    return errors


def main():
    kind, path, stem = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""
    errors = check_html(path) if kind == "html" else check_browser(path, stem)
    print("\n".join(errors))
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
