"""Autocast and the gradient scaler: dtypes, nesting, caching and errors as PyTorch has them."""

from __future__ import annotations

import math
import pickle
import threading
import warnings

import pytest

import livetape as torch
import livetape.nn.functional as F
from livetape._tape.modes import state
from livetape.amp import _casts
from livetape.ops.table import TABLE
from livetape.thread_modes import casting

x = torch.linspace(-1, 1, 16).view(4, 4)
half = x.to(torch.bfloat16)


def run(function, *args, dtype=None):
    with torch.autocast("cpu", dtype=dtype):
        return function(*args)


def test_the_lists_name_rows():
    names = {op.name for op in TABLE.values()}
    assert names >= _casts.LOWER | _casts.SINGLE | _casts.WIDEST


@pytest.mark.parametrize(
    ("expected", "function", "args"),
    [
        ("bfloat16", torch.matmul, (x, x)),
        ("bfloat16", torch.matmul, (x, x[0])),
        ("bfloat16", torch.matmul, (x[0], x[0])),
        ("bfloat16", torch.matmul, (x, half)),
        ("bfloat16", torch.mm, (x, half)),
        ("bfloat16", torch.addmm, (x, half, x)),
        ("bfloat16", F.linear, (x, x, x[0])),
        ("bfloat16", F.conv1d, (x[None], x[None], half[0][:1])),
        ("bfloat16", F.prelu, (x, x[0][:1])),
        ("bfloat16", F.scaled_dot_product_attention, (x, x, x)),
        ("bfloat16", torch.linalg.vecdot, (x, x)),
        ("bfloat16", torch.einsum, ("ij,jk->ik", x, x)),
        ("bfloat16", torch.sum, (half,)),
        ("bfloat16", F.softmax, (half, 1)),
        ("bfloat16", F.gelu, (half,)),
        ("bfloat16", torch.cat, ([half, half],)),
        ("float32", torch.cat, ([x, half],)),
        ("float32", torch.stack, ([half, x],)),
        ("float32", torch.add, (x, half)),
        ("float32", torch.mv, (x, x[0])),
        ("float32", torch.dot, (x[0], x[0])),
        ("float32", torch.outer, (x[0], x[0])),
        ("float32", torch.tensordot, (x, x)),
        ("float32", F.bilinear, (x, x, x.view(1, 4, 4))),
        ("float32", F.mse_loss, (half, half)),
        ("float32", F.l1_loss, (half, half)),
        ("float32", F.cross_entropy, (half, torch.tensor([0, 1, 2, 3]))),
        ("float32", F.cosine_embedding_loss, (half, half, torch.ones(4))),
        ("float32", F.max_pool3d, (half[None, None, None], (1, 2, 2))),
        ("float32", torch.prod, (half,)),
        ("float32", torch.cdist, (half, half)),
        ("float32", torch.quantile, (half, 0.5)),
        ("float32", torch.linalg.svdvals, (half,)),
        ("complex64", torch.fft.fft, (half,)),
        ("complex64", torch.matmul, (x + 0j, x + 0j)),
        ("float64", torch.matmul, (x.double(), x.double())),
        ("int64", torch.matmul, (x.long(), x.long())),
    ],
)
def test_dtypes(expected, function, args):
    found = run(function, *args)
    assert str(found.dtype) == "torch." + expected


def test_methods_and_operators():
    assert run(lambda: x @ x).dtype is torch.bfloat16
    assert run(lambda: x.matmul(x)).dtype is torch.bfloat16
    assert run(lambda: half.prod()).dtype is torch.float32
    assert run(lambda: x @ x, dtype=torch.float16).dtype is torch.float16


def test_what_has_a_place_to_go_is_left_alone():
    out = torch.empty(4, 4)
    assert run(lambda: torch.mm(x, x, out=out)) is out
    assert torch.equal(out, x @ x)
    assert torch.equal(run(lambda: torch.zeros(4, 4).addmm_(x, x)), x @ x)


def test_mixtures_that_are_refused():
    with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype"):
        run(torch.mm, x.double(), x)
    with pytest.raises(RuntimeError, match="Unexpected floating ScalarType in at::autocast::prioritize"):
        run(torch.cat, [x.half(), half])


