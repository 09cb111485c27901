"""Execute the example notebook, and store it with what it shows: `python docs/notebook.py`.

Its kernel runs in this interpreter's environment, reads none of the user's settings, and writes nothing that
is left. What Tailrace computes is the same each time, so all outputs that are texts are the same, too:
python/tests/test_notebook.py compares them.
"""

import asyncio
import os
import tempfile
from pathlib import Path
from unittest import mock

import matplotlib
import nbformat
from ipykernel.kernelspec import write_kernel_spec
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

FILE = Path(__file__).parents[1] / "examples" / "lab.ipynb"
KERNEL = "python3"
# What is stored of the kernel: that it is one of Python, and not of which version.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": KERNEL},
    "language_info": {"name": "python"},
}
# Beginnings of the names of variables that change what a kernel is, or what it shows.
SETTINGS = ("IPYTHON", "JUPYTER", "MATPLOTLIB", "MPL", "POLARS", "PYTEST", "PYTHONSTARTUP", "PYTHONWARNINGS")


def read() -> NotebookNode:
    """The notebook as it is stored."""
    return nbformat.read(FILE, as_version=4)


def executed(notebook: NotebookNode) -> NotebookNode:
    """The same cells with what they show now. An error in one of them is raised."""
    cells = [_blank(cell) for cell in notebook.cells]
    fresh = nbformat.v4.new_notebook(cells=cells)
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, _apart(folder), clear=True):
        write_kernel_spec(Path(folder) / "kernels" / KERNEL)
        client = NotebookClient(
            fresh,
            kernel_name=KERNEL,
            timeout=120,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
            config=Config(KernelManager={"transport": "ipc", "ip": f"{folder}/socket"}),
        )
        asyncio.run(client.async_execute())
    fresh.metadata = nbformat.from_dict(METADATA)
    return fresh


def _blank(cell: NotebookNode) -> NotebookNode:
    kept = {"id": cell.id, "source": cell.source}
    if cell.cell_type == "code":
        return nbformat.v4.new_code_cell(**kept)
    return nbformat.v4.new_markdown_cell(**kept)


def _apart(folder: str) -> dict[str, str]:
    """An environment in which nothing but this folder belongs to Jupyter, and settings are as they come."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    own = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_PATH", "JUPYTER_RUNTIME_DIR")
    return ours | dict.fromkeys((*own, "TMPDIR"), folder) | {"MATPLOTLIBRC": matplotlib.get_data_path()}


if __name__ == "__main__":
    nbformat.write(executed(read()), FILE)
