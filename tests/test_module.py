"""Modules: registration, hooks, states, containers, and what torch says to mistakes."""

from __future__ import annotations

import copy
import pickle
import re
import weakref
from collections import OrderedDict

import pytest

import livetape as torch
from livetape import nn
from livetape.nn.modules import module as module_file


def ones(module):
    with torch.no_grad():
        for p in module.parameters():
            p.fill_(1.0)
    return module


class Full(nn.Module):
    """One of everything that a module registers."""

    def __init__(self):
        super().__init__()
        self.child = nn.Linear(1, 1)
        self.register_buffer("kept", torch.ones(1))
        self.register_buffer("dropped", torch.ones(2), persistent=False)
        self.weight = nn.Parameter(torch.ones(1))
        self.made = nn.Buffer(torch.zeros(1))
        self.lost = nn.Buffer(torch.zeros(1), persistent=False)
        self.register_parameter("none", None)
        self.plain = 3

    def forward(self, x, scale=1):
        return self.child(x) * self.weight * scale


def test_what_is_registered():
    m = Full()
    assert [n for n, _ in m.named_parameters()] == ["weight", "child.weight", "child.bias"]
    assert [n for n, _ in m.named_buffers()] == ["kept", "dropped", "made", "lost"]
    assert list(m.state_dict()) == ["weight", "kept", "made", "child.weight", "child.bias"]
    assert [n for n, _ in m.named_modules()] == ["", "child"]
    assert "plain" in m.__dict__ and "weight" not in m.__dict__
    assert {"weight", "child", "kept", "forward", "plain"} <= set(dir(m))
    assert repr(m) == "Full(\n  (child): Linear(in_features=1, out_features=1, bias=True)\n)"
    del m.child, m.kept, m.weight, m.plain
    assert not hasattr(m, "child") and list(m.state_dict()) == ["made"]


def test_shared_modules_and_parameters_come_once():
    shared = nn.Linear(1, 1, bias=False)
    net = nn.Sequential(shared, shared, nn.Linear(1, 1, bias=False))
    net[2].weight = shared.weight
    assert [n for n, _ in net.named_parameters()] == ["0.weight"]
    assert [n for n, _ in net.named_parameters(remove_duplicate=False)] == ["0.weight", "1.weight", "2.weight"]
    assert [n for n, _ in net.named_modules()] == ["", "0", "2"]
    assert len(list(net.children())) == 2


