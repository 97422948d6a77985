"""The command line: ``livetape run`` does what ``python`` does, ``livetape demo`` trains."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import livetape
from livetape.cli import chart

ROOT = Path(__file__).parent.parent
LIVETAPE = [sys.executable, "-m", "livetape"]


def call(
    command: list[str], folder: Path, *, text: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONUNBUFFERED": ""} | environment,  # what waits in a buffer must come out, too
    )


def both(folder: Path, source: str, *arguments: str) -> list[subprocess.CompletedProcess[str]]:
    """What ``python script.py`` and ``livetape run script.py`` make of a program that does not need torch."""
    folder.joinpath("script.py").write_text(source)
    return [call([*start, "script.py", *arguments], folder) for start in ([sys.executable], [*LIVETAPE, "run"])]


PROGRAM_STATE = """\
import os, pickle, sys
from pathlib import Path
import neighbour

class Point:
    def __init__(self, x): self.x = x

print(__name__, __file__, __package__, __spec__, type(__loader__).__name__)
print(sys.argv, sys.path[0], neighbour.value)
main = sys.modules["__main__"]
print(main.Point is Point, vars(main) is globals(), pickle.loads(pickle.dumps(Point(3))).x, Point)
print(sorted(name for name in globals() if name.startswith("__")))
"""


def test_run_is_as_python(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("value = 7")
    python, livetape_run = both(tmp_path, PROGRAM_STATE, "--epochs", "3", "-m", "x y")
    assert python.returncode == 0, python.stderr
    assert (livetape_run.returncode, livetape_run.stdout, livetape_run.stderr) == (0, python.stdout, "")


@pytest.mark.parametrize("end", ["3", "None", "'out of luck'", "True", ""])
def test_exit_status(tmp_path: Path, end: str) -> None:
    python, livetape_run = both(tmp_path, f"import sys\nsys.exit({end})\n")
    assert livetape_run.returncode == python.returncode
    assert livetape_run.stderr == python.stderr


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    return 1 / x\n\nf(0)\n",
        "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e\n",
        "x = (\n",
        "import sys\nsys.excepthook = lambda kind, e, trace: print(kind, trace.tb_lineno, trace.tb_next)\nint('x')\n",
        "import atexit\natexit.register(print, 'bye')\nraise KeyError(3)\n",
        "import neighbour_that_is_absent\n",
    ],
)
def test_uncaught_exceptions(tmp_path: Path, source: str) -> None:
    python, livetape_run = both(tmp_path, source)
    assert livetape_run.returncode == python.returncode == 1
    assert (livetape_run.stdout, livetape_run.stderr) == (python.stdout, python.stderr)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt_ends_by_the_signal(tmp_path: Path) -> None:
    source = "import atexit\natexit.register(print, 'bye')\nraise KeyboardInterrupt\n"
    python, livetape_run = both(tmp_path, source)
    assert livetape_run.returncode == python.returncode == -signal.SIGINT
    assert (livetape_run.stdout, livetape_run.stderr) == (python.stdout, python.stderr)


def test_absent_script(tmp_path: Path) -> None:
    done = call([*LIVETAPE, "run", "nowhere.py"], tmp_path)
    assert done.returncode == 2
    assert "can't open file" in done.stderr and "[Errno 2] No such file or directory" in done.stderr


def test_the_other_ways_to_name_a_program(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__main__.py").write_text("import sys, torch\nprint(__name__, torch.__name__, sys.argv[1:])\n")
    expected = "__main__ livetape ['a', '-b']\n"
    assert call([*LIVETAPE, "run", "-m", "package", "a", "-b"], tmp_path).stdout == expected
    assert call([*LIVETAPE, "run", "package", "a", "-b"], tmp_path).stdout == expected
    code = "import sys, torch; print(__name__, torch.__name__, sys.argv[1:])"
    assert call([*LIVETAPE, "run", "-c", code, "a", "-b"], tmp_path).stdout == expected
    assert call([*LIVETAPE, "run", "-", "a", "-b"], tmp_path, text=code).stdout == expected


@pytest.mark.parametrize("arguments", [[], ["-m"], ["-c"], ["--nonsense"]])
def test_wrong_use_of_run(tmp_path: Path, arguments: list[str]) -> None:
    done = call([*LIVETAPE, "run", *arguments], tmp_path)
    assert done.returncode == 2 and "usage: livetape run" in done.stderr and done.stdout == ""


WORKERS = """\
import multiprocessing, subprocess, sys

def name(_):
    import torch.nn as nn
    return nn.__name__

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(name, [0]))
    print(subprocess.check_output([sys.executable, "-c", "import torch; print(torch.__name__)"], text=True))
"""


def test_processes_that_a_program_starts(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(WORKERS)
    done = call([*LIVETAPE, "run", "script.py"], tmp_path)
    assert (done.stdout, done.stderr) == ("['livetape.nn']\nlivetape\n\n", "")


def test_a_program_for_torch(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import torch\nx = torch.ones(3, requires_grad=True)\n(x * x).sum().backward()\nprint(x.grad)\n"
    )
    assert call([*LIVETAPE, "run", "script.py"], tmp_path).stdout == "tensor([2., 2., 2.])\n"


def test_version_and_console_script(tmp_path: Path) -> None:
    done = call([*LIVETAPE, "--version"], tmp_path)
    assert re.fullmatch(rf"livetape {re.escape(livetape.__version__)} \((compiled|pure Python)\)\n", done.stdout)


EPOCH = re.compile(r"epoch +\d+/\d+  loss \d+\.\d{4}  accuracy +\d+\.\d\d %")


def test_demo(tmp_path: Path) -> None:
    done = call([*LIVETAPE, "demo", "--plot", "loss.svg"], tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for expected in ("AddmmBackward0", "receives (32, 256)", "leaf 0.weight (256, 64)"):
        assert expected in done.stdout
    assert re.search(r"Freed: (\d+) of \1 saved tensors", done.stdout)
    last = re.fullmatch(r"test accuracy (\d+\.\d+) % in \d+\.\d+ s", lines[-1])
    assert last is not None and float(last[1]) >= 97
    assert ET.parse(tmp_path / "loss.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"

    # The example is the same training as a plain script: the same losses, to the last digit shown.
    example = call([sys.executable, str(ROOT / "examples" / "digits.py")], tmp_path)
    assert example.returncode == 0, example.stderr
    assert example.stdout.splitlines() == EPOCH.findall(done.stdout)


def test_demo_arguments(tmp_path: Path) -> None:
    one = call([*LIVETAPE, "demo", "--epochs", "1", "--seed", "5"], tmp_path)
    two = call([*LIVETAPE, "demo", "--epochs", "1", "--seed", "5"], tmp_path)
    assert one.returncode == 0, one.stderr
    assert EPOCH.findall(one.stdout) == EPOCH.findall(two.stdout) and len(EPOCH.findall(one.stdout)) == 1
    assert call([*LIVETAPE, "demo", "--epochs", "0"], tmp_path).returncode == 2


@pytest.mark.parametrize("values", [[], [1.0], [0.0, 0.0], [1e-9, 3e5, float("nan"), 2.0], [float("inf")], [-3.0, 4.0]])
def test_chart_of_awkward_values(values: list[float]) -> None:
    text = chart.line_chart(values, title="<a & b>", across="step", up="loss")
    assert ET.fromstring(text).findtext("{http://www.w3.org/2000/svg}title") == "<a & b>"
    assert "nan" not in text and "inf" not in text
