"""An LSTM forecasts the monthly number of sunspots. Trained on 1749 to 1916, chosen on 1917 to 1956, tested to 2008."""

import copy
import time

import numpy as np
from common import DATA, options, track

import livetape as torch

nn = torch.nn
args = options(__doc__)
torch.manual_seed(args.seed)
if args.threads:
    torch.set_num_threads(args.threads)
epochs, window = (3, 24) if args.quick else (30, 132)

spots = np.loadtxt(DATA / "sunspots.csv", delimiter=",", skiprows=1, usecols=1, dtype=np.float32)
valid_start, test_start, end = 12 * (1917 - 1749), 12 * (1957 - 1749), len(spots)
# The square root evens out the noise, which grows with the number; then to mean 0 and deviation 1.
roots = torch.from_numpy(spots).sqrt()
mean, std = roots[:valid_start].mean(), roots[:valid_start].std()
series = (roots - mean) / std
pieces = series[:valid_start].unfold(0, window + 1, 12)  # one starts every January


class Forecaster(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(hidden, 1)

    def forward(self, months):
        """(batch, months) to a forecast of the month after each, (batch, months)."""
        output, _ = self.lstm(months.unsqueeze(-1))
        return months + self.head(output).squeeze(-1)


def root_mean_square(difference):
    return difference.square().mean().sqrt().item()


@torch.no_grad()
def evaluate(start, stop):
    """The error of forecasts of the months from start to stop, in sunspots."""
    model.eval()
    forecast = model(series[None, start - window : stop - 1])[0, window - 1 :] * std + mean
    model.train()
    return root_mean_square(forecast.clamp(min=0).square() - roots[start:stop].square())


model = Forecaster()
optimizer = torch.optim.AdamW(model.parameters())
batches = (len(pieces) + 15) // 16
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, epochs=epochs, steps_per_epoch=batches)
best, best_error = None, float("inf")
started = time.perf_counter()
for epoch in track(range(1, epochs + 1), "sunspots"):
    total = 0.0
    for batch in torch.randperm(len(pieces)).split(16):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(pieces[batch, :-1]), pieces[batch, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item() * len(batch)
    error = evaluate(valid_start, test_start)
    if error < best_error:
        best, best_error = copy.deepcopy(model.state_dict()), error
    if epoch <= 3 or epoch % 5 == 0:
        print(f"epoch {epoch:2}/{epochs}  loss {total / len(pieces):.4f}  validation error {error:.3f} sunspots")
model.load_state_dict(best)
error, seconds = evaluate(test_start, end), time.perf_counter() - started
simple = root_mean_square(roots[test_start:].square() - roots[test_start - 1 : -1].square())
print(f"test error {error:.3f} sunspots (as the month before: {simple:.3f}) in {seconds:.1f} s")
