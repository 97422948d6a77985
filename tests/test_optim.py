"""Optimisers and schedules: the updates of torch 2.13, its errors and its printed text."""

from __future__ import annotations

import copy
import json
import math
import pickle
import warnings
from pathlib import Path

import long_training
import pytest

import livetape as torch
import livetape.optim
from livetape.optim import lr_scheduler as S

RECORDED = json.loads((Path(__file__).parent / "data" / "optim.json").read_text())

CASES = {
    "sgd": ("SGD", {"lr": 0.1}, "float32"),
    "sgd decay maximize": ("SGD", {"lr": 0.1, "weight_decay": 0.3, "maximize": True}, "float32"),
    "sgd momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}, "float32"),
    "sgd nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, "float64"),
    "sgd complex": ("SGD", {"lr": 0.1, "momentum": 0.9}, "complex64"),
    "sgd foreach": ("SGD", {"lr": 0.1, "momentum": 0.9, "foreach": True, "maximize": True}, "float32"),
    "adam": ("Adam", {"lr": 0.1}, "float32"),
    "adam 64": ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}, "float64"),
    "adam maximize": ("Adam", {"lr": 0.1, "maximize": True, "betas": (0.5, 0.6), "eps": 0.1}, "float32"),
    "adam complex": ("Adam", {"lr": 0.1, "amsgrad": True}, "complex64"),
    "adam fused": ("Adam", {"lr": 0.1, "fused": True}, "float32"),
    "adamw": ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True}, "float32"),
    "rmsprop": ("RMSprop", {"lr": 0.1}, "float32"),
    "rmsprop all": ("RMSprop", {"lr": 0.1, "momentum": 0.5, "centered": True, "weight_decay": 0.1}, "float64"),
    "adagrad": (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.3},
        "float32",
    ),
    "adagrad complex": ("Adagrad", {"lr": 0.1, "maximize": True}, "complex64"),
    "adadelta": ("Adadelta", {"lr": 0.5, "rho": 0.5, "eps": 0.1, "weight_decay": 0.1}, "float32"),
    "adamax": ("Adamax", {"lr": 0.1, "betas": (0.5, 0.6), "weight_decay": 0.1}, "float32"),
    "nadam": ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1}, "float32"),
    "nadam decoupled": ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}, "float64"),
    "radam": ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "betas": (0.5, 0.6)}, "float32"),
    "radam late": ("RAdam", {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1}, "float32"),
    "asgd": ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 3, "weight_decay": 0.1}, "float32"),
    "rprop": ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.05, 0.2)}, "float32"),
    "adafactor": ("Adafactor", {"lr": 0.1, "weight_decay": 0.1}, "float32"),
    "muon": ("Muon", {"lr": 0.1}, "float32"),
}


def run(cls, kw, dtype, steps=6):
    """Two parameters, the second without gradient in one step: what they and the state are in the end."""

    def make(k, s):
        values = [math.cos((i + 1) * (s + 1)) * (k + 1) for i in range(6)]
        return torch.tensor(values, dtype=torch.float64).reshape(2, 3).to(getattr(torch, dtype))

    params = [make(k, 0).requires_grad_() for k in range(2)]
    optimizer = getattr(torch.optim, cls)(params, **kw)
    for s in range(steps):
        for k, param in enumerate(params):
            param.grad = None if (k, s) == (1, 3) else param.detach() * 2 + make(k, s + 1)
        optimizer.step()

    def listed(tensor):
        tensor = tensor.detach()
        flat = (torch.view_as_real(tensor) if tensor.is_complex() else tensor).double().reshape(-1)
        return [str(tensor.dtype), list(tensor.shape), [float(f"{x:.9g}") for x in flat.tolist()]]

    state = optimizer.state_dict()["state"]
    return {
        "params": [listed(p) for p in params],
        "repr": repr(optimizer),
        "state": {str(k): {name: listed(v) for name, v in entry.items()} for k, entry in state.items()},
    }


TOLERANCE = {"float64": 1e-8, "float32": 3e-6, "complex64": 3e-6}


@pytest.mark.parametrize("name", CASES)
def test_updates_are_those_of_torch(name):
    cls, kw, dtype = CASES[name]
    found, recorded = run(cls, kw, dtype), RECORDED[name]
    # Muon's bfloat16 rounding amplifies the last bits of a matrix product.
    tolerance = 0.03 if name == "muon" else TOLERANCE[dtype]
    assert found["repr"] == recorded["repr"]
    assert found["state"].keys() == recorded["state"].keys()
    pairs = list(zip(found["params"], recorded["params"], strict=True))
    for key, entry in recorded["state"].items():
        assert list(found["state"][key]) == list(entry)
        pairs += [(found["state"][key][k], v) for k, v in entry.items()]
    for (kind, shape, values), (kind2, shape2, values2) in pairs:
        assert (kind, shape) == (kind2, shape2)
        assert values == pytest.approx(values2, rel=tolerance, abs=tolerance)


