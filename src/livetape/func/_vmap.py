"""vmap: a function of samples becomes a function of batches (source: ``torch.func.vmap``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livetape._pytree import _broadcast_to_and_flatten, tree_flatten, tree_structure, tree_unflatten
from livetape._tape.tensor import TensorBase, shape_of
from livetape.func._batching import VmapLevel
from livetape.func._levels import Transform, local_level, name_of, wrapped
from livetape.func._rules import expanded
from livetape.ops.joining import cat
from livetape.ops.permuting import movedim
from livetape.ops.splitting import split_with_sizes
from livetape.random import get_rng_state, set_rng_state


# ---------------------------------------------------------------- arguments
def _flat_arguments(args: tuple[Any, ...], in_dims: Any, name: str) -> tuple[int, list[Any], list[Any], Any]:
    """The size of the batch, the leaves of the arguments with a dimension for each, and the arguments' structure."""
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially "
            f"nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    flat, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if dims is None:
        raise ValueError(
            f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_structure(in_dims)} but inputs has structure {spec}."
        )
    sizes = []
    for i, (value, dim) in enumerate(zip(flat, dims)):
        if not isinstance(dim, int):
            if dim is not None:
                raise ValueError(
                    f"{where}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
                )
            continue
        if not isinstance(value, TensorBase):
            raise ValueError(
                f"{where}Got in_dim={dim} for an input but the input is of type {type(value)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        ndim = int(value.array.ndim)
        if not -ndim <= dim < ndim:
            raise ValueError(
                f"{where}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {ndim} so "
                f"expected in_dim to satisfy -{ndim} <= in_dim < {ndim}."
            )
        dims[i] = dim % ndim
        sizes.append(shape_of(value)[dim])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0], flat, dims, spec


def _output_dims(out_dims: Any, output: Any, spec: Any, name: str) -> list[Any]:
    """A dimension for each output, or None."""
    leaves = tree_flatten(out_dims)[0]
    if not all(dim is None or isinstance(dim, int) for dim in leaves):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of "
            "ints representing where in the outputs the vmapped dimension should appear."
        )
    if isinstance(output, TensorBase) and len(leaves) == 1:
        return leaves  # (0,) will do for a single output
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_structure(out_dims)} but outputs has structure {spec}."
        )
    return list(dims)


def _result(level: VmapLevel, output: Any, dim: Any, name: str) -> Any:
    """An output of the function as a batch."""
    if not isinstance(output, TensorBase):
        if dim is None:
            return output
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    inner, is_batch = level.opened(output)
    if dim is None:
        if is_batch:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return inner
    if not is_batch:
        inner = expanded(inner, level.size)
    return inner if dim == 0 else movedim(inner, 0, dim)


# ---------------------------------------------------------------- the run
def run(
    func: Callable[..., Any],
    size: int,
    flat: list[Any],
    dims: list[Any],
    spec: Any,
    out_dims: Any,
    randomness: str,
    kwargs: dict[str, Any],
) -> Any:
    """Run a function once for the whole batch."""
    name = name_of(func)
    level = VmapLevel(size, randomness, local_level() + 1)
    with Transform(level):
        given = [v if d is None else _samples(level, v, d) for v, d in zip(flat, dims)]
        output = func(*tree_unflatten(given, spec), **kwargs)
    leaves, out_spec = tree_flatten(output)
    places = _output_dims(out_dims, output, out_spec, name)
    return tree_unflatten([_result(level, o, d, name) for o, d in zip(leaves, places)], out_spec)


def _samples(level: VmapLevel, tensor: Any, dim: int) -> Any:
    if dim == 0:
        return level.batched(tensor)
    made = level.batched(movedim(tensor, dim, 0))
    made.array.bdim = dim
    return made


def _in_chunks(
    func: Callable[..., Any],
    size: int,
    flat: list[Any],
    dims: list[Any],
    spec: Any,
    out_dims: Any,
    randomness: str,
    chunk: int,
    kwargs: dict[str, Any],
) -> Any:
    """As `run`, a part of the batch at a time."""
    name = name_of(func)
    counts = [chunk] * (size // chunk) + ([size % chunk] if size % chunk else [])
    parts = [[v] * len(counts) if d is None else split_with_sizes(v, counts, d) for v, d in zip(flat, dims)]
    state = get_rng_state() if randomness == "same" else None
    columns: list[Any] = []
    places: list[Any] = []
    out_spec: Any = None
    for i, count in enumerate(counts):
        if state is not None and i:
            set_rng_state(state)
        output = run(func, count, [p[i] for p in parts], dims, spec, out_dims, randomness, kwargs)
        leaves, out_spec = tree_flatten(output)
        places = _output_dims(out_dims, output, out_spec, name)
        columns.append(leaves)
    joined = [each[0] if dim is None else cat(list(each), dim) for each, dim in zip(zip(*columns), places)]
    return tree_unflatten(joined, out_spec)


def check_randomness(randomness: Any) -> None:
    """Raise torch's error for an unknown way to draw random numbers."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that applies ``func`` to every sample of a batch, at once (source: ``torch.func.vmap``).

    in_dims       along which dimension of each input the samples lie; None for one that is the same for all
    out_dims      along which dimension of each output they shall lie
    randomness    random numbers inside: "error", "same" for all samples, or "different"
    chunk_size    how many samples to take at a time; None: all

    >>> import livetape as torch
    >>> torch.vmap(torch.dot)(torch.ones(2, 3), torch.arange(6.).reshape(2, 3))
    tensor([ 3., 12.])
    """
    check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def inner(*args: Any, **kwargs: Any) -> Any:
        size, flat, dims, spec = _flat_arguments(args, in_dims, name_of(func))
        if chunk_size is not None and chunk_size < size:
            return _in_chunks(func, size, flat, dims, spec, out_dims, randomness, chunk_size, kwargs)
        return run(func, size, flat, dims, spec, out_dims, randomness, kwargs)

    return wrapped(func, inner)
