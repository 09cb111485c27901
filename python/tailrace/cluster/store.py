"""Where workers leave runs that do not see the folder of results."""

from __future__ import annotations

import posixpath
import tempfile
import time
from pathlib import Path, PurePosixPath
from typing import Any

from tailrace import _tailrace
from tailrace.cluster.machines import NEEDED
from tailrace.errors import RunError, ScenarioError
from tailrace.files import reason

_TRIES = 5
"""How often a run is looked for that a worker has left."""
_AGAIN_SECONDS = 1.0


class Store:
    """Where workers leave runs if they do not see the folder of results: an address that fsspec knows."""

    _LAST = "SHA256SUMS"

    def __init__(self, address: str) -> None:
        protocol, separator, _ = address.partition("://")
        if not separator or protocol == "memory":
            known = "must be the same for all machines, such as s3://bucket/folder or file:///shared"
            raise ScenarioError(f'{known}, not "{address}"', "--store")
        self.address = address

    def _opened(self) -> tuple[Any, str]:
        try:
            from fsspec import url_to_fs
        except ImportError as error:
            raise RunError(NEEDED) from error
        try:
            files, path = url_to_fs(self.address)
        except (ImportError, ValueError) as error:
            raise ScenarioError(f'"{self.address}": {error}', "--store") from error
        return files, path

    def leave(self, made: Path, key: str) -> None:
        """Put a run there. Its checksums come last: without them it counts as missing."""
        files, path = self._opened()
        target = posixpath.join(path, key)
        try:
            files.makedirs(target, exist_ok=True)
            if files.exists(posixpath.join(target, self._LAST)):
                files.rm_file(posixpath.join(target, self._LAST))
            for name in sorted((file.name for file in made.iterdir()), key=lambda name: name == self._LAST):
                files.put_file(str(made / name), posixpath.join(target, name))
        except OSError as error:
            raise RunError(f"{self.address}: run {key} cannot be left there: {reason(error)}") from error

    def fetch_what_was_left(self, plan: _tailrace.Plan, index: int) -> None:
        """Take a run from there that a worker has made. Another sweep's may be leaving the same one."""
        for _ in range(_TRIES):
            if self.fetch(plan, index):
                return
            time.sleep(_AGAIN_SECONDS)
        missing = plan.entry(index).key
        raise RunError(f"{self.address} does not hold run {missing}, which a worker has left there")

    def fetch(self, plan: _tailrace.Plan, index: int) -> bool:
        """Take a run from there into the plan's folder; whether it was there, and whole."""
        files, path = self._opened()
        source = posixpath.join(path, plan.entry(index).key)
        try:
            if not files.exists(posixpath.join(source, self._LAST)):
                return False
            with tempfile.TemporaryDirectory() as scratch:
                for name in files.ls(source, detail=False):
                    files.get_file(name, str(Path(scratch, PurePosixPath(name).name)))
                return plan.take(index, scratch)
        except FileNotFoundError:
            return False
        except OSError as error:
            message = f"run {plan.entry(index).key} cannot be fetched from there: {reason(error)}"
            raise RunError(f"{self.address}: {message}") from error