def test_modules():
    with torch.autocast("cpu"):
        hidden = torch.nn.Conv2d(1, 2, 3)(torch.ones(1, 1, 5, 5))
        assert hidden.dtype is torch.bfloat16
        assert torch.nn.BatchNorm2d(2)(hidden).dtype is torch.bfloat16
        assert torch.nn.LSTMCell(4, 3)(x)[0].dtype is torch.float32
        assert torch.nn.RNN(4, 3)(x)[0].dtype is torch.bfloat16
        assert torch.nn.GRU(4, 3)(x)[0].dtype is torch.float32
        attended, weights = torch.nn.MultiheadAttention(4, 2)(x, x, x)
        assert (attended.dtype, weights.dtype) == (torch.bfloat16, torch.bfloat16)


def test_training_step():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    data = torch.randn(5, 4, requires_grad=True)
    with torch.autocast("cpu"):
        out = model(data)
        loss = F.cross_entropy(out, torch.tensor([0, 1, 2, 0, 1]))
    loss.backward()
    assert (out.dtype, loss.dtype, data.grad.dtype) == (torch.bfloat16, torch.float32, torch.float32)
    assert abs(loss.item() - 1.0700) < 2e-3
    assert [p.grad.dtype for p in model.parameters()] == [torch.float32] * 4
    assert abs(model[0].weight.grad[0, 0].item() - 4.4922e-02) < 1e-3


def weight_cast(y):
    return y.grad_fn.next_functions[2][0].next_functions[0][0]


def test_casts_of_leaves_are_remembered():
    layer = torch.nn.Linear(4, 4)
    with torch.autocast("cpu"):
        with torch.no_grad():
            layer(x)
        first, second = layer(x), layer(x)
        assert weight_cast(first) is weight_cast(second)
        assert weight_cast(first).name() == "ToCopyBackward0"
        torch.clear_autocast_cache()
        assert weight_cast(layer(x)) is not weight_cast(first)
    with torch.autocast("cpu"):
        assert weight_cast(layer(x)) is not weight_cast(first)
    with torch.autocast("cpu", cache_enabled=False):
        assert weight_cast(layer(x)) is not weight_cast(layer(x))
    assert _casts.settings().cache == {}


def test_nesting():
    seen = []
    with torch.autocast("cpu"):
        seen += [torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled()]
        with torch.autocast("cpu", enabled=False):
            seen += [torch.is_autocast_enabled("cpu"), (x @ x).dtype]
            with torch.autocast("cpu", dtype=torch.float16):
                seen += [torch.get_autocast_dtype("cpu"), (x @ x).dtype]
            seen.append(torch.get_autocast_dtype("cpu"))
        seen.append((x @ x).dtype)
    assert seen == [True, False, False, torch.float32, torch.float16, torch.float16, torch.bfloat16, torch.bfloat16]
    assert not torch.is_autocast_enabled("cpu")
    assert (state.interposed, casting.threads) == (0, 0)


def test_an_error_leaves_nothing_on():
    with pytest.raises(RuntimeError), torch.autocast("cpu"):
        x @ torch.ones(3)
    assert (x @ x).dtype is torch.float32
    assert (state.interposed, casting.threads) == (0, 0)


def test_threads_have_their_own():
    seen = []
    with torch.autocast("cpu"):
        other = threading.Thread(target=lambda: seen.append((torch.is_autocast_enabled("cpu"), (x @ x).dtype)))
        other.start()
        other.join()
    assert seen == [(False, torch.float32)]


def test_decorator():
    @torch.autocast("cpu")
    def product(a, b):
        """Says what it does."""
        return a @ b

    assert product(x, x).dtype is torch.bfloat16
    assert (product.__name__, product.__doc__) == ("product", "Says what it does.")


def test_custom_functions():
    seen = []

    def make(**options):
        class Product(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cpu", **options)
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                seen.append((torch.is_autocast_enabled("cpu"), a.dtype))
                return a @ b

            @staticmethod
            @torch.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                a, b = ctx.saved_tensors
                seen.append((torch.is_autocast_enabled("cpu"), grad.dtype))
                return grad @ b.t(), a.t() @ grad

        return Product

    w = torch.ones(4, 4, requires_grad=True)
    y = run(make().apply, x, w)
    y.sum().backward()
    z = run(make(cast_inputs=torch.float32).apply, half, w.to(torch.bfloat16))
    z.sum().backward()
    assert (y.dtype, z.dtype) == (torch.bfloat16, torch.float32)
    assert seen == [
        (True, torch.float32),
        (True, torch.bfloat16),
        (False, torch.float32),
        (False, torch.float32),
    ]


def test_transforms():
    with torch.autocast("cpu"):
        assert torch.func.grad(lambda w: (w @ x).sum())(x).dtype is torch.float32
        assert torch.func.vmap(lambda row: x @ row)(x).dtype is torch.bfloat16
        assert torch.func.jvp(lambda w: w @ x, (x,), (x,))[1].dtype is torch.bfloat16


def test_backward_inside():
    seen = []
    leaf = torch.ones(3, 3, requires_grad=True)
    with torch.autocast("cpu"):
        y = leaf * 1.0
        y.register_hook(lambda g: seen.append((g @ g).dtype))
        total = y.sum()
        total.backward(retain_graph=True)
    total.backward()
    assert seen == [torch.bfloat16, torch.float32]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((3,), ValueError, "Expected `device_type` of type `str`, got: `<class 'int'>`"),
        (("foo",), RuntimeError, "Expected one of cpu, cuda, .* device type at start of device string: foo"),
        (("meta",), RuntimeError, "unsupported scalarType"),
        (("hip",), RuntimeError, "User specified an unsupported autocast device_type 'hip'"),
    ],
)
def test_wrong_devices(arguments, kind, message):
    with pytest.raises(kind, match=message):
        torch.autocast(*arguments)


