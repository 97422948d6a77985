"""Lines of the program in errors: which needed a value, which changed it, and which cut a history."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import livetape as torch
from livetape._tape.modes import state
from livetape.autograd import Function
from livetape.inspect import explain_grad, line_of, record_lines


def x() -> Any:
    return torch.ones(3, requires_grad=True)


def here(offset: int = 0) -> str:
    return f"{__file__}:{sys._getframe(1).f_lineno + offset}"


def short(place: str) -> str:
    return place.rpartition("/")[2]


def notes_of(call: Callable[[], Any]) -> str:
    with pytest.raises(RuntimeError) as caught:
        call()
    return "\n".join(caught.value.__notes__)


def changed_input() -> tuple[Any, str, str]:
    y = x() * 2
    z = y * y
    y.add_(1)
    y[0] = 3
    return z, here(-3), here(-2)


def changed_result() -> tuple[Any, str, str]:
    z = x().exp()
    z.mul_(2)
    return z, here(-2), here(-1)


def changed_through_a_view() -> tuple[Any, str, str]:
    y = x() * 2
    z = y[:2] * y[1:]
    y.copy_(torch.zeros(3))
    return z, here(-2), here(-1)


def changed_through_a_detached_twin() -> tuple[Any, str, str]:
    y = x() * 2
    z = y.sin()
    y.detach().zero_()
    return z, here(-2), here(-1)


def changed_for_a_function() -> tuple[Any, str, str]:
    class Twice(Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            out = a * 2
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return ctx.saved_tensors[0] * grad

    z = Twice.apply(x())
    z.detach().fill_(1)
    return z, here(-2), here(-1)


def changed_by_index_put() -> tuple[Any, str, str]:
    y = x() * 2
    z = y.exp() * y
    y.index_put_((torch.tensor([0]),), torch.tensor(5.0))
    return z, here(-2), here(-1)


@pytest.mark.parametrize(
    "program",
    [
        changed_input,
        changed_result,
        changed_through_a_view,
        changed_through_a_detached_twin,
        changed_for_a_function,
        changed_by_index_put,
    ],
)
def test_a_version_error_names_both_lines(program: Callable[[], tuple[Any, str, str]]) -> None:
    with record_lines():
        z, needs, changes = program()
    notes = notes_of(lambda: z.sum().backward())
    assert f"saved this value at {needs} and needs it unchanged" in notes
    assert f"it was changed at {changes}" in notes
    assert "record_lines" not in notes


def test_several_changes_are_counted() -> None:
    with record_lines():
        z, _, changes = changed_input()
    assert f"it was changed at {changes}, and 2 times in all." in notes_of(lambda: z.sum().backward())


def test_changes_before_the_value_was_saved_are_no_fault() -> None:
    with record_lines():
        y = x() * 2
        y.add_(1)
        z = y.exp() * y
        y.mul_(2)
        changes = here(-1)
    notes = notes_of(lambda: z.sum().backward())
    assert f"it was changed at {changes}." in notes


def test_without_recording_the_switch_is_named() -> None:
    z, _, _ = changed_result()
    notes = notes_of(lambda: z.sum().backward())
    assert "record_lines(True) adds the lines" in notes
    assert "changed at" not in notes
    assert z.version is not None and z.version.changes is None


def test_many_changes_are_not_all_kept() -> None:
    t = torch.zeros(1)
    with record_lines():
        for _ in range(500):
            t.add_(1)
    assert t._version == 500
    assert len(t.version.changes) <= 200


def test_histories_of_views_know_their_lines() -> None:
    with record_lines():
        y = x() * 2
        view = y[:2]
        view.copy_(torch.ones(2))
        copied = here(-1)
        part = y[1:]
        y.sub_(1)
        assert line_of(y.grad_fn) == here(-1)
        assert line_of(part.grad_fn) == here()  # made when it is looked at
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::CopySlices"
    assert line_of(y.grad_fn.next_functions[0][0]) == copied


def test_where_a_history_was_cut() -> None:
    with record_lines():
        w = x()
        twin = (w * 2).detach()
        line = here(-1)
        loss = (twin.exp() * 3).sum()  # what comes of it has no history either
        with torch.no_grad():
            quiet = torch.cat([w, w]).sum()
            quiet_line = here(-1)
        with torch.inference_mode():
            made = w + 1
            made_line = here(-1)
        data = w.data
        data_line = here(-1)
    assert f"cut by detach() at {line}" in notes_of(loss.backward)
    assert f"cut under no_grad() at {quiet_line}" in notes_of(quiet.backward)
    assert short(line) in explain_grad(w, loss)
    assert short(quiet_line) in explain_grad(quiet)
    assert short(made_line) in explain_grad(made)
    assert short(data_line) in explain_grad(data)
    plain = (x() * 2).detach()
    assert plain.extras is None  # nothing is noted while the switch is off


def test_results_that_never_had_a_history_are_not_said_to_have_lost_it() -> None:
    with record_lines():
        loss = torch.ones(3).exp().detach().sum()
    notes = notes_of(loss.backward)
    assert "cut" not in notes
    assert "explain_grad" in notes


def test_errors_point_to_what_explains_them() -> None:
    leaf = x()
    assert "under torch.no_grad()" in notes_of(lambda: leaf.add_(1))
    assert "under torch.no_grad()" in notes_of(lambda: leaf[:1].add_(1))
    loss = leaf.exp().sum()
    loss.backward()
    assert "graph_text(loss)" in notes_of(loss.backward)
    assert "explain_grad(inputs[0], outputs)" in notes_of(lambda: torch.autograd.grad(leaf.sum(), x()))
    assert not state.watching