class Forgotten(nn.Module):
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    "call,kind,message",
    [
        (lambda: Forgotten(nn.ReLU()), AttributeError, "cannot assign module before Module.__init__() call"),
        (
            lambda: Forgotten(nn.Parameter(torch.ones(1))),
            AttributeError,
            "cannot assign parameters before Module.__init__() call",
        ),
        (
            lambda: Forgotten(nn.Buffer(torch.ones(1))),
            AttributeError,
            "cannot assign buffer before Module.__init__() call",
        ),
        (lambda: Forgotten(3).missing, AttributeError, "'Forgotten' object has no attribute 'missing'"),
        (lambda: nn.Module(3), TypeError, "Module.__init__() takes 1 positional argument but 2 were given"),
        (lambda: nn.Module(a=3), TypeError, "Module.__init__() got an unexpected keyword argument 'a'"),
        (lambda: nn.Module()(1), NotImplementedError, 'Module [Module] is missing the required "forward" function'),
        (lambda: Full().register_buffer("a.b", None), KeyError, "'buffer name can\\'t contain \".\"'"),
        (lambda: Full().register_buffer("plain", None), KeyError, "\"attribute 'plain' already exists\""),
        (
            lambda: Full().register_buffer("x", 3),
            TypeError,
            "cannot assign 'int' object to buffer 'x' (torch Tensor or None required)",
        ),
        (
            lambda: Full().register_parameter("x", torch.ones(1)),
            TypeError,
            "cannot assign 'torch.FloatTensor' object to parameter 'x' (torch.nn.Parameter or None required)",
        ),
        (lambda: Full().add_module("x", 3), TypeError, "int is not a Module subclass"),
        (lambda: Full().add_module("", nn.ReLU()), KeyError, "'module name can\\'t be empty string \"\"'"),
        (
            lambda: setattr(Full(), "weight", torch.ones(1)),
            TypeError,
            "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)",
        ),
        (
            lambda: setattr(Full(), "child", torch.ones(1)),
            TypeError,
            "cannot assign 'torch.FloatTensor' as child module 'child' (torch.nn.Module or None expected)",
        ),
        (
            lambda: setattr(Full(), "kept", "x"),
            TypeError,
            "cannot assign 'str' as buffer 'kept' (torch.nn.Buffer, torch.Tensor or None expected)",
        ),
        (lambda: Full().get_submodule("child.x"), AttributeError, "Linear has no attribute `x`"),
        (lambda: Full().get_submodule("child.weight"), AttributeError, "`weight` is not an nn.Module"),
        (lambda: Full().get_parameter("kept"), AttributeError, "`kept` is not an nn.Parameter"),
        (lambda: Full().get_buffer("child.weight"), AttributeError, "`weight` is not a buffer"),
        (lambda: Full().train(3), ValueError, "training mode is expected to be boolean"),
        (
            lambda: Full().to(torch.int32),
            TypeError,
            "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int32",
        ),
        (lambda: Full().load_state_dict(3), TypeError, "Expected state_dict to be dict-like, got <class 'int'>."),
        (lambda: nn.Sequential(nn.ReLU())[1], IndexError, "index 1 is out of range"),
        (
            lambda: nn.ModuleDict({"a": nn.ReLU()}).update([("a",)]),
            ValueError,
            "ModuleDict update sequence element #0 has length 1; 2 is required",
        ),
        (lambda: nn.ParameterList([])(), RuntimeError, "ParameterList should not be called."),
        (lambda: nn.Embedding(3, 2, padding_idx=5), AssertionError, "Padding_idx must be within num_embeddings"),
        (lambda: nn.BatchNorm1d(2)(torch.ones(2)), ValueError, "expected 2D or 3D input (got 1D input)"),
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
        (lambda: nn.GroupNorm(2, 3), ValueError, "num_channels (3) must be divisible by num_groups (2)"),
        (lambda: nn.Dropout(2), ValueError, "dropout probability has to be between 0 and 1, but got 2"),
        (
            lambda: nn.Parameter(torch.ones(1, dtype=torch.int64)),
            RuntimeError,
            "Only Tensors of floating point and complex dtype can require gradients",
        ),
    ],
)
def test_errors_in_torchs_words(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


def test_parameters():
    data = torch.ones(2)
    p = nn.Parameter(data)
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    with torch.no_grad():
        p.add_(1)
    assert data.tolist() == [2.0, 2.0] and data._version == p._version == 1
    p.grad = torch.ones(2)
    twin = copy.deepcopy(p)
    assert type(twin) is nn.Parameter and twin.grad is None and twin.data_ptr() != p.data_ptr()
    assert type(p.detach()) is type(p * 2) is type(p.data) is torch.Tensor
    assert not isinstance(p * 2, nn.Parameter) and isinstance(p, nn.Parameter)

    class Marked(nn.Parameter):
        def __new__(cls, data, mark):
            made = super().__new__(cls, data, requires_grad=False)
            made.mark = mark
            return made

    assert Marked(torch.ones(1), 5).mark == 5


# ---------------------------------------------------------------- states


def test_loading_tells_what_is_missing_unexpected_and_of_other_size():
    m = Full()
    state = m.state_dict()
    assert str(m.load_state_dict(state)) == "<All keys matched successfully>"
    state["child.weight.more"] = torch.ones(1)
    state["weight"] = torch.ones(3)
    state["kept"] = 3
    del state["child.bias"]
    with pytest.raises(RuntimeError) as caught:
        m.load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Full:\n\t"
        'Missing key(s) in state_dict: "child.bias". \n\t'
        'Unexpected key(s) in state_dict: "child.weight.more". \n\t'
        "size mismatch for weight: copying a param with shape torch.Size([3]) from checkpoint, the shape in current "
        "model is torch.Size([1]).\n\t"
        'While copying the parameter named "kept", expected torch.Tensor or Tensor-like object from checkpoint but '
        "received <class 'int'>"
    )
    del state["weight"], state["kept"]
    found = m.load_state_dict(state, strict=False)
    assert found.missing_keys == ["weight", "kept", "child.bias"]
    assert found.unexpected_keys == ["child.weight.more"]