LONG = json.loads((Path(__file__).parent / "data" / "long_training.json").read_text())


@pytest.mark.parametrize("case", long_training.CASES)
def test_a_hundred_steps_are_those_of_torch(case):
    found = long_training.trained(torch, *long_training.CASES[case])
    assert found == pytest.approx(LONG[case], rel=1e-8, abs=1e-9)


def leaf(*values, **kw):
    return torch.tensor(values, requires_grad=True, **kw)


def flat(tensor):
    return tensor.detach().reshape(-1).tolist()


@pytest.mark.parametrize(
    "cls,kw",
    [
        ("SGD", {"weight_decay": 0.1}),
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
        ("AdamW", {}),
        ("RMSprop", {}),
    ],
)
def test_large_parameters_go_in_blocks(cls, kw):
    """More elements than a block holds, contiguous or not, end where small ones do."""
    n = 70_000
    small, large = torch.ones(4).requires_grad_(), torch.ones(4, n // 4).requires_grad_()
    turned = torch.ones(n // 4, 4).requires_grad_()
    optimizers = [getattr(torch.optim, cls)([p], lr=0.1, **kw) for p in (small, large, turned)]
    for step in range(3):
        g = torch.tensor([1.0, -2.0, 0.5, float(step)])
        small.grad = g
        large.grad = g.reshape(4, 1).expand(4, n // 4).clone()
        turned.grad = large.grad.t()
        for optimizer in optimizers:
            optimizer.step()
    assert (large.detach() == small.detach().reshape(4, 1)).all().item()
    assert (turned.detach() == small.detach()).all().item()


@pytest.mark.parametrize("kw", [{}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True}])
def test_small_parameters_of_adam_are_packed_and_nothing_shows(kw):
    def build():
        matrix = torch.arange(6.0).reshape(2, 3).clone().requires_grad_()
        return [leaf(1.0, 2.0), leaf(3.0), torch.tensor(4.0, requires_grad=True), matrix]

    together, alone = build(), build()
    one = torch.optim.AdamW(together, lr=0.1, **kw)
    many = [torch.optim.AdamW([p], lr=0.1, **kw) for p in alone]
    arrays = [p.detach().numpy() for p in together]
    for step in range(12):
        for p, q in zip(together, alone, strict=True):
            p.grad = None if step == 5 and p.dim() == 0 else p.detach() * 0.5 + step
            q.grad = p.grad
        if step == 3:  # what another optimiser loads must not share memory with this one
            one.load_state_dict(one.state_dict())
        if step == 8:
            state = one.state[together[0]]
            state["exp_avg"] = state["exp_avg"].clone()
        one.step()
        for optimizer in many:
            optimizer.step()
    for p, q, array in zip(together, alone, arrays, strict=True):
        assert flat(p) == pytest.approx(flat(q), abs=1e-6)
        assert array.tolist() == p.tolist()
    for p, q in zip(together, alone, strict=True):
        mine, other = one.state[p], next(o for o in many if q in o.state).state[q]
        for name, value in other.items():
            assert flat(mine[name]) == pytest.approx(flat(value), abs=1e-6)


def test_adamw_decays_however_slowly():
    p = leaf(1.0)
    optimizer = torch.optim.AdamW([p], lr=1e-4, weight_decay=1e-4)
    for _ in range(1000):
        p.grad = torch.zeros(1)
        optimizer.step()
    assert f"{p.item():.6f}" == "0.999990"


def test_step_counts_as_an_inplace_change():
    p, q = leaf(2.0, 3.0), leaf(2.0)
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop):
        optimizer = make([p, q], lr=0.1)
        before = p._version, q._version
        loss = (p * p).sum() + (q * q).sum()
        loss.backward()
        (p * p).sum()
        kept = (p * p).sum()
        optimizer.step()
        assert p._version == before[0] + 1 and q._version == before[1] + 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            kept.backward()
        optimizer.zero_grad()


def test_loading_copies():
    a, b = leaf(1.0, 1.0), leaf(1.0, 1.0)
    one, two = (torch.optim.SGD([p], lr=0.1, momentum=0.5) for p in (a, b))
    a.grad = torch.ones(2)
    one.step()
    two.load_state_dict(one.state_dict())
    b.grad = torch.full((2,), 4.0)
    two.step()
    assert one.state[a]["momentum_buffer"].tolist() == [1.0, 1.0]
    assert two.state[b]["momentum_buffer"].tolist() == [4.5, 4.5]


def test_loading_casts_to_the_parameters_dtype():
    p = leaf(1.0)
    optimizer = torch.optim.Adam([p])
    p.grad = torch.ones(1)
    optimizer.step()
    q = leaf(1.0, dtype=torch.float64)
    other = torch.optim.Adam([q])
    other.load_state_dict(optimizer.state_dict())
    state = other.state[q]
    assert state["exp_avg"].dtype is torch.float64 and state["step"].dtype is torch.float32
    q.grad = torch.ones(1, dtype=torch.float64)
    other.step()
    assert state["step"].item() == 2


def test_copies_are_independent():
    p = leaf(1.0, 2.0)
    optimizer = torch.optim.Adam([p], lr=0.1)
    p.grad = torch.ones(2)
    optimizer.step()
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        q = twin.param_groups[0]["params"][0]
        assert q is not p and q in twin.state
        q.grad = torch.ones(2)
        twin.step()
        assert twin.state[q]["step"].item() == 2
    assert optimizer.state[p]["step"].item() == 1


ERRORS = [
    (
        lambda w: torch.optim.SGD(w),
        TypeError,
        "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor",
    ),
    (lambda w: torch.optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
    (lambda w: torch.optim.SGD([w, 3]), TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
    (lambda w: torch.optim.SGD([w * 2]), ValueError, "can't optimize a non-leaf Tensor"),
    (
        lambda w: torch.optim.SGD([{"params": {w}}]),
        TypeError,
        "optimizer parameters need to be organized in ordered "
        "collections, but the ordering of tensors in sets will change between runs. Please use a list instead.",
    ),
    (
        lambda w: torch.optim.SGD([{"params": [w]}, {"params": [w]}]),
        ValueError,
        "some parameters appear in more than one parameter group",
    ),
    (
        lambda w: torch.optim.SGD([("a", w), w]),
        ValueError,
        "all optimizer params should be with/without names. Some param names are missing",
    ),
    (
        lambda w: torch.optim.SGD([w]).add_param_group([w]),
        TypeError,
        "param_group must be a dict, but got <class 'list'>",
    ),
    (
        lambda w: torch.optim.SGD([("a", w)]).add_param_group({"params": [torch.ones(1)]}),
        ValueError,
        "all optimizer param groups should be with/without names. cannot add param group without names to the optimizer",
    ),
    (lambda w: torch.optim.SGD([w], lr=-1), ValueError, "Invalid learning rate: -1"),
    (lambda w: torch.optim.SGD([w], lr=torch.ones(2)), ValueError, "Tensor lr must be 1-element"),
    (
        lambda w: torch.optim.SGD([w], nesterov=True),
        ValueError,
        "Nesterov momentum requires a momentum and zero dampening",
    ),
    (
        lambda w: torch.optim.SGD([w], fused=True, foreach=True),
        RuntimeError,
        "`fused` and `foreach` cannot be `True` together.",
    ),
    (lambda w: torch.optim.Adam([w], betas=(2, 0.9)), ValueError, "Invalid beta parameter at index 0: 2"),
    (lambda w: torch.optim.Adam([w], eps=-1), ValueError, "Invalid epsilon value: -1"),
    (
        lambda w: torch.optim.Adam([w], fused=True, differentiable=True),
        RuntimeError,
        "`fused` does not support `differentiable`",
    ),
    (
        lambda w: torch.optim.Adam([w], betas=(torch.tensor(0.9), 0.99)),
        ValueError,
        "betas must be either both floats or both Tensors",
    ),
    (lambda w: torch.optim.RMSprop([w], alpha=-1), ValueError, "Invalid alpha value: -1"),
    (lambda w: torch.optim.Adadelta([w], rho=2), ValueError, "Invalid rho value: 2"),
    (lambda w: torch.optim.Rprop([w], etas=(2, 3)), ValueError, "Invalid eta values: 2, 3"),
    (
        lambda w: torch.optim.LBFGS([{"params": [w]}, {"params": [torch.ones(1)]}]),
        ValueError,
        "LBFGS doesn't support per-parameter options (parameter groups)",
    ),
    (
        lambda w: torch.optim.Muon([w]),
        ValueError,
        "Muon only supports 2D parameters whereas we found a parameter with size: torch.Size([1])",
    ),
    (
        lambda w: torch.optim.SGD([w, w.detach()]).load_state_dict(torch.optim.SGD([w]).state_dict()),
        ValueError,
        "loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
    ),
    (lambda w: S.StepLR(3, 1), TypeError, "int is not an Optimizer"),
    (lambda w: S.LambdaLR(torch.optim.SGD([w]), [abs, abs]), ValueError, "Expected 1 lr_lambdas, but got 2"),
    (
        lambda w: S.OneCycleLR(torch.optim.SGD([w]), 1.0),
        ValueError,
        "You must define either total_steps OR (epochs AND steps_per_epoch)",
    ),
    (lambda w: S.ReduceLROnPlateau(torch.optim.SGD([w]), factor=1.0), ValueError, "Factor should be < 1.0."),
    (
        lambda w: S.ChainedScheduler([]),
        ValueError,
        "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.",
    ),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors_in_torchs_words(case):
    call, kind, message = ERRORS[case]
    with pytest.raises(kind) as caught:
        call(leaf(1.0))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "foreach", "what", "xla"),
    [
        ("Adam", None, "params and state_steps", True),
        ("Adam", True, "params and state_steps", False),
        ("NAdam", False, "params, mu_products and state_steps", True),
        ("NAdam", True, "params, mu_products, and state_steps", False),
        ("ASGD", True, "params, mus, etas, and state_steps", False),
        ("RMSprop", True, "params and state_steps", True),
        ("Adadelta", None, "params and state_steps", False),
    ],
)
def test_capturable_is_refused_at_the_step(name, foreach, what, xla):
    w = leaf(1.0)
    w.grad = torch.ones(1)
    optimizer = getattr(torch.optim, name)([w], capturable=True, foreach=foreach)
    with pytest.raises(AssertionError) as caught:
        optimizer.step()
    devices = ["cuda", "xpu", "hpu", "privateuseone"] + ["xla"] * xla
    assert str(caught.value) == f"If capturable=True, {what} must be on supported devices: {devices}."


def test_a_repeated_parameter_draws_a_warning_and_two_updates():
    w = leaf(1.0)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = torch.optim.SGD([w, w], lr=0.1)
    w.grad = torch.ones(1)
    optimizer.step()
    assert w.item() == pytest.approx(0.8)


def test_hooks_around_steps_and_states():
    from livetape.optim.optimizer import register_optimizer_step_post_hook

    w, seen = leaf(1.0), []
    optimizer = torch.optim.SGD([w], lr=0.1)
    w.grad = torch.ones(1)
    first = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", w.item())))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("post", round(w.item(), 4))))
    with register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append(("all", type(o).__name__))):
        optimizer.step()
    first.remove()
    optimizer.step()
    assert seen == [("pre", 1.0), ("post", 0.9), ("all", "SGD"), ("post", 0.8)]
    bad = torch.optim.SGD([w])
    bad.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 3\."):
        bad.step()
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    assert optimizer.state_dict()["more"] == 1


def test_a_subclass_with_a_step_of_its_own_gets_hooks_and_a_schedule():
    class Mine(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 1.0})

        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    with torch.no_grad():
                        p -= group["lr"]

    w, seen = leaf(5.0), []
    optimizer = Mine([w])
    schedule = S.ExponentialLR(optimizer, 0.5)
    optimizer.register_step_post_hook(lambda *args: seen.append(w.item()))
    for _ in range(3):
        optimizer.step()
        schedule.step()
    assert seen == [4.0, 3.5, 3.25]


