"""A hundred steps of every optimiser on a small network, made by torch and livetape alike."""

from __future__ import annotations

from typing import Any

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "sgd dampened": ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "maximize": True}),
    "sgd fused": ("SGD", {"lr": 0.05, "momentum": 0.9, "fused": True}),
    "adam": ("Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.01}),
    "adam foreach": ("Adam", {"lr": 0.01, "betas": (0.8, 0.9), "eps": 1e-4, "foreach": True}),
    "adamw": ("AdamW", {"lr": 0.01, "weight_decay": 0.1, "maximize": True}),
    "adamw fused": ("AdamW", {"lr": 0.01, "amsgrad": True, "fused": True}),
    "adagrad": ("Adagrad", {"lr": 0.05, "lr_decay": 0.01, "weight_decay": 0.01, "initial_accumulator_value": 0.3}),
    "adadelta": ("Adadelta", {"lr": 1.0, "rho": 0.5, "weight_decay": 0.01, "eps": 1e-3}),
    "adamax": ("Adamax", {"lr": 0.01, "weight_decay": 0.01}),
    "asgd": ("ASGD", {"lr": 0.05, "lambd": 0.01, "alpha": 0.5, "t0": 5, "weight_decay": 0.01}),
    "nadam": ("NAdam", {"lr": 0.01, "momentum_decay": 0.1, "weight_decay": 0.01, "decoupled_weight_decay": True}),
    "radam": ("RAdam", {"lr": 0.01, "weight_decay": 0.01}),
    "rmsprop": ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True, "weight_decay": 0.01}),
    "rprop": ("Rprop", {"lr": 0.01, "etas": (0.3, 1.5), "step_sizes": (0.001, 0.1)}),
    "adafactor": ("Adafactor", {"lr": 0.01, "weight_decay": 0.01, "d": 2.0}),
    "lbfgs": ("LBFGS", {"lr": 0.5, "max_iter": 5, "history_size": 3, "line_search_fn": "strong_wolfe"}),
}


def trained(torch: Any, name: str, options: dict[str, Any]) -> list[float]:
    """The network's numbers after a hundred steps (eight of L-BFGS); one of them has no gradient in some."""
    torch.manual_seed(0)
    x, y = torch.randn(16, 3, dtype=torch.float64) / 2, torch.randn(16, 2, dtype=torch.float64) / 2
    params = [torch.randn(*size, dtype=torch.float64) / 2 for size in ((3, 5), (5,), (5, 2), (2,))]
    for param in params:
        param.requires_grad_()
    optimizer = getattr(torch.optim, name)(params, **options)
    steps = 8 if name == "LBFGS" else 100
    for step in range(steps):

        def loss(step: int = step) -> Any:
            optimizer.zero_grad()
            out = torch.tanh(x @ params[0] + params[1]) @ params[2] + params[3]
            found = ((out - y) ** 2).mean()
            (-found if options.get("maximize") else found).backward()
            if step % 7 == 3 and name != "LBFGS":
                params[3].grad = None
            return found

        optimizer.step(loss)
    return [float(v) for param in params for v in param.detach().reshape(-1).tolist()]
