"""Put uPlot, which draws the charts of reports, beside the code that needs it: `python python/uplot.py`.

It is taken from npm's registry in the version that is named here, and only if it is what that version was.
"""

import base64
import hashlib
import io
import sys
import tarfile
import urllib.request
from pathlib import Path

VERSION = "1.6.32"
DIGEST = "KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw=="
URL = f"https://registry.npmjs.org/uplot/-/uplot-{VERSION}.tgz"
FILES = {
    "package/dist/uPlot.iife.min.js": "uPlot.iife.min.js",
    "package/dist/uPlot.min.css": "uPlot.min.css",
    "package/LICENSE": "uPlot.LICENSE",
}


def main() -> None:
    """Fetch, check and unpack."""
    with urllib.request.urlopen(URL, timeout=60) as answer:
        content = answer.read()
    digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
    if digest != DIGEST:
        sys.exit(f"{URL} is not what uPlot {VERSION} was: its SHA-512 is {digest}")
    folder = Path(__file__).parent / "tailrace" / "reports" / "uplot"
    folder.mkdir(exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for name, target in FILES.items():
            member = archive.extractfile(name)
            assert member is not None, name
            (folder / target).write_bytes(member.read())


main()
