"""Record torch's random numbers for tests/test_random.py: run with a Python that has torch.

python tests/record/random_values.py > tests/data/random.json
"""

import base64
import json
import sys
import zlib

import torch

SIZES = [1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 1000]
FLOATS = ["float32", "float64", "float16", "bfloat16"]
COMPLEX = ["complex64", "complex128"]
WHOLE = ["int64", "int32", "int16", "int8", "uint8"]
UNSIGNED = ["uint16", "uint32", "uint64"]


def ramp(n, low, high, dtype):
    """Parameters that differ: exact in every dtype, so that the test can make them again."""
    return (torch.arange(n) % 8 * ((high - low) / 8) + low).to(dtype)


DRAWS = {
    "rand": lambda n, t: torch.rand(n, dtype=t),
    "uniform_": lambda n, t, low, high: torch.empty(n, dtype=t).uniform_(low, high),
    "randn": lambda n, t: torch.randn(n, dtype=t),
    "normal_": lambda n, t, mean, std: torch.empty(n, dtype=t).normal_(mean, std),
    "normal_strided": lambda n, t, mean, std: torch.empty(n, 2, dtype=t)[:, 0].normal_(mean, std),
    "normal_mean": lambda n, t, std: torch.normal(ramp(n, -1, 1, t), std),
    "normal_std": lambda n, t, mean: torch.normal(mean, ramp(n, 0, 2, t)),
    "normal_both": lambda n, t: torch.normal(ramp(n, -1, 1, t), ramp(n, 0, 2, t)),
    "randint": lambda n, t, low, high: torch.randint(low, high, (n,), dtype=t),
    "random_": lambda n, t: torch.empty(n, dtype=t).random_(),
    "random_from": lambda n, t, low: torch.empty(n, dtype=t).random_(low, None),
    "randperm": lambda n, t: torch.randperm(n, dtype=t),
    "bernoulli_": lambda n, t, p: torch.empty(n, dtype=t).bernoulli_(p),
    "bernoulli": lambda n, t: torch.bernoulli(ramp(n, 0, 1, t)),
    "dropout": lambda n, t, p: torch.nn.functional.dropout(torch.ones(n, dtype=t), p) != 0,
    "exponential_": lambda n, t, rate: torch.empty(n, dtype=t).exponential_(rate),
    "geometric_": lambda n, t, p: torch.empty(n, dtype=t).geometric_(p),
    "cauchy_": lambda n, t, median, sigma: torch.empty(n, dtype=t).cauchy_(median, sigma),
    "log_normal_": lambda n, t, mean, std: torch.empty(n, dtype=t).log_normal_(mean, std),
    "multinomial": lambda n, t, count, again: torch.multinomial(ramp(n, 0.125, 1.125, t), min(n, count), again),
    "multinomial_rows": lambda n, t, count, again: torch.multinomial(
        ramp(3 * n, 0.125, 1.125, t).reshape(3, n), min(n, count), again
    ),
    "poisson": lambda n, t, low, high: torch.poisson(ramp(n, low, high, t)),
    "binomial": lambda n, t, count, low, high: torch.binomial(torch.full((n,), count, dtype=t), ramp(n, low, high, t)),
    "standard_gamma": lambda n, t, low, high: torch._standard_gamma(ramp(n, low, high, t)),
    "dirichlet": lambda n, t: torch._sample_dirichlet(ramp(3 * n, 0.5, 2.5, t).reshape(n, 3)),
}


def cases():
    for name in FLOATS + COMPLEX:
        yield "rand", name, []
        yield "randn", name, []
        yield "uniform_", name, [-0.3, 0.7]
        yield "normal_", name, [0.5, 1.75]
    for name in FLOATS:
        yield "uniform_", name, [1.0, 1.0 + 2.0**-6]
        yield "uniform_", name, [0.0, 0.1]
        yield "normal_strided", name, [0.5, 1.75]
        yield "bernoulli", name, []
        yield "exponential_", name, [1.5]
        yield "cauchy_", name, [0.5, 2.0]
        yield "log_normal_", name, [0.25, 0.5]
        yield "random_from", name, [5]
    for name in FLOATS[:3]:
        yield "normal_mean", name, [1.5]
        yield "normal_std", name, [1.5]
        yield "normal_both", name, []
    for name in FLOATS + WHOLE:
        yield "random_", name, []
        yield "randperm", name, []
        yield "geometric_", name, [0.25]
        yield "bernoulli_", name, [0.3]
    for name in FLOATS + WHOLE + UNSIGNED:
        yield "randint", name, [0, 10]
    for name in ["int64", "int32", "int16", "int8", "float32", "float64"]:
        yield "randint", name, [-7, 64]
    for name in ["int64", "int32", "uint32", "uint64", "float64"]:
        yield "randint", name, [0, 2**28 - 1]
        yield "randint", name, [0, 2**28]
        yield "randint", name, [3, 2**31 - 1]
    yield "randint", "int64", [-(2**63), 2**63 - 1]
    yield "randint", "int64", [-5, 2**40]
    yield "random_from", "int64", [-(2**63)]
    yield "random_from", "int64", [-(2**62)]
    yield "random_from", "int8", [-3]
    yield "random_from", "uint16", [3]
    yield "random_", "bool", []
    yield "bernoulli_", "bool", [0.5]
    yield "bernoulli_", "float32", [0.0]
    yield "bernoulli_", "float32", [1.0]
    yield "dropout", "float32", [0.25]
    for name in FLOATS:
        for again in (False, True):
            yield "multinomial", name, [5, again]
            yield "multinomial", name, [1000, again]
            yield "multinomial_rows", name, [4, again]
            yield "multinomial_rows", name, [1, again]
        yield "poisson", name, [0, 4]
        yield "poisson", name, [8, 12]
        yield "poisson", name, [20, 20]
    for name in FLOATS[:2]:
        yield "binomial", name, [8, 0, 1]
        yield "binomial", name, [40, 0.125, 0.625]
        yield "binomial", name, [100, 0.5, 0.5]
        yield "standard_gamma", name, [0, 1]
        yield "standard_gamma", name, [1, 9]
        yield "dirichlet", name, []