def test_loading_copies_in_place_or_assigns():
    m, new = nn.Linear(1, 1), {"weight": torch.full((1, 1), 5.0), "bias": torch.zeros(1)}
    held = m.weight
    m.load_state_dict(new)
    assert m.weight is held and held.item() == 5.0 and held.data_ptr() != new["weight"].data_ptr()
    m.load_state_dict(new, assign=True)
    assert m.weight is not held and m.weight.data_ptr() == new["weight"].data_ptr() and m.weight.requires_grad
    scalar = nn.Module()
    scalar.s = nn.Parameter(torch.tensor(1.0))
    scalar.load_state_dict({"s": torch.tensor([3.0])})
    assert scalar.s.item() == 3.0


def test_extra_state_and_state_hooks():
    log = []

    class Extra(nn.Linear):
        def get_extra_state(self):
            return {"k": 5}

        def set_extra_state(self, state):
            log.append(state)

    net = nn.Sequential(Extra(1, 1))
    net[0].register_state_dict_pre_hook(lambda m, prefix, keep: log.append(("save", prefix, keep)))
    net[0].register_state_dict_post_hook(lambda m, state, prefix, meta: log.append(list(state)))
    net[0].register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: log.append(("load", prefix)))
    net.register_load_state_dict_post_hook(lambda m, keys: keys.unexpected_keys.clear())
    state = net.state_dict()
    assert log == [("save", "0.", False), ["0.weight", "0.bias", "0._extra_state"]]
    state["what"] = 1
    net.load_state_dict(state)
    assert log[2:] == [("load", "0."), {"k": 5}]
    del state["0._extra_state"]
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "0._extra_state"\.'):
        net.load_state_dict(state)
    assert state._metadata == OrderedDict([("", {"version": 1}), ("0", {"version": 1})])


def test_old_batch_norm_checkpoints():
    bn = nn.BatchNorm1d(1)
    state = bn.state_dict()
    del state["num_batches_tracked"]
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        bn.load_state_dict(state)
    assert str(bn.load_state_dict(dict(state))) == "<All keys matched successfully>"


def test_conversions_keep_parameters():
    m = Full()
    held = m.weight
    m.weight.grad = torch.ones(1)
    assert m.double() is m and m.weight is held
    assert held.dtype is held.grad.dtype is m.kept.dtype is m.child.bias.dtype is torch.float64
    assert m.to("cpu", torch.float16).weight.dtype is torch.float16
    assert m.to(torch.ones(1)).weight.dtype is torch.float32
    bn = nn.BatchNorm1d(1).half()
    assert bn.running_mean.dtype is torch.float16 and bn.num_batches_tracked.dtype is torch.int64
    with pytest.raises(
        TypeError, match=re.escape("to() received an invalid combination of arguments - got (int, int, int)")
    ):
        m.to(3, 4, 5)


def test_zero_grad_train_and_freeze():
    m = Full()
    m.weight.grad = held = torch.ones(1)
    m.zero_grad(set_to_none=False)
    assert m.weight.grad is held and held.item() == 0
    m.zero_grad()
    assert m.weight.grad is None
    assert not m.eval().child.training and m.train().child.training
    assert not any(p.requires_grad for p in m.requires_grad_(False).parameters())
    seen = []
    nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh())).apply(lambda k: seen.append(type(k).__name__))
    assert seen == ["ReLU", "Tanh", "Sequential", "Sequential"]


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_independent_and_keep_their_hooks(twin):
    net = ones(nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1)))
    net[0].register_forward_hook(double)
    other = twin(net)
    with torch.no_grad():
        net[0].weight.fill_(9.0)
    assert other[0].weight.item() == 1.0 and other[0].weight.requires_grad
    assert other[0](torch.ones(1, 1)).item() == 4.0


def double(module, args, output):
    return output * 2


# ---------------------------------------------------------------- hooks


