"""The rows of the benchmark with models of some size, and with gradients of large arrays; see rows.py."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from rows import ARRAYS, Run, classes, mlp, part, row, tensor, training
from work import FUNCTION, Work, convolution, linear, passes, update


# ---------------------------------------------------------------- arrays, forward and backward
def _backward(name: str, work: Work, function: Callable[[Any, Any], Any], *shape: int, scalar: bool = False) -> None:
    def make(torch: Any) -> Run:
        x, w = tensor(torch, *shape, requires_grad=True), None if scalar else tensor(torch, *shape, seed=1)

        def run() -> Any:
            x.grad = None
            function(torch, x).backward(w)
            return x.grad

        return run

    row(ARRAYS, f"{name}, and backward", work)(make)


def _chain(torch: Any, x: Any) -> Any:
    return ((x * 2 + 1).tanh().exp() * x - x * 0.5).relu().sum()


SHAPE = (1024, 1000)
ALL = SHAPE[0] * SHAPE[1]
_backward("9 operations on 100,000", passes(100_000, 2, 2 * FUNCTION + 20), _chain, 100_000, scalar=True)
_backward("9 operations on 1,000,000", passes(1_000_000, 2, 2 * FUNCTION + 20), _chain, 1_000_000, scalar=True)
# x and the gradient of the result are read, the result and the gradient of x written.
_backward("softmax 1024x1000", passes(ALL, 4, FUNCTION + 8), lambda torch, x: torch.softmax(x, -1), *SHAPE)
_backward(
    "layer_norm 1024x1000",
    passes(ALL, 4, 16),
    lambda torch, x: part(torch, "nn.functional").layer_norm(x, (1000,)),
    *SHAPE,
)


@row(ARRAYS, "cross_entropy 1024x1000, and backward", passes(ALL, 2, FUNCTION + 8))
def _cross_entropy(torch: Any) -> Run:
    functional = part(torch, "nn.functional")
    x, y = tensor(torch, *SHAPE, requires_grad=True), classes(torch, 1000, 1024)

    def run() -> Any:
        x.grad = None
        functional.cross_entropy(x, y).backward()
        return x.grad

    return run


# ---------------------------------------------------------------- MLP
def _mlp(batch: int, *dims: int) -> None:
    def make(torch: Any) -> Run:
        model = mlp(torch, dims)
        optimiser = part(torch, "optim").SGD(model.parameters(), lr=0.001, momentum=0.9)
        return training(torch, model, optimiser, tensor(torch, batch, dims[0]), classes(torch, dims[-1], batch))

    work = update(sum((a + 1) * b for a, b in pairwise(dims)), 5)
    for i, (inputs, outputs) in enumerate(pairwise(dims)):
        work += linear(batch, inputs, outputs, first=i == 0)
    row("MLP", f"MLP {'-'.join(map(str, dims))}, batch {batch}, SGD step", work)(make)


_mlp(128, 784, 512, 512, 10)
_mlp(256, 1024, 1024, 1024)

# ---------------------------------------------------------------- CNN
LENET = (
    convolution(64, 1, 6, 5, 28, first=True)
    + convolution(64, 6, 16, 5, 10)
    + linear(64, 400, 120)
    + linear(64, 120, 84)
    + linear(64, 84, 10)
    + update(61_706, 5)
)


@row("CNN", "LeNet 28x28, batch 64, SGD step", LENET)
def _lenet(torch: Any) -> Run:
    nn = part(torch, "nn")
    torch.manual_seed(0)
    model = nn.Sequential(
        *(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
    )
    optimiser = part(torch, "optim").SGD(model.parameters(), lr=0.001, momentum=0.9)
    return training(torch, model, optimiser, tensor(torch, 64, 1, 28, 28), classes(torch, 10, 64))


BLOCKS = (
    convolution(16, 3, 32, 3, 16, first=True)
    + convolution(16, 32, 32, 3, 16) * 2
    + convolution(16, 32, 64, 3, 8, stride=2)
    + convolution(16, 32, 64, 1, 8, stride=2)
    + convolution(16, 64, 64, 3, 8) * 3
    + linear(16, 64, 10)
    + update(151_658, 5)
)


@row("CNN", "3 residual blocks of 32 to 64 channels, 16x16, batch 16, SGD step", BLOCKS)
def _blocks(torch: Any) -> Run:
    nn, functional = part(torch, "nn"), part(torch, "nn.functional")

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
            self.norm1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
            self.norm2 = nn.BatchNorm2d(outputs)
            self.across = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False) if inputs != outputs else None

        def forward(self, x: Any) -> Any:
            y = functional.relu(self.norm1(self.conv1(x)))
            y = self.norm2(self.conv2(y))
            return functional.relu(y + (x if self.across is None else self.across(x)))

    torch.manual_seed(0)
    model = nn.Sequential(
        *(nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU()),
        *(Block(32, 32, 1), Block(32, 64, 2), Block(64, 64, 1)),
        *(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(64, 10)),
    )
    optimiser = part(torch, "optim").SGD(model.parameters(), lr=0.001, momentum=0.9)
    return training(torch, model, optimiser, tensor(torch, 16, 3, 16, 16), classes(torch, 10, 16))


# ---------------------------------------------------------------- transformer
LAYERS, WIDTH, HEADS, TIME, BATCH, WORDS = 2, 128, 4, 64, 8, 500


def _gpt_work(fused: bool) -> Work:
    tokens = BATCH * TIME
    products = 3 * 2 * (2 * BATCH * TIME**2 * WIDTH)  # scores and mixed values, forward and twice backward
    layer = linear(tokens, WIDTH, 3 * WIDTH) + linear(tokens, WIDTH, WIDTH) + linear(tokens, WIDTH, 4 * WIDTH)
    layer += linear(tokens, 4 * WIDTH, WIDTH) + Work(products / 2 if fused else products)  # half of them are hidden
    parameters = LAYERS * 12 * WIDTH**2 + (2 * WORDS + TIME) * WIDTH
    return layer * LAYERS + linear(tokens, WIDTH, WORDS) + update(parameters, 7)


def _gpt(torch: Any, fused: bool) -> Run:
    nn, functional = part(torch, "nn"), part(torch, "nn.functional")
    hidden = torch.ones(TIME, TIME, dtype=torch.bool).triu(1)

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
            q, k, v = (z.reshape(BATCH, TIME, HEADS, WIDTH // HEADS).transpose(1, 2) for z in parts)
            if fused:
                mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                scores = q @ k.transpose(-2, -1) * (WIDTH // HEADS) ** -0.5
                mixed = functional.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1) @ v
            x = x + self.out(mixed.transpose(1, 2).reshape(BATCH, TIME, WIDTH))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Net(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TIME, WIDTH)
            self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

        def forward(self, x: Any) -> Any:
            x = self.blocks(self.words(x) + self.places(torch.arange(TIME)))
            return self.head(self.norm(x)).reshape(BATCH * TIME, WORDS)

    torch.manual_seed(0)
    model = Net()
    optimiser = part(torch, "optim").AdamW(model.parameters(), lr=3e-4)
    x, y = classes(torch, WORDS, BATCH, TIME), classes(torch, WORDS, BATCH * TIME)
    return training(torch, model, optimiser, x, y)


GPT = f"GPT {LAYERS}x{WIDTH}, {TIME} places, batch {BATCH}, AdamW step"
row("transformer", f"{GPT}, plain operations", _gpt_work(False))(lambda torch: _gpt(torch, False))
row("transformer", f"{GPT}, scaled_dot_product_attention", _gpt_work(True))(lambda torch: _gpt(torch, True))

# ---------------------------------------------------------------- recurrent
LSTM = (
    linear(32 * 16, 64, 512, first=True)
    + linear(32 * 16, 128, 512)
    + passes(32 * 16 * 128, 10, 5 * FUNCTION + 30)
    + update(99_328, 3)
)


@row("recurrent", "LSTM 64-128, 32 steps, batch 16, SGD step", LSTM)
def _lstm(torch: Any) -> Run:
    torch.manual_seed(0)
    lstm = part(torch, "nn").LSTM(64, 128)
    optimiser = part(torch, "optim").SGD(lstm.parameters(), lr=0.01)
    x = tensor(torch, 32, 16, 64)

    def run() -> Any:
        optimiser.zero_grad()
        out, _ = lstm(x)
        loss = (out * out).mean()
        loss.backward()
        optimiser.step()
        return loss

    return run


STEP = Work(calls={"index": 1, "matmul": 3, "product of a transpose": 2, "add": 2 + 3, "tanh": 2, "sum of rows": 1})
STEP += Work((2 * 32 * 64 + 3 * 64 * 64) * 2 * 16)
LOOP = STEP * 25 + Work(calls={"matmul": 2, "product of a transpose": 1, "softmax": 2, "loss": 2, "sgd": 1})


@row("recurrent", "RNN 32-64 as a loop in Python, 25 steps, batch 16, SGD step", LOOP)
def _loop(torch: Any) -> Run:
    functional = part(torch, "nn.functional")
    wx, wh, wo = (tensor(torch, a, b, seed=a + b) for a, b in ((32, 64), (64, 64), (64, 10)))
    b, start = torch.zeros(64), torch.zeros(16, 64)
    parameters = [p.mul_(0.1).requires_grad_() for p in (wx, wh, wo, b)]
    optimiser = part(torch, "optim").SGD(parameters, lr=0.01)
    x, y = tensor(torch, 25, 16, 32), classes(torch, 10, 16)

    def run() -> Any:
        optimiser.zero_grad()
        h = start
        for i in range(25):
            h = torch.tanh(x[i] @ wx + h @ wh + b)
        loss = functional.cross_entropy(h @ wo, y)
        loss.backward()
        optimiser.step()
        return loss

    return run


# ---------------------------------------------------------------- double backward
def _product(*dims: int, batch: int, calls: Work) -> None:
    def make(torch: Any) -> Run:
        functional, model = part(torch, "nn.functional"), mlp(torch, dims, "Tanh")
        x, y = tensor(torch, batch, dims[0]), classes(torch, dims[-1], batch)
        parameters = list(model.parameters())
        directions = [tensor(torch, *p.shape, seed=i) for i, p in enumerate(parameters)]
        grad = torch.autograd.grad

        def run() -> Any:
            first = grad(functional.cross_entropy(model(x), y), parameters, create_graph=True)
            return grad(sum((g * v).sum() for g, v in zip(first, directions)), parameters)

        return run

    # For each layer: the product, its gradients (none of the first layer's input), and both in the given direction.
    products = [(4 if i == 0 else 9) * a * b for i, (a, b) in enumerate(pairwise(dims))]
    work = Work(2 * batch * sum(products), 4 * sum(products)) + calls
    row("double backward", f"Hessian times vector, MLP {'-'.join(map(str, dims))}, batch {batch}", work)(make)


TWICE = {"matmul": 4 + 9, "tanh": 4, "softmax": 4, "loss": 2, "sum of rows": 4, "add": 4 + 3, "sum": 4}
_product(4, 16, 2, batch=8, calls=Work(calls=TWICE))
_product(784, 256, 10, batch=64, calls=Work())