INTERLEAVED = [
    ("randn", "float32", 3, []),
    ("randn", "float64", 2, []),
    ("rand", "float32", 5, []),
    ("randn", "float32", 1, []),
    ("randperm", "int64", 7, []),
    ("randn", "float16", 3, []),
    ("normal_", "float32", 17, [0.0, 0.02]),
    ("randn", "float32", 1, []),
    ("bernoulli_", "bool", 9, [0.5]),
    ("log_normal_", "float32", 3, [1.0, 2.0]),
    ("randint", "int64", 4, [0, 100]),
    ("exponential_", "float64", 3, [1.0]),
    ("multinomial", "float32", 9, [3, True]),
    ("randn", "complex64", 3, []),
    ("rand", "float64", 3, []),
    ("standard_gamma", "float64", 5, [0, 4]),
    ("randn", "float64", 33, []),
    ("poisson", "float32", 6, [0, 4]),
    ("randn", "float32", 1, []),
    ("multinomial", "float32", 9, [3, False]),
    ("poisson", "float32", 12, [20, 20]),
    ("randperm", "int64", 300, []),
    ("binomial", "float32", 6, [8, 0, 1]),
    ("geometric_", "int64", 3, [0.25]),
    ("randn", "bfloat16", 19, []),
    ("cauchy_", "float32", 3, [0.0, 1.0]),
    ("normal_strided", "float32", 21, [0.0, 1.0]),
    ("rand", "float16", 3, []),
    ("randint", "int64", 3, [0, 2**40]),
    ("randn", "float32", 5, []),
    ("random_", "uint8", 5, []),
    ("rand", "float32", 700, []),
    ("randn", "float32", 1, []),
    ("uniform_", "float32", 4, [-1.0, 1.0]),
]


def probe(count):
    """The elements that are kept: all of a short draw, some of a long one."""
    return list(range(count)) if count <= 33 else [0, 1, 2, *range(40, count - 17, 97), *range(count - 17, count)]


def encode(tensor):
    flat = tensor.contiguous().reshape(-1)
    flat = flat[torch.tensor(probe(len(flat)), dtype=torch.int64)] if len(flat) else flat
    return base64.b64encode(flat.view(torch.uint8).numpy().tobytes()).decode()


def checksum():
    return zlib.crc32(torch.get_rng_state().numpy().tobytes())


def packed_state():
    return base64.b64encode(zlib.compress(torch.get_rng_state().numpy().tobytes(), 9)).decode()


def main():
    out = {"version": torch.__version__, "sizes": SIZES, "cases": [], "interleaved": []}
    for number, (draw, name, args) in enumerate(cases()):
        torch.manual_seed(1000 + number)
        values = []
        for size in SIZES:
            if draw == "randperm" and name in ("int8", "uint8", "bfloat16", "float16") and size > 100:
                continue
            values.append(encode(DRAWS[draw](size, getattr(torch, name), *args)))
        out["cases"].append([draw, name, args, 1000 + number, values, checksum()])
    torch.manual_seed(-12345)
    for draw, name, size, args in INTERLEAVED:
        values = encode(DRAWS[draw](size, getattr(torch, name), *args))
        out["interleaved"].append([draw, name, size, args, values, checksum()])

    torch.manual_seed(2**63 + 11)
    out["fresh"] = [2**63 + 11, checksum()]
    torch.rand(100)
    torch.randn(3)  # leaves a spare normal
    out["saved"] = packed_state()
    out["after"] = [encode(torch.randn(5)), encode(torch.rand(1000)), checksum()]
    torch.manual_seed(5)
    out["large"] = [
        encode(torch.randperm(5000)),
        encode(torch.randn(70001)),
        encode(torch.rand(70001).double()),
        encode(torch.empty(70001, dtype=torch.float64).uniform_(-0.3, 0.9)),
        checksum(),
    ]
    sys.stdout.write("{\n" + ",\n".join(f'"{key}": {lines(value)}' for key, value in out.items()) + "\n}\n")


def lines(value):
    """JSON with a line for each case."""
    if isinstance(value, list) and isinstance(value[0], list):
        return "[\n" + ",\n".join(json.dumps(row) for row in value) + "\n]"
    return json.dumps(value)


if __name__ == "__main__":
    main()