def test_closures_run_with_gradients_on():
    w = leaf(4.0)
    optimizer = torch.optim.Adam([w], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (w**2).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 16.0
    assert w.grad.item() == 8.0


def test_zero_grad():
    w = leaf(1.0)
    optimizer = torch.optim.SGD([w])
    w.grad = held = torch.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert w.grad is held and held.item() == 0.0
    optimizer.zero_grad()
    assert w.grad is None


def test_differentiable_steps_are_on_the_tape():
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop, torch.optim.Adagrad):
        start, scale = leaf(1.0, -2.0), leaf(0.5)
        p = start.clone()
        optimizer = make([p], lr=0.1, differentiable=True)
        p.grad = start * scale
        optimizer.step()
        (g,) = torch.autograd.grad(p.sum(), scale)
        assert g.shape == (1,)
        if make is torch.optim.SGD:
            assert g.item() == pytest.approx(0.1)  # -0.1 * (1 - 2)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_finds_the_minimum_of_rosenbrocks_valley(search):
    w = leaf(-1.5, 2.0, dtype=torch.float64)
    optimizer = torch.optim.LBFGS([w], lr=1.0 if search else 0.1, max_iter=200, max_eval=1000, line_search_fn=search)

    def closure():
        optimizer.zero_grad()
        loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
        loss.backward()
        return loss

    for _ in range(1 if search else 5):
        optimizer.step(closure)
    assert w.tolist() == pytest.approx([1.0, 1.0], abs=1e-3)


