"""Small programs in which torch 2.13 is wrong, and what is right. `grads` prints gradients to 4 digits.

tests/record/compat_values.py records what torch prints for them.
"""

from __future__ import annotations

PRELUDE = """
import torch, torch.nn.functional as F
from math import inf, nan
import warnings
warnings.simplefilter("ignore")
def grads(f, *values, order=1, dtype=torch.float64):
    xs = [torch.tensor(v, dtype=dtype, requires_grad=True) for v in values]
    y = f(*xs).sum()
    for _ in range(order):
        gs = torch.autograd.grad(y, xs, create_graph=True)
        y = sum(g.sum() for g in gs)
    print([[round(v, 4) + 0.0 for v in g.flatten().tolist()] for g in gs])
"""

# name: (what the program runs after the prelude, what it prints in the mode "exact")
PROGRAMS = {
    "hypot": ("grads(torch.hypot, [0.0, 3.0], [0.0, 4.0])", "[[0.0, 0.6], [0.0, 0.8]]"),
    "logaddexp": ("grads(torch.logaddexp, [-inf, inf, 1.0], [-inf, inf, inf])", "[[0.0, 0.5, 0.0], [0.0, 0.5, 1.0]]"),
    "logaddexp2": ("grads(torch.logaddexp2, [-inf, inf], [-inf, inf])", "[[0.0, 0.5], [0.0, 0.5]]"),
    "logsumexp": ("grads(lambda x: x.logsumexp(1), [[-inf, -inf], [1.0, inf]])", "[[0.0, 0.0, 0.0, 1.0]]"),
    "logsumexp of one": ("grads(lambda x: x.logsumexp(1), [[-inf], [inf]])", "[[1.0, 1.0]]"),
    "logsumexp, ties": ("grads(lambda x: x.logsumexp(0), [inf, 1.0, inf])", "[[0.5, 0.0, 0.5]]"),
    "logcumsumexp": ("grads(lambda x: x.logcumsumexp(0), [-inf, -inf, 1.0])", "[[1.0, 0.0, 1.0]]"),
    "xlogy": ("grads(lambda x: torch.xlogy(x, x), [0.0, 1.0])", "[[-inf, 1.0]]"),
    "xlogy, parts": ("grads(torch.xlogy, [0.0, 0.0], [0.0, -1.0])", "[[-inf, 0.0], [0.0, 0.0]]"),
    "xlogy by a number": ("grads(lambda x: torch.xlogy(x, 0.0), [0.0, 1.0])", "[[-inf, -inf]]"),
    "xlogy of a number": ("grads(lambda y: torch.xlogy(0.0, y), [0.0, 1.0])", "[[0.0, 0.0]]"),
    "xlog1py": ("grads(torch.special.xlog1py, [0.0], [-1.0])", "[[-inf], [0.0]]"),
    "xlog1py by a number": ("grads(lambda x: torch.special.xlog1py(x, -1), [0.0])", "[[-inf]]"),
    "xlog1py of a number": ("grads(lambda y: torch.special.xlog1py(0.0, y), [-1.0])", "[[0.0]]"),
    "sinc": ("grads(torch.sinc, [0.0, 0.5], order=2)", "[[-3.2899, -1.1902]]"),
    "sinc, order 4": ("grads(torch.sinc, [0.0], order=4)", "[[19.4818]]"),
    "logit": ("grads(torch.logit, [0.0, 0.5, 1.0], order=2)", "[[-inf, 0.0, inf]]"),
    "logit, eps": ("grads(lambda x: torch.logit(x, eps=0.0), [0.0, 1.0], order=2)", "[[-inf, inf]]"),
    "copysign": ("grads(lambda x: torch.copysign(x, torch.ones(1)), [-inf])", "[[-1.0]]"),
    "copysign by a number": ("grads(lambda x: torch.copysign(x, 2.0), [-inf])", "[[-1.0]]"),
    "bce with logits": (
        "x, t = torch.tensor([-inf, -inf, -inf, inf, inf]), torch.tensor([0.9, 1.0, 0.0, 0.5, 1.0])\n"
        "print(F.binary_cross_entropy_with_logits(x, t, reduction='none').tolist())\n"
        "print(F.binary_cross_entropy_with_logits(x, t, pos_weight=torch.tensor(2.0), reduction='none').tolist())\n"
        "print(F.binary_cross_entropy_with_logits(x[2:3], t[2:3]).item())",
        "[inf, inf, 0.0, inf, 0.0]\n[inf, inf, 0.0, inf, 0.0]\n0.0",
    ),
    "kl_div": (
        "grads(lambda t: F.kl_div(torch.tensor([0.5, 0.5]).log(), t, reduction='sum'), [1.0, 0.0])\n"
        "print(F.kl_div(torch.tensor([0.0, -inf]), torch.tensor([1.0, 0.0]), reduction='sum').item())\n"
        "print(F.kl_div(torch.tensor([0.0, -1.0]), torch.tensor([0.0, -inf]), reduction='sum', log_target=True).item())",
        "[[1.6931, -inf]]\n0.0\n0.0",
    ),
    "cross entropy of probabilities": (
        "print(round(F.cross_entropy(torch.tensor([1.0, 1.0, -inf]), torch.tensor([0.5, 0.5, 0.0])).item(), 4))",
        "0.6931",
    ),
    "poisson_nll_loss": (
        "print(F.poisson_nll_loss(torch.tensor([-inf, 0.0]), torch.tensor([0.0, 0.0]), reduction='sum').item())",
        "1.0",
    ),
    "multilabel_soft_margin_loss": (
        "print(F.multilabel_soft_margin_loss(torch.tensor([[inf, -inf]]), torch.tensor([[1.0, 0.0]])).item())",
        "0.0",
    ),
    "mean": (
        "x = torch.full((2, 2), 3e38)\n"
        "print(x.mean().item() < 3.1e38, (x.mean(0) < 3.1e38).tolist(), x.nanmean().item() < 3.1e38)\n"
        "print(x.double().mul(5e269).mean().item(), x.half().fill_(6e4).mean().item())\n"
        "print(x.mean(1, dtype=torch.float32)[0].item() < inf)",
        "True [True, True] True\n1.5e+308 60000.0\nTrue",
    ),
    "norm": (
        "x = torch.tensor([3e30, 4e30])\n"
        "for y in (x, x * 1e-30 * 1e-30, x.double() * 1e270):\n"
        "    print(['%.4g' % v for v in (y.norm(), torch.linalg.vector_norm(y, 3), torch.dist(y, -y), y[None].norm(dim=1))])\n"
        "print(F.normalize(x, dim=0), F.cosine_similarity(x, x, dim=0).item())",
        "['5e+30', '4.498e+30', '1e+31', '5e+30']\n['5e-30', '4.498e-30', '1e-29', '5e-30']\n"
        "['5e+300', '4.498e+300', '1e+301', '5e+300']\ntensor([0.6000, 0.8000]) 1.0",
    ),
    "std": (
        "x = torch.tensor([3e200, 4e200], dtype=torch.float64)\n"
        "print(['%.4g' % v for v in (x.std(), (x * 1e-200 * 1e-200).std(), torch.std_mean(x)[0], x.float().std())])",
        "['7.071e+199', '7.071e-201', '7.071e+199', 'nan']",
    ),
    "scatter": (
        "grads(lambda s: torch.zeros(2).double().scatter(0, torch.tensor([0, 0, 1]), s), [1.0, 2.0, 3.0])",
        "[[0.0, 1.0, 1.0]]",
    ),
    "index_copy": (
        "grads(lambda s: torch.zeros(2).double().index_copy(0, torch.tensor([0, 0, 1]), s), [1.0, 2.0, 3.0])",
        "[[0.0, 1.0, 1.0]]",
    ),
    "index_put": (
        "grads(lambda s: torch.zeros(2).double().index_put((torch.tensor([0, 0, 1]),), s), [1.0, 2.0, 3.0])",
        "[[0.0, 1.0, 1.0]]",
    ),
    "put": (
        "grads(lambda s: torch.zeros(2).double().put(torch.tensor([0, 0, 1]), s), [1.0, 2.0, 3.0])",
        "[[0.0, 1.0, 1.0]]",
    ),
    "setitem": (
        "def f(s):\n    z = torch.zeros(2).double()\n    z[[0, 0, 1]] = s\n    return z\n"
        "grads(f, [1.0, 2.0, 3.0])\ngrads(f, 1.0)",
        "[[0.0, 1.0, 1.0]]\n[[2.0]]",
    ),
    "eigenvectors": (
        "def f(a):\n    w, v = torch.linalg.eigh(a)\n    return v @ torch.diag(w ** 2) @ v.T\n"
        "grads(f, [[1.0, 0.0], [0.0, 1.0]])\n"
        "def f(a):\n    w, v = torch.linalg.eig(a)\n    return (v @ torch.diag(w ** 2) @ torch.linalg.inv(v)).real\n"
        "grads(f, [[1.0, 0.0], [0.0, 1.0]])",
        "[[2.0, 2.0, 2.0, 2.0]]\n[[2.0, 2.0, 2.0, 2.0]]",
    ),
    "singular vectors": (
        "def f(a):\n    u, s, vh = torch.linalg.svd(a)\n    return u @ torch.diag(s) @ vh\ngrads(f, [[2.0, 0.0], [0.0, 2.0]])",
        "[[1.0, 1.0, 1.0, 1.0]]",
    ),
    "det": (
        "a = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64)\n"
        "h = torch.func.jacfwd(torch.func.jacfwd(torch.linalg.det))(a)\n"
        "print(round(h[0, 0, 1, 1].item(), 4), round(h[0, 1, 1, 0].item(), 4))\n"
        "print(torch.func.hessian(torch.linalg.det)(torch.eye(2).double())[0, 0, 1, 1].item())",
        "1.0 -1.0\n1.0",
    ),
    "det, singular": (
        "for a in ([[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 0.0]]):\n"
        "    x = torch.tensor(a, requires_grad=True)\n    torch.linalg.det(x).backward()\n"
        "    print([round(v) + 0.0 for v in x.grad.flatten().tolist()])",
        "[4.0, -2.0, -2.0, 1.0]\n[0.0, 0.0, 0.0, 2.0]",
    ),
    "cdist": (
        "x = torch.arange(300.0).reshape(30, 10) / 7 + 1000\nprint(bool((torch.cdist(x, x).diagonal() == 0).all()))",
        "True",
    ),
    "abs": (
        "x = torch.tensor([-2.0, 3.0], requires_grad=True)\n"
        "g, = torch.autograd.grad(x.abs().sum(), x, create_graph=True)\ng.sum().backward()\n"
        "for f in (x.grad.tolist, lambda: x.grad.numpy().tolist(), lambda: (x.grad + 1).tolist()):\n"
        "    try:\n        print(f())\n    except RuntimeError as e:\n        print(e)",
        "[0.0, 0.0]\n[0.0, 0.0]\n[1.0, 1.0]",
    ),
    "where": ("grads(lambda x: torch.where(x == 0, x / 2, x.sqrt()), [0.0, 4.0])", "[[0.5, 0.25]]"),
    "where, at its border": ("grads(lambda x: torch.where(x > 0, x.sqrt(), 0), [0.0, 4.0])", "[[nan, 0.25]]"),
    "masked": ("grads(lambda x: x.log()[x > 0], [0.0, 2.0])", "[[0.0, 0.5]]"),
    "nansum": ("grads(lambda x: (x * torch.tensor([nan, 3.0])).nansum(), [1.0, 2.0])", "[[0.0, 3.0]]"),
    "weights": (
        "x = torch.tensor([[1.0, 2.0], [nan, 1.0]], dtype=torch.float64)\n"
        "grads(lambda w: F.linear(x, w).masked_fill(torch.tensor([[False], [True]]), 0), [[1.0, 1.0]])",
        "[[1.0, 2.0]]",
    ),
    "overwritten": ("def f(x):\n    y = x.log()\n    y[0] = 1\n    return y\ngrads(f, [0.0, 2.0])", "[[0.0, 0.5]]"),
    "a factor of 0": ("grads(lambda x: x.sqrt() * torch.tensor([0.0, 1.0]), [0.0, 4.0])", "[[nan, 0.25]]"),
    "AdamW": (
        "p = torch.nn.Parameter(torch.ones(1))\no = torch.optim.AdamW([p], lr=1e-4, weight_decay=1e-4)\n"
        "for _ in range(1000):\n    p.grad = torch.zeros(1)\n    o.step()\nprint('%.6f' % p.item())",
        "0.999990",
    ),
}
