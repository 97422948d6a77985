"""A physics-informed network (Raissi and others, 2019) solves Burgers' equation by double backward.

u_t + u u_x = nu u_xx for x in [-1, 1] and t in [0, 1], with u = -sin(pi x) at t = 0 and u = 0 at both ends.
"""

import math
import time

import numpy as np
from common import options, track

import livetape as torch

nn = torch.nn
args = options(__doc__)
torch.manual_seed(args.seed)
if args.threads:
    torch.set_num_threads(args.threads)
adam_steps, newton_steps, points = (30, 5, 200) if args.quick else (1500, 60, 2000)
nu = 0.03

model = nn.Sequential(
    nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
)
inside = torch.rand(points, 2) * torch.tensor([2.0, 1.0]) - torch.tensor([1.0, 0.0])
inside.requires_grad_()
x0 = torch.linspace(-1, 1, 101)[:, None]
t0 = torch.linspace(0, 1, 51)[:, None]
edge = torch.cat([torch.cat([x0, 0 * x0], 1), torch.cat([0 * t0 - 1, t0], 1), torch.cat([0 * t0 + 1, t0], 1)])
value = torch.cat([-torch.sin(math.pi * x0), 0 * t0, 0 * t0])


def loss_function():
    u = model(inside)
    u_x, u_t = torch.autograd.grad(u.sum(), inside, create_graph=True)[0].unbind(1)
    u_xx = torch.autograd.grad(u_x.sum(), inside, create_graph=True)[0][:, 0]
    residual = u_t + u.squeeze(1) * u_x - nu * u_xx
    return residual.square().mean() + 10 * (model(edge) - value).square().mean()


def exact(x, t):
    """The solution by Cole and Hopf's transformation: two integrals, by Gauss and Hermite's rule."""
    z, w = np.polynomial.hermite.hermgauss(100)
    y = x[..., None] - np.sqrt(4 * nu * t[..., None]) * z
    weight = w * np.exp(-(1 + np.cos(np.pi * y)) / (2 * np.pi * nu))
    return -(np.sin(np.pi * y) * weight).sum(-1) / weight.sum(-1)


def error():
    """The relative error over a grid, in the mean square sense."""
    x, t = np.meshgrid(np.linspace(-1, 1, 201), np.linspace(0, 1, 101))
    with torch.no_grad():
        u = model(torch.from_numpy(np.stack([x, t], -1)).float()).squeeze(-1).numpy()
    return float(np.linalg.norm(u - exact(x, t)) / np.linalg.norm(exact(x, t)))


started = time.perf_counter()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.1 ** (1 / 1500))
for step in track(range(1, adam_steps + 1), "Adam"):
    optimizer.zero_grad()
    loss = loss_function()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step in (1, 2, 5, 10, 20, 50, 100) or step % max(adam_steps // 6, 10) == 0:
        print(f"Adam   {step:4}/{adam_steps}  loss {loss.item():.6f}")

optimizer = torch.optim.LBFGS(model.parameters(), max_iter=20, history_size=50, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = loss_function()
    loss.backward()
    return loss


for step in track(range(1, newton_steps + 1), "L-BFGS"):
    loss = optimizer.step(closure)
    if step in (1, 2, 5) or step % 10 == 0:
        print(f"L-BFGS {step:4}/{newton_steps}  loss {loss.item():.6f}")
seconds = time.perf_counter() - started
print(f"relative error {100 * error():.3f} % in {seconds:.1f} s")