def test_the_line_search_of_lbfgs_ends_with_the_evaluations_that_are_left():
    w = leaf(-1.2, 1.0, 0.5, dtype=torch.float64)
    optimizer = torch.optim.LBFGS([w], lr=1, line_search_fn="strong_wolfe", max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = (1 - w[0]) ** 2 + 5 * (w[1] - w[0] ** 2) ** 2 + (w[2] - w[1] ** 2) ** 2
        loss.backward()
        return loss

    found = []
    for _ in range(4):
        optimizer.step(closure)
        state = optimizer.state[w]
        found.append((state["n_iter"], state["func_evals"], repr(state["t"])))
    # Three evaluations a step: the third one gives up the search at 0.
    assert found == [
        (1, 3, "tensor(0.0186, dtype=torch.float64)"),
        (3, 6, "1"),
        (5, 10, "0"),
        (6, 14, "tensor(0.2063, dtype=torch.float64)"),
    ]
    assert w.tolist() == pytest.approx([-0.12787466678, -0.21559234570, 0.47523140041], rel=1e-10)
    assert list(state)[-1] == "al"


def rates(make, steps=12, **kw):
    optimizer = torch.optim.SGD([leaf(1.0)], lr=1.0, **kw)
    schedule, found = make(optimizer), []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


SCHEDULES = json.loads((Path(__file__).parent / "data" / "schedules.json").read_text())


@pytest.mark.parametrize("text", SCHEDULES)
def test_schedules_are_those_of_torch(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = rates(eval("lambda o: S." + text, {"S": S}), momentum=0.9)
    assert found == pytest.approx(SCHEDULES[text], rel=1e-12, abs=1e-15)


def test_schedules_resume():
    for make in (
        lambda o: S.StepLR(o, 2),
        lambda o: S.CosineAnnealingLR(o, 5),
        lambda o: S.OneCycleLR(o, 1.0, 20),
        lambda o: S.SequentialLR(o, [S.ConstantLR(o), S.ExponentialLR(o, 0.5)], [4]),
    ):
        a, b = (torch.optim.SGD([leaf(1.0)], lr=1.0, momentum=0.9) for _ in range(2))
        one, two = make(a), make(b)
        for _ in range(3):
            a.step()
            one.step()
        two.load_state_dict(pickle.loads(pickle.dumps(one.state_dict())))
        b.load_state_dict(a.state_dict())
        b._opt_called = True
        for _ in range(4):
            a.step()
            one.step()
            two.step()
            assert a.param_groups[0]["lr"] == b.param_groups[0]["lr"]
            assert one.get_last_lr() == two.get_last_lr()


def test_factors_must_be_functions():
    optimizer = torch.optim.SGD([leaf(1.0)], lr=1.0)
    with pytest.raises(TypeError, match=r"^lr_lambda should be a function, but got int$"):
        torch.optim.lr_scheduler.MultiplicativeLR(optimizer, [3])
    with pytest.raises(ValueError, match=r"^Expected 1 lr_lambdas, but got 2$"):
        torch.optim.lr_scheduler.MultiplicativeLR(optimizer, [3, 4])


def test_a_schedule_before_the_optimiser_draws_a_warning():
    optimizer = torch.optim.SGD([leaf(1.0)], lr=1.0)
    schedule = S.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        schedule.step()


def test_tensor_rates_change_in_place():
    rate = torch.tensor(1.0)
    optimizer = torch.optim.SGD([leaf(1.0)], lr=rate)
    schedule = S.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate and rate.item() == 0.5
    assert schedule.base_lrs[0].item() == 1.0


def test_plateau():
    optimizer = torch.optim.SGD([leaf(1.0)], lr=1.0)
    schedule = S.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    found = []
    for metric in (5.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0):
        schedule.step(metric)
        found.append(optimizer.param_groups[0]["lr"])
    assert found == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2]
    assert schedule.state_dict()["best"] == 4.0 and math.isinf(schedule.mode_worse)
