"""The short form of each example: it runs, its losses are those that PyTorch prints for the seed, and it learns."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
# What PyTorch 2.13 prints for `--quick`: its losses, and the number in the last line.
TORCH: dict[str, tuple[list[float], float]] = {
    "breast_cancer": ([305.20780430, 29.31673251, 29.31634908, 29.31634908, 29.31634908], 95.80),
    "burgers": ([2.496769, 2.196330, 2.078173, 1.996978, 1.920781, 1.812140, 1.794806, 0.336017, 0.105985], 14.251),
    "cartpole": ([12.9738, 9.1127, 5.2489, 3.4481, 4.8718, 1.7921, 0.9473, 3.4203, 19.1602, 23.5119, 15.9291], 53.5),
    "digits_cnn": ([1.1047, 0.4547], 98.33),
    "gpt": ([4.2877, 4.2722, 4.0159, 3.6440, 3.1437, 3.1934, 3.1269], 3.1269),
    "sunspots": ([0.1876, 0.1790, 0.1776], 19.447),
    "vae": ([32.8311, 27.2656, 26.6992], 26.486),
}
NEEDS = {"breast_cancer": "sklearn", "cartpole": "gymnasium"}
LAST = re.compile(r"(?:test accuracy|relative error|episodes|loss|test error|ELBO) (\d+\.\d+)\b.* in \d+\.\d+ s")


def run(*command: object) -> str:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"loss +(\d+\.\d+)", text)]


@pytest.mark.parametrize("name", sorted(TORCH))
def test_example(name: str) -> None:
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    text = run(EXAMPLES / f"{name}.py", "--quick", "--threads", 1)
    expected, metric = TORCH[name]
    # L-BFGS's line search makes a rounding error large, and one other action is another game.
    steady = {"burgers": 7, "cartpole": 5}.get(name, len(expected))
    assert len(losses(text)) == len(expected)
    assert losses(text)[:steady] == pytest.approx(expected[:steady], rel=1e-3)
    last = LAST.search(text.splitlines()[-1])
    assert last is not None
    number = float(last[1])
    if name == "cartpole":
        assert number > 30  # steps; no policy at all gives about 20
    else:
        assert losses(text)[-1] < losses(text)[0]
        if name == "burgers":
            assert number < 40  # percent; u = 0 everywhere gives 100
        else:
            assert number == pytest.approx(metric, rel=0.05)


def test_one_line_makes_it_pytorch(tmp_path: Path) -> None:
    for name in TORCH:
        source = (EXAMPLES / f"{name}.py").read_text()
        assert re.findall(".*livetape.*", source) == ["import livetape as torch"], name
    for path in ("common.py", "data/sunspots.csv"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).symlink_to(EXAMPLES / path)
    source = (EXAMPLES / "sunspots.py").read_text()
    (tmp_path / "sunspots.py").write_text(source.replace("import livetape as torch", "import torch"))
    (tmp_path / "torch.py").write_text("raise SystemExit('not this one')")
    text = run("-m", "livetape", "run", tmp_path / "sunspots.py", "--quick", "--threads", 1)
    assert losses(text) == pytest.approx(TORCH["sunspots"][0], rel=1e-3)