def test_forward_hooks():
    m, log = ones(Full()), []
    x = torch.ones(1, 1)
    assert m(x).item() == 2.0
    handles = [
        m.register_forward_pre_hook(lambda k, args: (args[0] * 3,)),
        m.register_forward_pre_hook(lambda k, args: log.append(("first", args[0].item())), prepend=True),
        m.register_forward_pre_hook(lambda k, args, kw: (args, {"scale": 10}), with_kwargs=True),
        m.register_forward_hook(lambda k, args, out: out + 1),
        m.register_forward_hook(lambda k, args, kw, out: log.append((kw, out.item())), with_kwargs=True),
    ]
    assert m(x).item() == 41.0  # (1 * 3 + 1) * 10 + 1
    assert log == [("first", 1.0), ({"scale": 10}, 41.0)]
    for handle in handles:
        handle.remove()
    assert m(x).item() == 2.0 and not m._hooked
    with m.register_forward_hook(double):
        assert m(x).item() == 4.0
    assert m(x).item() == 2.0


def test_always_called_hooks_run_after_an_error_too():
    m, log = ones(Full()), []
    m.register_forward_hook(lambda *a: log.append("before"), always_call=True)
    m.register_forward_hook(lambda *a: 1 / 0)
    m.register_forward_hook(lambda k, args, out: log.append(out.item()), always_call=True)
    with pytest.raises(ZeroDivisionError):
        m(torch.ones(1, 1))
    assert log == ["before", 2.0]


def test_global_hooks():
    seen = []
    net = nn.Sequential(nn.ReLU(), nn.Tanh())
    with module_file.register_module_forward_hook(lambda m, args, out: seen.append(type(m).__name__)):
        net(torch.ones(1))
    net(torch.ones(1))
    assert seen == ["ReLU", "Tanh", "Sequential"]
    with module_file.register_module_parameter_registration_hook(lambda m, name, p: seen.append(name)):
        nn.Linear(1, 1)
    assert seen[3:] == ["weight", "bias"]


def test_full_backward_hooks():
    class Two(nn.Module):
        def forward(self, a, b, c):
            return a * 2, b + a, c

    m, log = Two(), []
    m.register_full_backward_pre_hook(lambda k, go: tuple(None if g is None else g * 10 for g in go))
    m.register_full_backward_hook(lambda k, gi, go: log.append((gi, go)))
    m.register_full_backward_hook(lambda k, gi, go: (gi[0] + 1, gi[1], None))
    x = torch.ones(1, requires_grad=True)
    u, v, rest = m(x, torch.ones(1), "c")
    assert rest == "c" and u.grad_fn.name() == "BackwardHookFunctionBackward"
    (u + v).sum().backward()
    ((grads, outs),) = log
    assert [None if g is None else g.item() for g in grads] == [30.0, 0.0, None]
    assert [None if g is None else g.item() for g in outs] == [10.0, 10.0, None]
    assert x.grad.item() == 31.0
    bad = ones(nn.Linear(1, 1))
    bad.register_full_backward_hook(lambda k, gi, go: (gi[0], gi[0]))
    with pytest.raises(
        RuntimeError, match="Backward hook returned an invalid number of grad_input, got 2, but expected 1"
    ):
        bad(x[None]).sum().backward()
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        bad.register_backward_hook(print)


def test_backward_hooks_without_input_gradient():
    m, log = ones(nn.Linear(1, 1)), []
    m.register_full_backward_hook(lambda k, gi, go: log.append((gi, go[0].item())))
    with pytest.warns(
        UserWarning,
        match="Full backward hook is firing when gradients are computed with respect to "
        "module outputs since no inputs require gradients",
    ):
        m(torch.ones(1, 1)).sum().backward()
    assert log == [((None,), 1.0)]
    with torch.no_grad():
        m(torch.ones(1, 1, requires_grad=True))
    assert len(log) == 1


# ---------------------------------------------------------------- containers


