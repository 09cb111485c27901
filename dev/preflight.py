"""What a build needs, looked at before minutes are spent: ``python3 dev/preflight.py``.

With ``--failed`` the same after a build that failed: a disk that is full, crates or packages that
cannot be fetched. Each thing that is missing is one line that names the remedy. The syntax is that
of Python 3.6, so that older ones get the line, too.
"""

import os
import re
import shutil
import subprocess
import sys

PYTHON = (3, 11)
"""The oldest Python that the package runs on."""
DISK = 6
"""GiB that a release build with its tools takes, with some to spare."""


def output(*command):
    """What a program prints; nothing where it cannot be started."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def oldest_rust(root):
    """The oldest compiler that the workspace takes, as its manifest has it."""
    with open(os.path.join(root, "Cargo.toml"), encoding="utf-8") as file:
        return tuple(
            int(part) for part in re.search(r'rust-version = "([\d.]+)"', file.read()).group(1).split(".")
        )


def rust(root):
    """A line if there is no compiler of Rust, or an old one."""
    needed = oldest_rust(root)
    text = ".".join(map(str, needed))
    found = re.search(r"rustc (\d+)\.(\d+)", output("rustc", "--version"))
    if not found or not output("cargo", "--version"):
        return (
            "Rust is missing: install rustc and cargo {} or newer, with https://rustup.rs for example".format(
                text
            )
        )
    version = tuple(map(int, found.groups()))
    if version < needed[:2]:
        return "Rust {}.{} is too old: {} or newer is needed (rustup update)".format(
            version[0], version[1], text
        )
    return None


def python():
    """A line if this Python is too old, or cannot make virtual environments."""
    if sys.version_info < PYTHON:
        have = "{}.{}".format(*sys.version_info[:2])
        return "Python {} is too old: 3.11 or newer is needed (make PYTHON=python3.12, for example)".format(
            have
        )
    if not output(sys.executable, "-c", "import ensurepip, venv; print(venv)"):
        return "Python's venv is missing: apt-get install python3-venv, or your system's package of that name"
    return None


def compiler():
    """A line if there is no C compiler that works."""
    name = os.environ.get("CC", "cc")
    if output(name, "--version"):
        return None
    return "a C compiler is missing ({}): apt-get install gcc, or set CC to yours".format(name)


def disk(root):
    """A line if the disk has too little room for what is not built yet."""
    if os.path.exists(os.path.join(root, "target", "release", "deps")):
        return None
    target = os.environ.get("CARGO_TARGET_DIR", root)
    while not os.path.exists(target):
        target = os.path.dirname(target) or "/"
    free = shutil.disk_usage(target).free / 2**30
    if free >= DISK:
        return None
    return (
        "the disk of {} has {:.1f} GiB free, and a build takes {}: make room, or set CARGO_TARGET_DIR".format(
            target, free, DISK
        )
    )


def agent():
    """A line if some, but not all, of what the host agent is built with is there."""
    has = {
        "clang": bool(shutil.which("clang-19") or shutil.which("clang")),
        "protoc": bool(shutil.which("protoc")),
    }
    for library in ("libelf", "zlib"):
        has[library] = (
            subprocess.call(["pkg-config", "--exists", library]) == 0 if shutil.which("pkg-config") else False
        )
    missing = [name for name in sorted(has) if not has[name]]
    if not has["clang"] or not missing:
        return None
    return "note: {} missing, so the host agent is not built: make programs installs what it takes".format(
        " and ".join(missing) + (" is" if len(missing) == 1 else " are")
    )


def full_disk(root):
    """A line if the disk that is built on has no room left."""
    folder = os.environ.get("CARGO_TARGET_DIR", root)
    folder = folder if os.path.exists(folder) else root
    if shutil.disk_usage(folder).free > 2**28:
        return None
    line = "the disk of {} is full: make room, or set CARGO_TARGET_DIR; the same command goes on then"
    return line.format(folder)


def crates(root):
    """A line if the crates are not all here, and cannot be fetched."""
    fetch = ["cargo", "fetch", "--quiet", "--locked", "--manifest-path", os.path.join(root, "Cargo.toml")]
    host = re.search(r"host: (\S+)", output("rustc", "-vV"))
    fetch += ["--target", host.group(1)] if host else []
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if subprocess.call(fetch + ["--offline"], **quiet) == 0 or subprocess.call(fetch, **quiet) == 0:
        return None
    return "crates cannot be fetched: connect to the network once, or set a mirror in ~/.cargo/config.toml"


def main():
    """Prints what is missing; exit status 1 if nothing can be built."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if "--failed" in sys.argv[1:]:
        for line in filter(None, (full_disk(root), crates(root))):
            print("error: " + line, file=sys.stderr)
        return 1
    wrong = [line for line in (python(), rust(root), compiler(), disk(root)) if line]
    for line in wrong:
        print("error: " + line, file=sys.stderr)
    note = None if wrong else agent()
    if note:
        print(note, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
