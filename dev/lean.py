"""The simulating half needs no crate that is for Linux only: ``python3 dev/lean.py``.

It looks at ``cargo tree``.
"""

from __future__ import annotations

import re
import subprocess
import sys

TREES = {
    "tailrace-experiment": [],
    "tailrace-cli": ["--no-default-features"],
    "tailrace-python": ["--no-default-features"],
}
LINUX_ONLY = re.compile(
    r"^(tailrace-(agent|bpf|linux|live|proxy)|libbpf.*|etcd-client|tonic|tokio|inotify.*|caps|rtnetlink|netlink.*|procfs.*)$"
)


def crates(package: str, options: list[str]) -> set[str]:
    """All that a package depends on, tests aside."""
    command = [
        "cargo",
        "tree",
        "--locked",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--package",
        package,
        *options,
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {line.split()[0] for line in done.stdout.splitlines() if line}


def main() -> int:
    """Prints each crate that should not be there; exit status 1 if there is one."""
    status = 0
    for package, options in TREES.items():
        found = crates(package, options)
        assert len(found) > 10, f"{package} depends on {found}"
        wrong = sorted(name for name in found if LINUX_ONLY.fullmatch(name))
        print(f"{' '.join([package, *options])}: {len(found)} crates, {len(wrong)} for Linux only")
        for name in wrong:
            print(f"  {name} is for Linux only, and the simulator must build without it")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