def test_warnings():
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported. Disabling autocast."):
        assert run(lambda: x @ x, dtype=torch.float32).dtype is torch.float32
    with pytest.warns(UserWarning, match="CUDA is not available or torch_xla is imported. Disabling autocast."):
        torch.autocast("cuda")
    with pytest.warns(FutureWarning, match=r"`torch.cpu.amp.autocast\(args...\)` is deprecated"):
        assert torch.cpu.amp.autocast().fast_dtype is torch.bfloat16
    with pytest.warns(DeprecationWarning, match=r"torch.is_autocast_cpu_enabled\(\) is deprecated"):
        assert torch.is_autocast_cpu_enabled() is False


def test_switches():
    assert torch.get_autocast_dtype("cuda") is torch.float16
    assert [torch.amp.is_autocast_available(d) for d in ("cpu", "cuda", "mps", "meta")] == [True, True, True, False]
    torch.set_autocast_enabled("cpu", True)
    assert (x @ x).dtype is torch.bfloat16
    torch.set_autocast_enabled("cpu", False)
    assert (x @ x).dtype is torch.float32
    with pytest.raises(TypeError, match=r"argument 'device_type' .position 1. must be str, not int"):
        torch.is_autocast_enabled(3)


# ---------------------------------------------------------------- the scaler
def made(scale=65536.0, **options):
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, **options)
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    return scaler, p, torch.optim.SGD([p], lr=0.1)


def test_scaler():
    scaler, p, optimizer = made()
    scaler.scale((p * p).sum()).backward()
    assert p.grad.tolist() == [131072.0, 262144.0]
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [2.0, 4.0]
    scaler.step(optimizer)
    scaler.update()
    assert [round(v, 4) for v in p.tolist()] == [0.8, 1.6]
    assert scaler.state_dict() == {
        "scale": 65536.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2000,
        "_growth_tracker": 1,
    }
    optimizer.zero_grad()
    scaler.scale((p * math.inf).sum()).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert [round(v, 4) for v in p.tolist()] == [0.8, 1.6]
    assert (scaler.get_scale(), scaler.state_dict()["_growth_tracker"]) == (32768.0, 0)
    again = pickle.loads(pickle.dumps(scaler))
    assert again.get_scale() == 32768.0


def test_scale_grows():
    scaler, p, optimizer = made(growth_interval=1)
    scaler.scale((p * p).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 131072.0


def test_scaler_takes_lists():
    scaler, _, _ = made()
    assert scaler.scale([torch.ones(1), (torch.ones(1),)]) == [torch.tensor([65536.0]), (torch.tensor([65536.0]),)]


def test_scaler_out_of_order():
    scaler, p, optimizer = made()
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)
    scaler.scale((p * p).sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(
        RuntimeError, match=r"unscale_.. has already been called on this optimizer since the last update"
    ):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step.. has already been called since the last update"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_.. is being called after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning of an iteration"):
        pickle.dumps(scaler)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: 0)


def test_scaler_refuses_half_gradients():
    scaler = torch.amp.GradScaler("cpu")
    p = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
    scaler.scale((p * p).sum()).backward()
    with pytest.raises(ValueError, match=r"Attempting to unscale FP16 gradients."):
        scaler.unscale_(torch.optim.SGD([p], lr=0.1))


def test_scaler_without_a_device():
    with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available.  Disabling."):
        scaler = torch.amp.GradScaler("cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (scaler.is_enabled(), scaler.get_scale(), scaler.scale(3), scaler.state_dict()) == (False, 1.0, 3, {})


def test_there_is_no_cuda():
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    torch.cuda.manual_seed_all(0)
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.cuda.synchronize()
