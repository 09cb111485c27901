"""Lists of checksums, as Rust writes them."""

import hashlib
from pathlib import Path


def list_checksums(folder: Path) -> None:
    """Makes a folder of results of whatever files are there."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name != "SHA256SUMS")
    lines = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    head = f"# SHA-256 of the lines below: {hashlib.sha256(lines.encode()).hexdigest()}\n"
    (folder / "SHA256SUMS").write_text(head + lines)
