"""no_grad, enable_grad, set_grad_enabled and inference_mode."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import livetape as torch


def recorded() -> bool:
    return bool((torch.ones(1, requires_grad=True) * 2).requires_grad)


def test_blocks_nest() -> None:
    assert torch.is_grad_enabled() and recorded()
    with torch.no_grad():
        assert not torch.is_grad_enabled() and not recorded()
        with torch.enable_grad():
            assert recorded()
            with torch.no_grad():
                assert not recorded()
            assert recorded()
        assert not recorded()
    assert recorded()


def test_the_mode_is_restored_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), torch.no_grad():
        _ = 1 / 0
    assert recorded()
    with pytest.raises(ZeroDivisionError), torch.inference_mode():
        _ = 1 / 0
    assert recorded() and not torch.is_inference_mode_enabled()


def test_set_grad_enabled_works_at_once_and_as_a_block() -> None:
    torch.set_grad_enabled(False)
    assert not recorded()
    torch.set_grad_enabled(True)
    assert recorded()
    with torch.set_grad_enabled(False):
        assert not recorded()
    assert recorded()


def test_decorators() -> None:
    @torch.no_grad()
    def off() -> bool:
        return recorded()

    @torch.no_grad
    def bare() -> bool:
        return recorded()

    @torch.set_grad_enabled(False)
    def switched() -> bool:
        """Words."""
        return recorded()

    @torch.enable_grad()
    def on() -> bool:
        return recorded()

    assert recorded()
    assert not off() and not bare() and not switched() and switched.__doc__ == "Words."
    with torch.no_grad():
        assert on()

    @torch.no_grad()
    def deep(n: int) -> bool:
        return recorded() if n == 0 else deep(n - 1)

    assert not deep(5) and recorded()


def test_decorated_generators_hold_the_mode_only_while_they_run() -> None:
    @torch.no_grad()
    def numbers() -> Iterator[bool]:
        yield recorded()
        yield recorded()

    seen = []
    for inside in numbers():
        seen.append((inside, recorded()))
    assert seen == [(False, True), (False, True)]


def test_plain_generators_leave_the_mode_to_their_user() -> None:
    def numbers() -> Iterator[bool]:
        with torch.no_grad():
            yield recorded()

    generator = numbers()
    assert next(generator) is False
    assert not torch.is_grad_enabled()
    generator.close()
    assert torch.is_grad_enabled()


def test_decorated_coroutines_are_started_inside_the_mode() -> None:
    async def inner() -> bool:
        with torch.no_grad():
            return recorded()

    assert asyncio.run(inner()) is False
    assert recorded()


def test_tensors_made_under_no_grad_are_leaves() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = x * 2
        z = torch.ones(2, requires_grad=True)
        view = x[:1]
    assert y.is_leaf and not y.requires_grad and y.grad_fn is None
    assert z.requires_grad
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        view.mul_(2)


def test_leaves_may_be_changed_under_no_grad() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        x.sub_(0.5)
    assert x.tolist() == [0.5, 0.5] and x.requires_grad and x.is_leaf and x._version == 1


# ---------------------------------------------------------------- inference mode
def test_inference_tensors() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        y = x * 2
        view = x[:1]
        y.add_(1)
    assert y.is_inference() and not y.requires_grad
    assert not view.is_inference()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        y.add_(1)
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode"):
        y.requires_grad_()
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        _ = y._version
    assert (y * 2).tolist() == [6.0, 6.0] and not (y * 2).is_inference()


def test_inference_mode_may_be_switched_off() -> None:
    with torch.inference_mode(False):
        assert recorded() and not torch.is_inference_mode_enabled()
    with torch.inference_mode(), torch.inference_mode(False):
        assert recorded()

    @torch.inference_mode()
    def run() -> Any:
        return torch.ones(1)

    assert run().is_inference()


def test_inference_tensors_are_not_resized_outside_of_inference_mode():
    with torch.inference_mode():
        x = torch.ones(3)
        assert torch.ones(3).resize_(2).shape == (2,)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        x.resize_(4)
    assert x.shape == (3,)