def test_sequential():
    net = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert net.a is net[0] is net[-2] and len(net) == 2
    assert [type(m).__name__ for m in net[1:] + nn.Sequential(nn.ReLU())] == ["Tanh", "ReLU"]
    net.append(nn.ELU()).extend([nn.SELU()])
    assert list(net._modules) == ["a", "b", "2", "3"]
    del net[0]
    assert list(net._modules) == ["0", "1", "2"]
    net.insert(1, nn.Identity())
    assert [type(m).__name__ for m in net] == ["Tanh", "Identity", "ELU", "SELU"]
    assert type(net.pop(-1)) is nn.SELU and len(net * 2) == 6
    net[0] = nn.ReLU()
    assert net(torch.tensor([-2.0])).item() == 0.0


def test_module_list_and_dict():
    layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(3))
    layers.insert(1, nn.ReLU())
    layers += [nn.ReLU()]
    assert [type(m).__name__ for m in layers] == ["Linear", "ReLU", "Linear", "Linear", "ReLU"]
    assert repr(layers) == (
        "ModuleList(\n  (0): Linear(in_features=1, out_features=1, bias=True)\n  (1): ReLU()\n"
        "  (2-3): 2 x Linear(in_features=1, out_features=1, bias=True)\n  (4): ReLU()\n)"
    )
    del layers[1:4]
    assert len(layers) == 2 and type(layers[:1]) is nn.ModuleList and type(layers.pop(0)) is nn.Linear
    named = nn.ModuleDict({"b": nn.ReLU()})
    named["a"] = nn.Tanh()
    named.update([("c", nn.ELU())])
    assert list(named) == ["b", "a", "c"] and "a" in named and type(named.pop("a")) is nn.Tanh
    with pytest.raises(KeyError, match="attribute 'training' already exists"):
        named["training"] = nn.ReLU()


def test_parameter_list_and_dict():
    values = nn.ParameterList([torch.ones(2), 3, nn.Parameter(torch.ones(()))])
    values.append(torch.zeros(1))
    assert isinstance(values[0], nn.Parameter) and values[1] == 3 and list(values.state_dict()) == ["0", "2", "3"]
    assert "(1): Object of type: int" in repr(values)
    named = nn.ParameterDict({"b": torch.ones(1), "a": 3})
    assert list(named) == ["a", "b"] and named.get("x", 7) == 7 and isinstance(named["b"], nn.Parameter)
    assert list((named | {"c": torch.ones(1)}).keys()) == ["a", "b", "c"]
    assert named.popitem()[0] == "b" and len(named) == 1


def test_lazy_modules():
    lazy = nn.LazyLinear(2)
    assert repr(lazy.weight) == "<UninitializedParameter>" and isinstance(lazy.weight, nn.Parameter)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        lazy.weight.shape  # noqa: B018
    calls = {
        "<method 'add' of 'torch._C.TensorBase' objects>": lambda w: w + 1,
        "<method 'numel' of 'torch._C.TensorBase' objects>": lambda w: w.nelement(),
        "<method 'zero_' of 'torch._C.TensorBase' objects>": nn.init.zeros_,
        "<slot wrapper '__getitem__' of 'torch._C.TensorBase' objects>": lambda w: w[0],
        "<function Tensor.norm at 0x": lambda w: w.norm(),
    }
    for text, call in calls.items():
        with pytest.raises(ValueError, match="^" + re.escape(f"Attempted to use an uninitialized parameter in {text}")):
            call(lazy.weight)
    assert lazy.weight.size() == (0,) and lazy.weight.is_floating_point() and lazy.weight.data.numel() == 0
    assert lazy.double().weight.dtype is torch.float64
    assert lazy(torch.ones(3, 5, dtype=torch.float64)).shape == (3, 2)
    assert type(lazy) is nn.Linear and lazy.in_features == 5 and type(lazy.weight) is nn.Parameter
    assert (lazy.weight + 1).numel() == 10
    loaded = nn.LazyLinear(2)
    loaded.load_state_dict(nn.Linear(3, 2).state_dict())
    assert loaded.weight.shape == (2, 3)
    norm = nn.LazyBatchNorm1d()
    norm(torch.ones(2, 4))
    assert type(norm) is nn.BatchNorm1d and norm.running_mean.shape == (4,)


# ---------------------------------------------------------------- what stands on the functions


