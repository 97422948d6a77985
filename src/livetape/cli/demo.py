"""``livetape demo``: one step of the tape as text, then a classifier of handwritten digits trained."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import livetape as torch
from livetape import nn, optim
from livetape.cli import chart, tape
from livetape.data import digits

EPOCHS, BATCH, HIDDEN, LEARNING_RATE, MOMENTUM = 20, 32, 256, 0.1, 0.9
ENOUGH = 0.97  # the test accuracy that the full run is expected to reach

Images = tuple[torch.Tensor, torch.Tensor]  # pixels and labels
Report = Callable[[int, float, float], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--epochs", type=positive, default=EPOCHS, metavar="N", help="passes over the training images")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the same seed gives the same numbers")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="write the loss of every step as an SVG picture")


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def demo(options: argparse.Namespace) -> int:
    """Run the demonstration; 0, or 1 if a run of the full length classifies too few test images correctly."""
    torch.manual_seed(options.seed)
    train_set, test_set = load()
    model = nn.Sequential(nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))
    first = [tensor[:BATCH] for tensor in train_set]
    print(tape.one_step(model, nn.CrossEntropyLoss(), *first), flush=True)

    print(f"\nTraining on {len(train_set[0])} images of handwritten digits, testing on {len(test_set[0])}", flush=True)
    start = time.perf_counter()
    with reporter(options.epochs) as report:
        losses = train(model, train_set, test_set, options.epochs, report)
    seconds = time.perf_counter() - start
    reached = accuracy(model, *test_set)
    if options.plot is not None:
        options.plot.write_text(chart.line_chart(losses, title="Training loss", across="step", up="cross-entropy"))
        print(f"loss curve written to {options.plot}")
    print(f"test accuracy {100 * reached:.2f} % in {seconds:.2f} s")
    return 0 if reached >= ENOUGH or options.epochs < EPOCHS else 1


def load() -> tuple[Images, Images]:
    """The digits with pixels scaled to 0..1: those to train on, and every fifth one, to test with."""
    pixels, targets = digits()
    images = torch.from_numpy(pixels).view(-1, 64).float() / 16
    labels = torch.from_numpy(targets).long()
    test = torch.arange(len(labels)) % 5 == 0
    return (images[~test], labels[~test]), (images[test], labels[test])


def train(model: nn.Module, train_set: Images, test_set: Images, epochs: int, report: Report) -> list[float]:
    """Train the model; the loss of every step. ``report(epoch, mean loss, test accuracy)`` is called for each epoch."""
    images, labels = train_set
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
    losses: list[float] = []
    for epoch in range(1, epochs + 1):
        total = 0.0
        for batch in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            loss = criterion(model(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            total += losses[-1] * len(batch)
        report(epoch, total / len(images), accuracy(model, *test_set))
    return losses


def accuracy(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """The share of the images that the model classifies correctly."""
    with torch.no_grad():
        return (model(images).argmax(dim=1) == labels).float().mean().item()


@contextmanager
def reporter(epochs: int) -> Iterator[Report]:
    """A progress bar on a terminal; a line an epoch anywhere else."""
    if not sys.stdout.isatty():
        yield lambda epoch, loss, share: print(line(epoch, epochs, loss, share), flush=True)
        return
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

    columns: Iterable[ProgressColumn] = (BarColumn(bar_width=24), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("", total=epochs)
        yield lambda epoch, loss, share: progress.update(
            task, completed=epoch, description=line(epoch, epochs, loss, share)
        )


def line(epoch: int, epochs: int, loss: float, share: float) -> str:
    return f"epoch {epoch:{len(str(epochs))}}/{epochs}  loss {loss:.4f}  accuracy {100 * share:5.2f} %"
