"""Logistic regression on scikit-learn's breast cancer data, handed over as NumPy arrays, beside its own fit."""

import time

import numpy as np
from common import options, track
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import livetape as torch

nn = torch.nn
args = options(__doc__)
torch.manual_seed(args.seed)
if args.threads:
    torch.set_num_threads(args.threads)
steps = 5 if args.quick else 30

features, target = load_breast_cancer(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(features, target, test_size=0.25, random_state=args.seed)
scaler = StandardScaler().fit(x_train)
x_train, x_test = scaler.transform(x_train), scaler.transform(x_test)

x, y = torch.from_numpy(x_train), torch.from_numpy(y_train).double()  # x shares the array's memory
model = nn.Linear(x.shape[1], 1, dtype=torch.float64)
criterion = nn.BCEWithLogitsLoss(reduction="sum")
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=20, line_search_fn="strong_wolfe")


def closure():
    """What scikit-learn minimises with C = 1: the losses' sum, and half the weights' squares."""
    optimizer.zero_grad()
    loss = criterion(model(x).squeeze(1), y) + 0.5 * model.weight.square().sum()
    loss.backward()
    return loss


started = time.perf_counter()
for step in track(range(1, steps + 1), "logistic regression"):
    loss = optimizer.step(closure)
    if step <= 5 or step % 5 == 0:
        print(f"step {step:2}/{steps}  loss {loss.item():.8f}")
seconds = time.perf_counter() - started

with torch.no_grad():
    predicted = (model(torch.from_numpy(x_test)).squeeze(1) > 0).numpy()
weights = model.weight.detach().numpy()[0]
reference = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(x_train, y_train)
print(f"scikit-learn's test accuracy {100 * reference.score(x_test, y_test):.2f} %")
print(f"largest difference of a weight {np.abs(weights - reference.coef_[0]).max():.1e}")
print(f"test accuracy {100 * np.mean(predicted == y_test):.2f} % in {seconds:.2f} s")