def test_batch_norm_counts_batches_and_averages():
    bn = nn.BatchNorm1d(1, momentum=None)
    for batch in ([[1.0], [3.0]], [[5.0], [7.0]]):
        bn(torch.tensor(batch))
    assert (bn.running_mean.item(), bn.running_var.item(), bn.num_batches_tracked.item()) == (4.0, 2.0, 2)
    bn.eval()
    assert bn(torch.tensor([[4.0]])).item() == 0.0


def test_a_small_network_learns_what_torch_learns():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    x, t = torch.randn(16, 3), torch.randint(0, 4, (16,))
    losses = []
    for _ in range(6):
        loss = nn.CrossEntropyLoss()(net(x), t)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.4)
        optimizer.step()
        losses += [loss.item(), norm.item()]
    assert losses == pytest.approx(LEARNED, abs=2e-5)


LEARNED = [
    1.321397,
    0.446291,
    1.203128,
    0.359136,
    1.108152,
    0.344091,
    0.971793,
    0.343544,
    0.877246,
    0.307265,
    0.921863,
    0.320398,
]


def test_names_are_loaded_on_use():
    from livetape import optim

    for namespace in (nn.modules, optim):
        for name in namespace.__all__:
            assert getattr(namespace, name).__name__.rpartition(".")[2] == name
    assert set(nn.modules.__all__) <= set(dir(nn)) and nn.LSTM is nn.modules.rnn.LSTM
    with pytest.raises(AttributeError, match=r"module 'torch\.nn' has no attribute 'Lnear'"):
        nn.Lnear  # noqa: B018


# ---------------------------------------------------------------- conversion


def test_tensors_swap_what_they_are():
    a, b = torch.ones(2, requires_grad=True), nn.Parameter(torch.zeros(3))
    a.tag, a.grad = "a", torch.full((2,), 5.0)
    torch.utils.swap_tensors(a, b)
    assert type(a) is nn.Parameter and a.tolist() == [0, 0, 0] and a.grad is None and not hasattr(a, "tag")
    assert type(b) is torch.Tensor and b.tolist() == [1, 1] and b.grad.tolist() == [5, 5] and b.tag == "a"
    a.sum().backward()
    assert a.grad.tolist() == [1, 1, 1]
    watched = weakref.ref(a)
    with pytest.raises(RuntimeError, match=r"^Cannot swap t1 because it has weakref associated with it$"):
        torch.utils.swap_tensors(a, b)
    assert watched() is a


def test_conversions_can_swap_parameters():
    linear = nn.Linear(2, 2)
    weight = linear.weight
    linear(torch.ones(1, 2)).sum().backward()
    grad = weight.grad
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        assert linear.double().weight is weight and weight.dtype is weight.grad.dtype is torch.float64
        assert weight.grad is grad and weight.requires_grad
        linear.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.zeros(2)})
        assert linear.weight is weight and weight.dtype is torch.float64 and weight.tolist() == [[1, 1], [1, 1]]
        linear.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.zeros(2)}, assign=True)
        assert linear.weight is weight and weight.dtype is torch.float32 and type(weight) is nn.Parameter

        class Own(nn.Parameter):
            def module_load(self, other, assign=False):
                return other

        linear.weight = Own(torch.zeros(2, 2))
        with pytest.raises(
            RuntimeError,
            match=r'While swapping the parameter named "weight", whose dimensions in the model are torch.Size\(\[2, 2\]\) '
            r"and whose dimensions in the checkpoint are torch.Size\(\[2, 2\]\), an exception occurred : \('module_load "
            r"returned one of self or other, please .detach\(\) the result",
        ):
            linear.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.zeros(2)})
        watched = weakref.ref(linear.bias)
        with pytest.raises(RuntimeError, match=r"^_apply\(\): Couldn't swap Linear.bias$"):
            linear.half()
        assert watched() is linear.bias
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def test_conversions_can_put_in_new_parameters():
    linear = nn.Linear(2, 2)
    linear(torch.ones(1, 2)).sum().backward()
    weight = linear.weight
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        assert linear.double().weight is not weight and weight.dtype is torch.float32
        assert linear.weight.grad.dtype is torch.float64 and linear.weight.grad.tolist() == [[1, 1], [1, 1]]
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)
    weight = linear.weight
    assert linear.float().weight is weight
